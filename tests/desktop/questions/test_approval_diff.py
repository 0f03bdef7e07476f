"""The changes of files that an approval card shows before they are made."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.workspace.diffs import file_change
from tests.desktop.questions.approval_fixtures import MakeScene, asks
from tests.helpers.fake_bridge import settle

DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-timeout = 10\n+timeout = 30\n # end"


CHANGE = FileChange(action="changed", path="src/a.py", diff=DIFF, added=1, removed=1)


EDIT = {"path": "src/a.py", "old_string": "timeout = 10", "new_string": "timeout = 30"}


async def test_the_change_of_a_file_is_a_diff_in_the_card_and_follows_edited_arguments(
    scene: MakeScene, qtbot: QtBot
) -> None:
    s = scene(
        asks(tool="edit_file", operation="", effect="write", kind=ApprovalKind.FILE_OP, arguments=EDIT), width=800
    )
    s.engine.set("approvals", "preview", [CHANGE])
    await settle()
    s.card._preview_changes()
    await settle()
    changes = s.find("approval-changes")
    assert s.find("approval-file-1").text() == "Changes src/a.py"
    assert "timeout = 30" in changes.diffs[0].text
    qtbot.waitUntil(lambda: changes.diffs[0].isVisible() and changes.diffs[0].height() > 40)
    s.find("approval-diff-side").click()
    assert changes.diffs[0].mode == "side"
    s.engine.set("approvals", "preview", ToolError("The text is not in src/a.py."))
    s.edit('{"path": "src/a.py", "old_string": "x", "new_string": "y"}')
    qtbot.waitUntil(lambda: s.card._preview.isActive())
    s.card._preview_changes()
    await settle()
    assert s.find("approval-changes-problem").text() == "This call would fail. The text is not in src/a.py."
    assert changes.diffs == []
    (_id, sent), _fields = s.engine.calls("approvals.preview")[-1]
    assert sent == {"path": "src/a.py", "old_string": "x", "new_string": "y"}


async def test_an_image_that_replaces_a_file_is_marked(scene: MakeScene) -> None:
    s = scene(
        asks(tool="generate_image", operation="", effect="network", arguments={"prompt": "x", "output_path": "a.png"}),
        width=800,
    )
    s.engine.set("approvals", "preview", [FileChange(action="changed", path="a.png", files=1, size=2_048)])
    await settle()
    s.card._preview_changes()
    await settle()
    assert s.find("approval-file-1").text() == "Replaces a.png"
    assert s.find("approval-counts-1").text() == "1 file · 2\u202fkB"


async def test_a_file_written_as_it_was_is_marked(scene: MakeScene) -> None:
    s = scene(
        asks(
            tool="write_file",
            operation="",
            effect="write",
            kind=ApprovalKind.FILE_OP,
            arguments={"path": "a.md", "content": "x"},
        ),
        width=800,
    )
    s.engine.set("approvals", "preview", [file_change("a.md", b"x", b"x")])
    await settle()
    s.card._preview_changes()
    await settle()
    texts = [each.text() for each in s.card.findChildren(QLabel)]
    assert "The content stays the same." in texts
    assert "There is no text to compare." not in texts


async def test_the_contents_of_an_affected_folder_are_counted(scene: MakeScene) -> None:
    s = scene(
        asks(tool="delete_path", operation="", effect="write", kind=ApprovalKind.FILE_OP, arguments={"path": "build"}),
        width=800,
    )
    deleted = FileChange(action="deleted", path="build/", files=1_234, size=5_600_000)
    folder_change = FileChange(action="created", path="copy/", files=10_000, size=1)
    s.engine.set("approvals", "preview", [deleted, folder_change])
    await settle()
    s.card._preview_changes()
    await settle()
    assert s.find("approval-file-1").text() == "Deletes build/"
    assert s.find("approval-counts-1").text() == "1,234 files · 5.3\u202fMB"
    assert s.find("approval-file-2").text() == "New folder: copy/"
    assert s.find("approval-counts-2").accessibleName().startswith("at least 10,000 files")
    assert s.find("approval-diff-side").isHidden()


async def test_without_a_change_to_show_there_is_no_diff_switch(scene: MakeScene) -> None:
    s = scene(asks(tool="edit_file", operation="", effect="write", kind=ApprovalKind.FILE_OP, arguments=EDIT))
    s.engine.set("approvals", "preview", ToolError("The text is not in src/a.py."))
    await settle()
    s.card._preview_changes()
    await settle()
    assert s.find("approval-changes-problem").isVisible()
    assert s.find("approval-diff-side").isHidden()
