"""An agent works in a folder: the person grants it, allows an edit, sees its diff and undoes it."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget

from atelier_desk.desktop.panes.files.change_tree import ChangeTree
from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.domain.model_messages import ChatReply
from atelier_desk.llm.scripted_model import Step
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.helpers.child_widgets import child
from tests.helpers.tool_calls import tool_call

READ = tool_call("read_file", "r1", path="shelf.py")
SEARCH = tool_call("search_files", "s1", pattern="boards")
EDIT = tool_call(
    "edit_file", "e1", path="shelf.py", old_string="return width // 30", new_string="return max(2, width // 30)"
)
STEPS: list[Step] = [
    "Grant me the folder first.",
    ChatReply(content="I look at the code.", tool_calls=(READ, SEARCH)),
    [EDIT],
    "At least two boards now.",
]


def save_picture(app: AppDriver, name: str) -> None:
    """Save a picture of the window if a folder for it is set."""
    folder = os.environ.get("ATELIER_SCREENSHOTS")
    if folder:
        app.settle()
        app.window.grab().save(str(Path(folder) / name))


def test_a_folder_is_granted_and_an_edit_in_it_is_undone(open_app: OpenApp, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "shelf.py").write_text("def boards(width):\n    return width // 30\n")
    app = open_app(STEPS)
    app.window.resize(1360, 860)
    app.send("Mend the shelf")
    app.until_reply("Grant me")
    app.wait_done()
    app.action("show-files")
    pane = app.find("files-pane", FilesPane)
    app.until(lambda: "No workspace folder" in rendered(pane), "it is known that there is none")
    save_picture(app, "files-empty.png")
    pane.folders.grant([str(project)])
    app.until(lambda: "No changes yet" in rendered(pane), "the folder is granted")
    app.settle()
    assert not app.window.findChildren(QWidget, "trust-question"), "it has nothing to trust"
    app.send("Continue")
    card = app.until(
        lambda: [each for each in app.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()], "a card"
    )[0]
    assert "shelf.py" in rendered(card)
    save_picture(app, "files-asks.png")
    assert "max" not in (project / "shelf.py").read_text()
    app.click(child(card, QAbstractButton, "approval-approve"))
    app.until_reply("At least two")
    app.wait_done()
    assert "max(2" in (project / "shelf.py").read_text()
    ended = app.until(
        lambda: [each for each in app.window.chat.findChildren(QWidget, "changed-files") if each.isVisible()], "named"
    )[0]
    assert "shelf.py" in rendered(ended)
    save_picture(app, "files-card.png")
    changes = app.find("file-changes", ChangeTree)
    app.click_row(changes, "shelf.py")
    app.until(lambda: pane.diff.isVisible() and "return max(2" in pane.diff.text, "the diff is shown")
    save_picture(app, "files-diff.png")
    if os.environ.get("ATELIER_SCREENSHOTS"):
        app.action("theme-dark")
        app.action("language-french")
        app.settle()
        save_picture(app, "files-diff-dark-fr.png")
        app.action("theme-light")
        app.action("language-english")
        app.settle()
    app.click("diff-side")
    app.until(lambda: pane.diff.left.isVisible(), "both sides are shown")
    save_picture(app, "files-diff-side.png")
    app.click("file-undo")
    app.until(
        lambda: (project / "shelf.py").read_text() == "def boards(width):\n    return width // 30\n",
        "the change is undone",
    )
    app.until(lambda: not pane._undo_all.isEnabled(), "nothing is left to undo")


def test_trust_is_asked_for_before_a_folders_instructions_are_followed(open_app: OpenApp, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Sign every answer with a heron.\n")
    app = open_app([lambda request: "With a heron" if "heron" in str(request) else "Without"] * 2)
    app.window.chat.composer.field.setFocus()
    app.window.chat.folders.grant([str(project)])
    box = app.until_text("trust-question", "AGENTS.md")
    app.press(app.window.focusWidget(), Qt.Key.Key_Y)
    assert box.isVisible()
    assert app.window.chat.composer.field.toPlainText() == "y", "who was typing a message writes on"
    app.window.chat.composer.field.clear()
    app.click("trust-no")
    app.until_hidden("trust-question")
    app.send("Hello")
    app.until_reply("Without")
    app.wait_done()
    app.engine(lambda atelier: atelier.files.trust(str(project), True))
    app.send("Hello again")
    app.until_reply("With a heron")
    app.wait_done()
