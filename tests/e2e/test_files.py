"""An agent works in a folder: the person grants it, allows an edit, sees it as a diff and takes it back."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget

from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.desktop.panes.files.tree import ChangeTree
from atelier_desk.domain.model_messages import ChatReply, ToolCall
from atelier_desk.llm.scripted import Step
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, child, rendered

READ = ToolCall(id="r1", name="read_file", arguments={"path": "shelf.py"})
SEARCH = ToolCall(id="s1", name="search_files", arguments={"pattern": "boards"})
EDIT = ToolCall(
    id="e1",
    name="edit_file",
    arguments={"path": "shelf.py", "old_string": "return width // 30", "new_string": "return max(2, width // 30)"},
)
STEPS: list[Step] = [
    "Grant me the folder first.",
    ChatReply(content="I look at the code.", tool_calls=(READ, SEARCH)),
    [EDIT],
    "At least two boards now.",
]


def keep(desk: Desk, name: str) -> None:
    """A picture of the window, where somebody wants one."""
    folder = os.environ.get("ATELIER_SCREENSHOTS")
    if folder:
        desk.settle()
        desk.window.grab().save(str(Path(folder) / name))


def test_a_folder_an_edit_and_its_undo(open_desk: OpenDesk, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "shelf.py").write_text("def boards(width):\n    return width // 30\n")
    desk = open_desk(STEPS)
    desk.window.resize(1360, 860)
    desk.send("Mend the shelf")
    desk.last_reply("Grant me")
    desk.wait_done()
    desk.action("show-files")
    pane = desk.find("files-pane", FilesPane)
    desk.until(lambda: "No workspace folder" in rendered(pane), "it was read that there is none")
    keep(desk, "files-empty.png")
    pane.folders.grant([str(project)])
    desk.until(lambda: "No changes yet" in rendered(pane), "the folder is granted")
    desk.settle()
    assert not desk.window.findChildren(QWidget, "trust-question"), "there is nothing to trust in it"
    desk.send("Continue")
    card = desk.until(
        lambda: [each for each in desk.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()], "a card"
    )[0]
    assert "shelf.py" in rendered(card)
    keep(desk, "files-asks.png")
    assert "max" not in (project / "shelf.py").read_text()
    desk.click(child(card, QAbstractButton, "approval-approve"))
    desk.last_reply("At least two")
    desk.wait_done()
    assert "max(2" in (project / "shelf.py").read_text()
    ended = desk.until(
        lambda: [each for each in desk.window.chat.findChildren(QWidget, "changed-files") if each.isVisible()], "named"
    )[0]
    assert "shelf.py" in rendered(ended)
    keep(desk, "files-card.png")
    changes = desk.find("file-changes", ChangeTree)
    desk.click_row(changes, "shelf.py")
    desk.until(lambda: pane.diff.isVisible() and "return max(2" in pane.diff.text, "the diff is shown")
    keep(desk, "files-diff.png")
    if os.environ.get("ATELIER_SCREENSHOTS"):
        desk.action("theme-dark")
        desk.action("language-french")
        desk.settle()
        keep(desk, "files-diff-dark-fr.png")
        desk.action("theme-light")
        desk.action("language-english")
        desk.settle()
    desk.click("diff-side")
    desk.until(lambda: pane.diff.side_by_side, "both sides are shown")
    keep(desk, "files-diff-side.png")
    desk.click("file-undo")
    desk.until(
        lambda: (project / "shelf.py").read_text() == "def boards(width):\n    return width // 30\n",
        "the change is undone",
    )
    desk.until(lambda: not pane._undo_all.isEnabled(), "nothing is left to undo")


def test_a_folder_with_instructions_is_asked_about_before_it_is_followed(open_desk: OpenDesk, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Sign every answer with a heron.\n")
    desk = open_desk([lambda request: "With a heron" if "heron" in str(request) else "Without"] * 2)
    desk.window.chat.composer.field.setFocus()
    desk.window.chat.folders.grant([str(project)])
    box = desk.until_shown("trust-question", "AGENTS.md")
    desk.press(desk.window.focusWidget(), Qt.Key.Key_Y)
    assert box.isVisible()
    assert desk.window.chat.composer.field.toPlainText() == "y", "who was typing a message writes on"
    desk.window.chat.composer.field.clear()
    desk.click("trust-no")
    desk.gone("trust-question")
    desk.send("Hello")
    desk.last_reply("Without")
    desk.wait_done()
    desk.engine(lambda atelier: atelier.files.trust(str(project), True))
    desk.send("Hello again")
    desk.last_reply("With a heron")
    desk.wait_done()
