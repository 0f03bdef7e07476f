"""The files pane: granting a folder, changes as diffs, undo, and conflicting changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton, QTreeWidgetItem, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes import time_format
from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.widgets.list_rows import RowRole
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.widgets.tab_stops import entrance
from atelier_desk.desktop.workspace_folders.held_file_row import HeldRow
from atelier_desk.domain.errors import ConflictError, ToolError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.services.file_changes_and_trust import UndoneChange
from atelier_desk.workspace.checkpoints.leftover_undo_data import Leftover
from atelier_desk.workspace.checkpoints.tainted_file_marks import ALL_CONTENTS, TaintMark
from tests.desktop.panes.conftest import Show
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

WHEN = datetime(2026, 11, 22, tzinfo=UTC)


def change(id: str, path: str, **facts: Any) -> Change:
    return Change(
        **{
            "id": id,
            "workflow_id": "w",
            "at": WHEN,
            "action": "changed",
            "root": "/p",
            "path": path,
            "agent_name": "Ada",
            **facts,
        }
    )


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> FilesPane:
    atelier.set("workflows", "get", Workflow(id="w", name="W", workspace=("/p",)))
    moved = change("3", "old.txt", action="moved", moved_to="new.txt", undone_by="4")
    atelier.set("files", "list", [moved, change("2", "src/b.py", action="created"), change("1", "a.py")])
    diff = FileChange(
        action="changed", path="a.py", diff="--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2", added=1, removed=1
    )
    atelier.set("files", "diff", diff)
    atelier.set("files", "undo", lambda w, ids, force=False: [UndoneChange(change(id, "a.py")) for id in ids])
    atelier.set("files", "marked", [])
    made = shown(FilesPane(bridge))
    made.set_workflow("w")
    await settle()
    return made


def button(pane: QWidget, name: str) -> QPushButton:
    found = pane.findChild(QPushButton, name)
    assert isinstance(found, QPushButton)
    return found


def row(pane: FilesPane, text: str) -> QTreeWidgetItem:
    return next(item for item in pane.list.rows() if item.text(0) == text)


async def test_changes_are_a_tree_with_action_and_author(pane: FilesPane) -> None:
    assert pane.heading.text() == "Files · 2"
    accessible_texts = {item.text(0): item.data(0, Qt.ItemDataRole.AccessibleTextRole) for item in pane.list.rows()}
    assert list(accessible_texts) == ["src/", "b.py", "a.py", "old.txt → new.txt"]
    assert accessible_texts["src/"] == "src/, 1 change · Ada"
    assert accessible_texts["a.py"].startswith("a.py, edited · Ada")
    assert accessible_texts["old.txt → new.txt"].endswith("undone")


async def test_the_ages_of_changes_are_updated_in_place(pane: FilesPane, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = child(pane.list, MinuteClock)
    pane.open("1")
    await settle()
    for minutes in (5, 6):
        monkeypatch.setattr(time_format, "utc_now", lambda minutes=minutes: WHEN + timedelta(minutes=minutes))
        for clock in (tree, *pane._facts.findChildren(MinuteClock)):
            clock.timeout.emit()
        item, age = row(pane, "a.py"), f"{minutes} minutes ago"
        assert age in item.data(0, Qt.ItemDataRole.AccessibleTextRole)
        assert age in item.toolTip(0)
        assert age in pane._facts.text()
    pane.close_change()
    assert tree.isActive()
    pane.hide()
    assert not tree.isActive()


async def test_the_first_focus_of_the_keyboard_is_the_list_once_it_is_read(
    bridge: FakeBridge, atelier: FakeAtelier, shown: Show, pane: FilesPane
) -> None:
    """And never a button that detaches the pane or revokes a folder, which Space would press."""
    made = shown(FilesPane(bridge))
    made.window().activateWindow()
    await settle()
    entrance(made).setFocus()
    assert QApplication.focusWidget() is made, "nothing is read yet"
    made.set_workflow("w")
    await settle()
    assert made.list.hasFocus()
    atelier.set("files", "list", [])
    made.reload()
    await settle()
    assert entrance(made) is made
    atelier.set("workflows", "get", Workflow(id="w", name="W"))
    made.reload()
    await settle()
    assert entrance(made) is made.empty.button


async def test_the_background_of_a_selected_row_starts_with_the_row(pane: FilesPane) -> None:
    viewport = pane.list.viewport().rect()
    left = viewport.adjusted(0, 0, pane.list.indentation() - viewport.width(), 0)
    before = [pane.list.viewport().grab(each).toImage() for each in (left, viewport)]
    pane.list.setCurrentItem(row(pane, "a.py"))
    after = [pane.list.viewport().grab(each).toImage() for each in (left, viewport)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False]


async def test_a_folder_shows_its_number_of_changes_and_a_file_its_own(pane: FilesPane, atelier: FakeAtelier) -> None:
    deep = [
        change("3", "src/app/a.py"),
        change("2", "src/app/a.py", action="created"),
        change("1", "src/app/b/c.py", agent_name="Bob"),
    ]
    atelier.set("files", "list", [*deep, change("0", "x", root="/q")])
    pane.reload()
    await settle()
    listed = [(item.text(0), item.data(0, RowRole).facts) for item in pane.list.rows()]
    assert [title for title, _facts in listed] == [
        "p",
        "src/app/",
        "b/",
        "c.py",
        "a.py",
        "Edited",
        "Created",
        "q",
        "x",
    ]
    assert listed[1][1] == "3 changes · Ada, Bob"
    assert [each.id for each in pane.list.changes_of(row(pane, "src/app/"))] == ["3", "2", "1"]
    row(pane, "src/app/").setExpanded(False)
    pane.reload()
    await settle()
    assert not row(pane, "src/app/").isExpanded(), "what was closed stays closed"


async def test_a_change_opens_as_a_diff_in_line_or_side_by_side_and_is_undone(
    pane: FilesPane, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    pane.window().resize(1000, 600)
    pane.list.setCurrentItem(row(pane, "a.py"))
    pane.list.setFocus()
    QTest.keyClick(pane.list, Qt.Key.Key_Return)
    await settle()
    assert pane.diff.isVisible()
    assert "x = 2" in pane.diff.text
    assert not pane.diff.left.isVisible()
    QTest.mouseClick(child(pane, QWidget, "diff-side"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: pane.diff.left.isVisible())
    QTest.mouseClick(button(pane, "file-undo"), Qt.MouseButton.LeftButton)
    await settle()
    assert atelier.calls("files.undo") == [(("w", ("1",)), {"force": False})]
    pane.close_change()
    assert pane.list.isVisible()


async def test_the_menu_of_a_row_undoes_its_changes_the_runs_or_all_later_ones(
    pane: FilesPane, atelier: FakeAtelier
) -> None:
    ran = [change("4", "a.py", run_id="r2"), change("3", "src/b.py", run_id="r1"), change("2", "src/c.py", run_id="r1")]
    atelier.set("files", "list", [*ran, change("1", "d", run_id="r1", undone_by="x")])
    pane.reload()
    await settle()

    async def choose(row_text: str, name: str) -> tuple[str, ...]:
        menu = pane._menu(pane.list.changes_of(row(pane, row_text)), QPoint(0, 0))
        assert menu is not None
        next(each for each in menu.actions() if each.objectName() == name).trigger()
        menu.close()
        await settle()
        undone: tuple[str, ...] = atelier.calls("files.undo")[-1][0][1]
        return undone

    assert await choose("src/", "file-undo-own") == ("3", "2")
    assert await choose("c.py", "file-undo-run") == ("3", "2")
    assert await choose("c.py", "file-undo-own") == ("2",)
    assert await choose("b.py", "file-undo-since") == ("4", "3")


async def test_undo_all_omits_changes_already_undone(pane: FilesPane, atelier: FakeAtelier) -> None:
    pane.undo_all()
    await settle()
    assert atelier.calls("files.undo") == [(("w", ("2", "1")), {"force": False})]


async def test_conflicting_changes_are_named_and_both_choices_offered(pane: FilesPane, atelier: FakeAtelier) -> None:
    message = (
        "{path} has been changed again in the meantime. Undoing would lose that change. Leave the file as "
        "it is, or undo anyway."
    )
    problem = ConflictError(message, path="a.py")
    atelier.set(
        "files",
        "undo",
        lambda w, ids, force=False: [UndoneChange(change(id, "a.py"), None if force else problem) for id in ids],
    )
    pane.open("1")
    await settle()
    assert not button(pane, "files-undo-anyway").isVisible()
    pane.undo_open()
    await settle()
    assert "changed again" in pane._problem.text()
    assert pane._problem.isVisible()
    switch_language("fr")
    await settle()
    assert "de nouveau" in pane._problem.text(), "it follows the language"
    switch_language("en")
    await settle()
    QTest.mouseClick(button(pane, "files-undo-leave"), Qt.MouseButton.LeftButton)
    assert not pane._problem.isVisible()
    assert len(atelier.calls("files.undo")) == 1, "left as it is"
    pane.undo_open()
    await settle()
    QTest.mouseClick(button(pane, "files-undo-anyway"), Qt.MouseButton.LeftButton)
    await settle()
    assert atelier.calls("files.undo")[-1] == (("w", ("1",)), {"force": True})
    assert not pane._problem.isVisible()


@pytest.mark.parametrize("language", ["en", "fr"])
async def test_changes_in_a_missing_folder_are_reported_once_and_not_offered_again(
    pane: FilesPane, atelier: FakeAtelier, language: str
) -> None:
    switch_language(language)
    missing = ToolError(
        "The granted folder {folder} cannot be opened: {reason}. Tell the user.",
        code="workspace_gone",
        folder="/p",
        reason="x",
    )
    atelier.set("files", "undo", lambda w, ids, force=False: [UndoneChange(change(id, "a.py"), missing) for id in ids])
    pane.undo_all()
    await settle()
    (box,) = [each for each in pane.window().findChildren(QMessageBox, "undo-both") if each.isVisible()]
    details = box.informativeText()
    assert details.count("/p") == 1
    assert "Tell the user" not in details
    assert ("Restore it, then try again" in details) == (language == "en")
    assert box.findChild(QPushButton, "undo-anyway") is None
    assert not button(pane, "files-undo-anyway").isVisible()
    box.reject()
    switch_language("en")


async def test_a_missing_folder_is_marked_in_the_pane(pane: FilesPane, atelier: FakeAtelier) -> None:
    atelier.set("files", "missing", ("/p",))
    pane.folders.refresh()
    await settle()
    assert button(pane, "folder-trust").text() == "Missing"
    assert "no longer exists" in button(pane, "folder-trust").accessibleName()


async def test_folders_are_listed_with_their_trust_and_can_be_revoked(pane: FilesPane, atelier: FakeAtelier) -> None:
    atelier.set("workflows", "set_workspace", lambda w, folders: Workflow(id="w", name="W", workspace=folders))
    assert not button(pane, "folder-trust").isVisibleTo(pane), "it has nothing to trust"
    atelier.set("files", "instruction_files", ["AGENTS.md"])
    pane.folders.refresh()
    await settle()
    assert button(pane, "folder-trust").isVisibleTo(pane)
    assert button(pane, "folder-trust").text() == "Not trusted"
    QTest.mouseClick(child(pane, QWidget, "files-ungrant"), Qt.MouseButton.LeftButton)
    await settle()
    assert atelier.calls("workflows.set_workspace") == [(("w", ()), {})]


async def test_without_a_folder_it_offers_to_grant_one(pane: FilesPane, atelier: FakeAtelier) -> None:
    atelier.set("workflows", "get", Workflow(id="v", name="V"))
    atelier.set("files", "list", [])
    pane.set_workflow("v")
    await settle()
    assert pane.empty.isVisible()
    assert button(pane, "files-grant-first").isVisible()
    assert not pane._undo_all.isEnabled()


async def test_a_folder_granted_while_the_workflow_loads_is_added_to_its_folders(
    pane: FilesPane, atelier: FakeAtelier
) -> None:
    granted: list[tuple[str, tuple[str, ...]]] = []
    atelier.set("workflows", "get", lambda id: Workflow(id=id, name="V", workspace=("/kept",)))
    atelier.set("workflows", "set_workspace", lambda id, folders: granted.append((id, folders)))
    atelier.set("files", "trusted", lambda folders: dict.fromkeys(folders, True))
    pane.set_workflow("v")
    pane.folders.grant(["/new"])  # before anything was loaded
    await settle()
    assert granted == [("v", ("/kept", "/new"))]


async def test_held_files_wait_above_the_list(pane: FilesPane, atelier: FakeAtelier) -> None:
    held_file = HeldFile(id="h1", workflow_id="w", at=WHEN, root="/p", path="AGENTS.md", replaces="aa")
    diff = FileChange(
        action="changed", path="AGENTS.md", diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-kind\n+evil", added=1, removed=1
    )
    atelier.set("files", "held_diff", diff)
    atelier.set("files", "held", [held_file])
    atelier.set("files", "accept_held", ConflictError("{path} exists now", path="AGENTS.md"))
    pane.reload()
    await settle()
    (row,) = pane.findChildren(HeldRow)
    assert row.name.text() == "New version held for review: AGENTS.md"
    QTest.mouseClick(row.name, Qt.MouseButton.LeftButton)
    await settle()
    assert "evil" in pane.diff.text
    assert button(pane, "file-undo").isHidden(), "Keep and Discard are above"
    pane.reload()
    await settle()
    assert pane.diff.isVisible(), "it stays open"
    QTest.mouseClick(row.keep_button, Qt.MouseButton.LeftButton)
    await settle()
    assert row.waits
    atelier.set("files", "discard", held_file)
    atelier.set("files", "held", [])
    QTest.mouseClick(row.discard, Qt.MouseButton.LeftButton)
    await settle()
    assert not child(pane, QWidget, "files-held").isVisible()
    assert not pane.diff.isVisible()
    assert atelier.calls("files.discard") == [(("w", "h1"), {})]


async def test_files_written_after_reading_untrusted_content_are_shown_and_marked_as_reviewed(
    pane: FilesPane, atelier: FakeAtelier
) -> None:
    assert pane.marked.isHidden()
    outside = ("example.org", "other.example")
    atelier.set(
        "files",
        "marked",
        [
            TaintMark("/p/a.py", "0", outside),
            TaintMark("/p/build", ALL_CONTENTS, outside[:1]),
            TaintMark("/p/by/command.md", "1", outside),
        ],
    )
    atelier.set("files", "mark_read", [])
    pane.reload()
    await settle()
    assert not pane.marked.isHidden()
    listed = [
        pane.marked.list.item(place).data(Qt.ItemDataRole.AccessibleTextRole)
        for place in range(pane.marked.list.count())
    ]
    assert listed == [
        "a.py, Written by an agent that had read from example.org, other.example",
        "build/, Written by an agent that had read from example.org",
        "by/command.md, Written by an agent that had read from example.org, other.example",
    ]
    assert "Written by an agent that had read from example.org, other.example" in row(pane, "a.py").toolTip(0)
    assert "Written by an agent" not in row(pane, "old.txt → new.txt").toolTip(0)
    menu = pane._menu([pane._changes[2]], QPoint())
    assert menu is not None
    (read,) = [action for action in menu.actions() if action.objectName() == "file-mark-read"]
    read.trigger()
    await settle()
    pane.marked.list.item(1).setSelected(True)
    pane.marked.list.item(2).setSelected(True)
    assert button(pane, "files-mark-read").text() == "Mark 2 files as read"
    button(pane, "files-mark-read").click()
    await settle()
    pane.marked.list.clearSelection()
    assert button(pane, "files-mark-read").text() == "Mark all as read"
    button(pane, "files-mark-read").click()
    await settle()
    box = child(pane.window(), QMessageBox)
    assert (box.text(), len(atelier.calls("files.mark_read"))) == ("Mark all 3 files as read?", 2)
    assert box.informativeText().startswith("This includes 1 folder")
    button(box, "confirm-yes").click()
    await settle()
    marked = [paths for (paths,), _named in atelier.calls("files.mark_read")]
    assert marked == [("/p/a.py",), ("/p/build", "/p/by/command.md"), ("/p/a.py", "/p/build", "/p/by/command.md")]


LEFT = [
    Leftover("changes/w/1.json", "unreadable", 5 * 1024 * 1024, 1, "Input/output error"),
    Leftover("0192", "unknown", 2 * 1024 * 1024, 3, until=WHEN),
]


async def test_undo_data_without_a_workflow_is_listed_with_its_size_and_deleted(
    pane: FilesPane, atelier: FakeAtelier
) -> None:
    assert pane.leftovers.isHidden()
    atelier.set("files.cleaning", "leftovers", LEFT)
    atelier.set("files.cleaning", "delete", 5_000_000)
    pane.reload()
    await settle()
    view = pane.leftovers.list
    rows = [view.item(number) for number in range(view.count())]
    assert pane.leftovers.isVisible()
    assert [item.text() for item in rows] == [
        "Unreadable record (changes/w/1.json)",
        "Unknown workflow 0192 (3 changes)",
    ]
    assert rows[0].data(RowRole).facts == "5\u202fMB · Input/output error · kept until you delete it"
    assert rows[1].data(RowRole).facts == "2\u202fMB · kept until 2026-11-22"
    rows[0].setSelected(True)
    QTest.mouseClick(button(pane, "files-leftovers-delete"), Qt.MouseButton.LeftButton)
    question = pane.window().findChild(QMessageBox, "files-leftovers-question")
    assert question is not None
    assert "5\u202fMB" in question.text()
    question.reject()
    await settle()
    assert atelier.calls("files.cleaning.delete") == []
    QTest.mouseClick(button(pane, "files-leftovers-delete"), Qt.MouseButton.LeftButton)
    atelier.set("files.cleaning", "leftovers", LEFT[1:])
    boxes = [each for each in pane.window().findChildren(QMessageBox, "files-leftovers-question") if each.isVisible()]
    child(boxes[-1], QPushButton, "confirm-yes").click()
    await settle()
    assert atelier.calls("files.cleaning.delete") == [((("changes/w/1.json",),), {})]
    assert view.count() == 1


async def test_leftovers_in_french(pane: FilesPane, atelier: FakeAtelier) -> None:
    atelier.set("files.cleaning", "leftovers", LEFT)
    pane.reload()
    await settle()
    switch_language("fr")
    await settle()
    assert pane.leftovers.list.item(0).text() == "Enregistrement illisible (changes/w/1.json)"
    assert button(pane, "files-leftovers-delete").text() == "Tout supprimer…"


async def test_completely_deleted_undo_data_is_reported(pane: FilesPane, atelier: FakeAtelier) -> None:
    atelier.set("files", "list", [])
    atelier.set("files", "lost", 3)
    pane.reload()
    await settle()
    assert pane.leftovers.lost.isVisible()
    assert pane.leftovers.lost.text().startswith("Undo is no longer possible for 3 changes")
    assert pane.leftovers.list.isHidden()


async def test_several_changes_are_read_as_one_diff_oldest_first(pane: FilesPane, atelier: FakeAtelier) -> None:
    def diff(_workflow: str, id: str) -> FileChange:
        text = f"--- a/{id}\n+++ b/{id}\n@@ -1 +1 @@\n-old {id}\n+new {id}"
        return FileChange(action="changed", path=f"{id}.py", diff=text, added=1, removed=1)

    atelier.set("files", "diff", diff)
    pane.open("2", "1")
    await settle()
    assert not pane.diff.isHidden()
    assert pane.diff.text.index("new 1") < pane.diff.text.index("new 2")
    assert pane._name.text() == "a.py, src/b.py"
    button(pane, "file-undo").click()
    await settle()
    assert atelier.calls("files.undo")[-1][0] == ("w", ("2", "1"))


async def test_changes_newer_than_the_list_are_read_too(pane: FilesPane, atelier: FakeAtelier) -> None:
    atelier.set("files", "list", [change("9", "fresh.py")])
    pane.open("9")
    await settle()
    assert pane._name.text() == "fresh.py"
    assert "x = 2" in pane.diff.text


async def test_very_many_changes_are_shown_as_a_list(pane: FilesPane, atelier: FakeAtelier) -> None:
    many = [change(str(number), f"{number}.py") for number in range(30, 9, -1)]
    atelier.set("files", "list", many)
    pane.open(*(each.id for each in many))
    await settle()
    assert pane._stack.currentWidget() is pane.list
    assert len(pane.list.rows()) == 21
    assert atelier.calls("files.diff") == []
