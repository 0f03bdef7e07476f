"""The task pane: progress, blocked tasks, and every change requested from the engine."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.tasks.dialog import TaskDialog
from atelier_desk.desktop.panes.tasks.list import TaskRole
from atelier_desk.desktop.panes.tasks.pane import TaskPane
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.task import Task, TaskStatus
from tests.desktop.panes.conftest import Show
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.mouse_pointer import aim, leave


def task(key: str, *after: str, status: TaskStatus = TaskStatus.PENDING) -> Task:
    return Task(
        id=key, workflow_id="w", name=f"Task {key}", status=status, dependencies=after, position=float(ord(key))
    )


PLAN = [task("a", status=TaskStatus.COMPLETED), task("b"), task("c", "b"), task("d")]


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> TaskPane:
    atelier.set("tasks", "list", list(PLAN))
    made = shown(TaskPane(bridge))
    made.set_workflow("w")
    await settle()
    return made


def names(pane: TaskPane) -> list[str]:
    model = pane.list.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


async def test_it_shows_tasks_with_progress_and_blockers(pane: TaskPane) -> None:
    assert pane.objectName() == "task-pane"
    assert pane.list.objectName() == "task-list"
    assert pane.heading.text() == "Tasks · 1 / 4"
    assert (pane.bar.value(), pane.bar.maximum()) == (1, 4)
    assert names(pane) == ["Task a", "Task b", "Task c", "Task d"]
    row = pane.list.model().index(2, 0)
    assert row.data(TaskRole).depth == 1
    assert row.data(Qt.ItemDataRole.AccessibleTextRole) == "Task c, Blocked, Waiting for: Task b"


async def test_changed_tasks_are_loaded_once(
    pane: TaskPane, atelier: FakeAtelier, bridge: FakeBridge, qtbot: QtBot
) -> None:
    before = len(atelier.calls("tasks.list"))
    atelier.set("tasks", "list", [*PLAN, task("e")])
    for changed in ("e", "a"):
        bridge.changed.emit("task", changed)
    qtbot.waitUntil(lambda: not pane._reload_timer.isActive())
    await settle()
    assert len(atelier.calls("tasks.list")) == before + 1
    assert names(pane)[-1] == "Task e"


async def test_another_branch_shows_its_own_tasks(pane: TaskPane, atelier: FakeAtelier, bridge: FakeBridge) -> None:
    atelier.set("tasks", "list", [task("z")])
    bridge.changed.emit("task", "w")
    assert pane._reload_timer.isActive()
    pane.reload()
    await settle()
    assert names(pane) == ["Task z"]


async def test_keys_set_the_status_and_move(pane: TaskPane, atelier: FakeAtelier) -> None:
    pane.list.select("b")
    QTest.keyClick(pane.list, Qt.Key.Key_Space)
    await settle()
    assert atelier.calls("tasks.set_status") == [(("w", "b", TaskStatus.COMPLETED), {})]
    pane.list.select("a")
    QTest.keyClick(pane.list, Qt.Key.Key_Space)
    await settle()
    assert atelier.calls("tasks.set_status")[1:] == [(("w", "a", TaskStatus.PENDING), {})]
    pane.list.select("b")
    QTest.keyClick(pane.list, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    await settle()
    pane.list.select("b")
    QTest.keyClick(pane.list, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    await settle()
    assert atelier.calls("tasks.move") == [(("w", "b", ""), {}), (("w", "b", "c"), {})]


async def test_dragging_a_row_requests_its_new_position(pane: TaskPane, atelier: FakeAtelier) -> None:
    model = pane.list.tasks
    data = model.mimeData([model.index(3)])
    assert data.formats() == model.mimeTypes()
    model.dropMimeData(data, Qt.DropAction.MoveAction, 1, 0, model.index(-1))
    await settle()
    assert atelier.calls("tasks.move") == [(("w", "d", "a"), {})]


async def test_a_click_on_the_icon_sets_the_status(pane: TaskPane, atelier: FakeAtelier) -> None:
    area = pane.list.visualRect(pane.list.model().index(1, 0))
    QTest.mouseClick(
        pane.list.viewport(), Qt.MouseButton.LeftButton, pos=area.topLeft() + QPoint(16, area.height() // 2)
    )
    await settle()
    assert atelier.calls("tasks.set_status") == [(("w", "b", TaskStatus.COMPLETED), {})]


async def test_renaming_in_place(pane: TaskPane, atelier: FakeAtelier) -> None:
    pane.list.select("d")
    QTest.keyClick(pane.list, Qt.Key.Key_F2)
    editor = pane.list.viewport().findChild(QLineEdit)
    assert editor is not None
    assert editor.text() == "Task d"
    editor.setText("Écrire les tests")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    await settle()
    assert atelier.calls("tasks.update") == [(("w", "d"), {"name": "Écrire les tests"})]


async def test_delete_can_be_undone(pane: TaskPane, atelier: FakeAtelier) -> None:
    deleted = PLAN[3]
    atelier.set("tasks", "delete", deleted)
    pane.list.select("d")
    atelier.set("tasks", "list", PLAN[:3])
    QTest.keyClick(pane.list, Qt.Key.Key_Delete)
    await settle()
    assert atelier.calls("tasks.delete") == [(("w", "d"), {})]
    assert names(pane) == ["Task a", "Task b", "Task c"]
    undo = pane.window().findChild(QPushButton, "toast-action")
    assert undo is not None
    undo.click()
    await settle()
    assert atelier.calls("tasks.restore") == [((deleted,), {})]


async def test_a_new_task_is_checked_before_it_is_sent(pane: TaskPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    pane.add()
    dialog = child(pane.window(), TaskDialog)
    send = child(dialog, QPushButton, "form-submit")
    send.click()
    await settle()
    assert atelier.calls("tasks.create") == []
    assert child(dialog, QLabel, "form-error").text() == "Enter a name for the task."
    dialog.name.setText("New one")
    dialog.dependencies.item(1).setCheckState(Qt.CheckState.Checked)
    atelier.set("tasks", "create", UsageError("No more than 100 tasks."))
    send.click()
    await settle()
    assert child(dialog, QLabel, "form-error").text() == "No more than 100 tasks."
    atelier.set("tasks", "create", task("n"))
    send.click()
    await settle()
    fields = {"name": "New one", "description": "", "priority": 3, "dependencies": ("b",)}
    assert atelier.calls("tasks.create")[-1] == (("w",), fields)


async def test_the_form_offers_what_can_be_changed(pane: TaskPane, atelier: FakeAtelier) -> None:
    pane.edit("b")
    atelier.set("tasks", "edit", PLAN[1])
    dialog = child(pane.window(), TaskDialog)
    offered = [dialog.dependencies.item(row).text() for row in range(dialog.dependencies.count())]
    assert offered == ["Task a", "Task d"]
    dialog.priority.setCurrentIndex(0)
    dialog.status.setCurrentIndex(1)
    child(dialog, QPushButton, "form-submit").click()
    await settle()
    (((task,), fields),) = atelier.calls("tasks.edit")
    assert task.id == "b"
    assert (fields["priority"], fields["status"]) == (1, TaskStatus.IN_PROGRESS)


async def test_a_person_enters_how_long_a_completed_task_took(pane: TaskPane, atelier: FakeAtelier) -> None:
    pane.edit("b")
    atelier.set("tasks", "edit", PLAN[1])
    dialog = child(pane.window(), TaskDialog)
    assert not dialog.duration.isEnabled()
    assert dialog.duration.text() == "measured from the start of the task"
    dialog.status.setCurrentIndex(list(TaskStatus).index(TaskStatus.COMPLETED))
    dialog.duration.setValue(90)
    child(dialog, QPushButton, "form-submit").click()
    await settle()
    ((_task, fields),) = atelier.calls("tasks.edit")
    assert (fields["status"], fields["duration_ms"]) == (TaskStatus.COMPLETED, 5_400_000)


async def test_a_refused_change_is_reported_and_the_list_reloaded(pane: TaskPane, atelier: FakeAtelier) -> None:
    atelier.set("tasks", "set_status", UsageError("Finish {name} first.", name="Task b"))
    before = len(atelier.calls("tasks.list"))
    pane.set_status("c", TaskStatus.COMPLETED)
    await settle()
    assert child(pane.window(), QWidget, "toast").accessibleName() == "Finish Task b first."
    assert len(atelier.calls("tasks.list")) == before + 1


async def test_without_a_workflow_nothing_can_be_added(pane: TaskPane) -> None:
    pane.set_workflow("")
    await settle()
    assert names(pane) == []
    assert pane.heading.text() == "Tasks"
    assert not pane.empty.button.isEnabled()


async def test_the_menu_key_opens_the_menu_of_the_current_task(pane: TaskPane) -> None:
    pane.list.select("d")
    middle = pane.list.visualRect(pane.list.model().index(1, 0)).center()
    ask = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, middle, pane.list.viewport().mapToGlobal(middle))
    QApplication.sendEvent(pane.list.viewport(), ask)
    menu = child(pane, QMenu, "task-menu")
    assert menu.isVisible()
    row = pane.list.current_row()
    assert row is not None
    assert row.task.id == "d"
    assert (
        menu.pos().y() > pane.list.viewport().mapToGlobal(pane.list.visualRect(pane.list.currentIndex()).center()).y()
    )
    menu.close()
    click = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, middle, pane.list.viewport().mapToGlobal(middle))
    QApplication.sendEvent(pane.list.viewport(), click)
    row = pane.list.current_row()
    assert row is not None
    assert row.task.id == "b"


async def test_tasks_keep_their_places_under_the_pointer(pane: TaskPane, atelier: FakeAtelier) -> None:
    before = names(pane)
    aim(pane.list, 1)
    atelier.set("tasks", "list", [task("A"), *PLAN])
    pane.reload()
    await settle()
    assert names(pane) == before
    leave(pane.list)
    assert names(pane) == ["Task A", *before]


async def test_a_person_moves_a_task_that_is_under_the_pointer(pane: TaskPane, atelier: FakeAtelier) -> None:
    aim(pane.list, 3)
    atelier.set("tasks", "list", [PLAN[3].model_copy(update={"position": 0.0}), *PLAN[:3]])
    pane.list.tasks.move("d", 0)
    await settle()
    assert names(pane)[0] == "Task d"


async def test_another_workflow_is_shown_at_once_under_the_pointer(pane: TaskPane, atelier: FakeAtelier) -> None:
    aim(pane.list, 1)
    atelier.set("tasks", "list", [task("z")])
    pane.set_workflow("other")
    aim(pane.list, 1, at_once=True)
    await settle()
    assert names(pane) == ["Task z"]
