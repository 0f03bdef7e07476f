"""What is done to workflows in the list: pin, move, delete with undo, export, suggest a title."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.bridge.bridge import Change
from atelier_desk.desktop.sidebar.workflow_actions import FolderDialog
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.workflow import Workflow
from tests.desktop.sidebar.sidebar_harness import FILED, LISTED, Column, entry, open_menu, rows
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, settle


@pytest.mark.parametrize("action", ["delete", "duplicate"])
async def test_a_double_click_deletes_or_copies_once(column: Column, action: str) -> None:
    delayed = DelayedResult(LISTED[1])
    column.engine.set("workflows", action, delayed)
    for _ in range(2):
        column.sidebar.workflow_actions.delete(
            ["a"]
        ) if action == "delete" else column.sidebar.workflow_actions.duplicate("a")
    await settle()
    assert column.engine.calls(f"workflows.{action}") == [(("a",), {})]
    await delayed.release()


async def test_delete_offers_undo(column: Column) -> None:
    purged: list[str] = []
    column.sidebar.workflow_gone.connect(purged.append)
    view = column.sidebar.list
    view.select_one("a")
    QTest.keyClick(view, Qt.Key.Key_Delete)
    await settle()
    assert purged == ["a"]
    undo = child(column.window, QPushButton, "toast-action")
    QTest.mouseClick(undo, Qt.MouseButton.LeftButton)
    await settle()
    assert column.engine.calls("workflows.undo_delete") == [(("a",), {})]


async def test_undo_names_what_was_purged_meanwhile(column: Column) -> None:
    view = column.sidebar.list
    view.select_one("a")
    QTest.keyClick(view, Qt.Key.Key_Delete)
    await settle()
    column.engine.set("workflows", "undo_delete", NotFoundError("There is no workflow a."))
    shown: list[str] = []
    column.sidebar.workflow_chosen.connect(shown.append)
    column.sidebar._toasts.undo.undo()
    await settle()
    toast = column.sidebar._toasts.current
    assert toast is not None
    assert toast.accessibleName() == "“Name a” deleted permanently"
    assert shown == []


async def test_pin_and_duplicate(column: Column) -> None:
    chosen: list[str] = []
    column.sidebar.workflow_chosen.connect(chosen.append)
    column.sidebar.workflow_actions.pin(["a"])
    column.sidebar.workflow_actions.pin(["p"])
    column.sidebar.workflow_actions.duplicate("a")
    await settle()
    assert column.engine.calls("workflows.set_pinned") == [(("a", True), {}), (("p", False), {})]
    assert chosen == ["z"]


@pytest.mark.parametrize(
    ("name", "kind", "begins"),
    [
        ("x.json", "json", b"{}"),
        ("x.md", "md", b"{}"),
        ("x.HTML", "md", b"<!DOCTYPE"),
        ("x.docx", "md", b"PK"),
        ("x.pdf", "md", b"%PDF-"),
    ],
)
async def test_the_export_format_follows_the_file_extension(
    column: Column, tmp_path: Path, name: str, kind: str, begins: bytes
) -> None:
    await column.sidebar.workflow_actions.export_to("a", tmp_path / name, "A title")
    asked = {} if kind == "json" else {"details": name == "x.md"}
    assert column.engine.calls("workflows.export") == [(("a", kind), asked)]
    assert (tmp_path / name).read_bytes().startswith(begins)


async def test_duplicates_name_reports_changed_outside(column: Column, tmp_path: Path) -> None:
    column.engine.set("workflows.exporting", "changed_reports", ["Plan"])
    for copying in (
        column.sidebar.workflow_actions.export_to("a", tmp_path / "x.json"),
        column.sidebar.workflow_actions._duplicate("a"),
    ):
        await copying
        toast = column.sidebar._toasts.current
        assert toast is not None
        assert "The report Plan was damaged or changed" in toast.accessibleName()


async def test_the_undo_key_restores_a_deleted_workflow_after_its_message_disappeared(
    qtbot: QtBot, column: Column
) -> None:
    shown: list[str] = []
    column.sidebar.workflow_chosen.connect(shown.append)
    host = column.sidebar._toasts
    column.sidebar.workflow_actions.delete(["a"])
    await settle()
    assert host.current is not None
    host.current.dismiss()
    host.undo.undo()
    host.undo.undo()  # there is nothing more to undo
    await settle()
    assert column.engine.calls("workflows.undo_delete") == [(("a",), {})]
    assert shown == ["a"]


async def test_several_workflows_are_selected_and_deleted_with_one_undo(column: Column) -> None:
    opened: list[str] = []
    column.sidebar.workflow_chosen.connect(opened.append)
    view, model = column.sidebar.list, column.sidebar.model
    click(column, "a")
    click(column, "c", Qt.KeyboardModifier.ShiftModifier)
    click(column, "b", Qt.KeyboardModifier.ControlModifier)
    assert view.marked == ["a", "c"]
    assert [view.list_row(model.index_of(each)).icon for each in "abc"] == ["check", "message-square", "check"]
    assert opened == ["a"]
    changed = [each.model_copy(update={"name": "Now"}) for each in LISTED[1:]]
    column.engine.set("workflows", "list", changed)
    await column.sidebar.load()
    assert view.marked == ["a", "c"]
    QTest.keyClick(view, Qt.Key.Key_Delete)
    await settle()
    assert [call[0] for call in column.engine.calls("workflows.delete")] == [("a",), ("c",)]
    toast = column.sidebar._toasts.current
    assert toast is not None
    assert toast.accessibleName() == "2 workflows deleted"
    toast.button.click()
    await settle()
    assert [call[0] for call in column.engine.calls("workflows.undo_delete")] == [("a",), ("c",)]
    view.select_one("a")
    click(column, "b", Qt.KeyboardModifier.ControlModifier)
    column.sidebar.select("a")
    assert model.index_of("a") == view.currentIndex()
    assert view.marked == ["a"]


async def test_the_menu_of_several_pins_moves_archives_and_undoes(column: Column) -> None:
    menu = open_menu(column, ["a", "b"])
    assert (menu.actions()[0].text(), menu.actions()[0].isEnabled()) == ("2 workflows", False), (
        "drawn, unlike the words of a section"
    )
    texts = [each.text() for each in menu.actions()]
    assert "Rename" not in texts
    assert "2 workflows" in texts
    entry(menu, "Pin").trigger()
    entry(menu, "Archive").trigger()
    menu.close()
    await settle()
    assert column.engine.calls("workflows.set_pinned") == [(("a", True), {}), (("b", True), {})]
    assert column.engine.calls("workflows.set_archived") == [(("a", True), {}), (("b", True), {})]
    column.sidebar._toasts.undo.undo()
    await settle()
    assert column.engine.calls("workflows.set_archived")[2:] == [(("a", False), {}), (("b", False), {})]


async def test_workflows_are_moved_by_menu_and_by_dragging(column: Column) -> None:
    column.engine.set("workflows", "list", FILED)
    await column.sidebar.load()
    model = column.sidebar.model
    menu = open_menu(column, ["a"])
    folders = next(each.menu() for each in menu.actions() if each.text() == "Move to folder")
    assert isinstance(folders, QMenu)
    assert [each.text() for each in folders.actions() if not each.isSeparator()] == ["Art", "Nature", "New folder…"]
    entry(folders, "Art").trigger()
    menu.close()
    dragged = model.mimeData([model.index_of("a"), model.index_of("x")])
    art = model.index(rows(model).index("Art"))
    assert model.canDropMimeData(dragged, Qt.DropAction.MoveAction, -1, -1, art)
    assert not model.canDropMimeData(dragged, Qt.DropAction.MoveAction, -1, -1, model.index(model.rowCount() - 1))
    await settle()
    model.dropMimeData(dragged, Qt.DropAction.MoveAction, -1, -1, art)
    await settle()
    moves = [call[0] for call in column.engine.calls("workflows.move")]
    assert moves == [("a", "Art"), ("a", "Art"), ("x", "Art")]
    column.sidebar._toasts.undo.undo()
    await settle()
    assert [call[0] for call in column.engine.calls("workflows.move")][3:] == [("a", ""), ("x", "Nature")]


async def test_a_new_folder_gets_its_name_in_a_dialog(column: Column) -> None:
    column.sidebar.workflow_actions.move_to_new(["a"])
    dialog = column.sidebar.findChild(FolderDialog)
    assert dialog is not None
    dialog._press()
    assert "Enter a name" in dialog._error.text()
    QTest.keyClicks(dialog.field, " Birds ")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    await settle()
    assert column.engine.calls("workflows.move") == [(("a", "Birds"), {})]


async def test_deleting_many_shows_progress_and_stop_keeps_the_result_so_far(column: Column) -> None:
    delayed, deleted = DelayedResult(), []

    async def delete(key: str) -> Workflow:
        deleted.append(key)
        if len(deleted) == 8:
            await delayed()
        return LISTED[1]

    column.engine.set("workflows", "delete", delete)
    column.sidebar.workflow_actions.delete([f"w{number}" for number in range(30)])
    await settle(60)
    toast = column.sidebar._toasts.current
    assert toast is not None
    assert toast.accessibleName() == "7 of 30 workflows…"
    toast.button.click()
    await settle()
    toast = column.sidebar._toasts.current
    assert toast is not None
    assert toast.accessibleName() == "7 workflows deleted"
    toast.button.click()
    await settle(60)
    assert [call[0] for call in column.engine.calls("workflows.undo_delete")] == [
        (f"w{number}",) for number in range(7)
    ]


async def test_deleting_many_reloads_the_lists_once_at_the_end(column: Column, qtbot: QtBot) -> None:
    seen: list[str] = []
    column.bridge.changed.connect(lambda _topic, key: seen.append(key))
    delayed = DelayedResult()

    async def delete(key: str) -> Workflow:
        column.bridge.post(Change("workflow", key))
        if key == "w29":
            column.bridge.post(Change("workflow", "another"))
            await delayed()
        return LISTED[1]

    column.engine.set("workflows", "delete", delete)
    keys = [f"w{number}" for number in range(30)]
    column.sidebar.workflow_actions.delete(keys)
    await settle(60)
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == ["another"]  # one that somebody else changed is not held back
    await delayed.release()
    qtbot.waitUntil(lambda: len(seen) > len(keys))
    assert seen == ["another", *keys]


async def test_stopping_the_deletion_of_many_shows_what_is_deleted(column: Column, qtbot: QtBot) -> None:
    seen: list[str] = []
    column.bridge.changed.connect(lambda _topic, key: seen.append(key))
    delayed = DelayedResult()

    async def delete(key: str) -> Workflow:
        column.bridge.post(Change("workflow", key))
        if key == "w3":
            await delayed()
        return LISTED[1]

    column.engine.set("workflows", "delete", delete)
    column.sidebar.workflow_actions.delete([f"w{number}" for number in range(30)])
    await settle(60)
    column.bridge._drain()
    assert seen == []
    toast = column.sidebar._toasts.current
    assert toast is not None
    toast.button.click()
    await settle()
    qtbot.waitUntil(lambda: len(seen) == 4)
    assert seen == ["w0", "w1", "w2", "w3"]


async def test_a_title_is_generated_and_can_be_undone(column: Column) -> None:
    column.engine.set("workflows", "get", LISTED[1])
    delayed = DelayedResult(LISTED[1].model_copy(update={"name": "About herons"}))
    column.engine.set("runs.titles", "suggest", delayed)
    column.sidebar.workflow_actions.suggest_title("a")
    await settle()
    toasts = column.sidebar._toasts
    assert toasts.current is not None
    assert toasts.current.accessibleName() == "Generating a title…"
    await delayed.release()
    await settle()
    assert toasts.current is not None
    assert toasts.current.accessibleName() == "Renamed to “About herons”"
    toasts.undo.undo()
    await settle()
    assert column.engine.calls("workflows.rename") == [(("a", "Name a"), {})]


async def test_several_workflows_are_exported_into_a_folder_without_overwriting(column: Column, tmp_path: Path) -> None:
    (tmp_path / "Name a.json").write_text("mine")
    await column.sidebar.workflow_actions.export_all(LISTED[1:3], tmp_path)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "Name a.json": "mine",
        "Name a (2).json": "{}",
        "Name b.json": "{}",
    }


def click(column: Column, key: str, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    view = column.sidebar.list
    point = view.visualRect(column.sidebar.model.index_of(key)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, modifiers, pos=point)


async def test_a_title_that_takes_long_can_be_stopped(column: Column) -> None:
    column.engine.set("workflows", "get", LISTED[1])
    column.engine.set("runs.titles", "suggest", DelayedResult())
    column.sidebar.workflow_actions.suggest_title("a")
    await settle()
    toast = column.sidebar._toasts.current
    assert toast is not None
    toast.button.click()
    await settle()
    assert column.sidebar._toasts.current is None
    assert column.bridge.errors == []
