"""Keys and buttons of panes, pressed twice before the engine has answered."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from atelier_desk.desktop.panes.activity.pane import ActivityPane
from atelier_desk.desktop.panes.memory.pane import MemoryPane
from atelier_desk.desktop.panes.reports_pane import ReportsPane
from atelier_desk.desktop.panes.tasks.dialog import TaskDialog
from atelier_desk.desktop.panes.tasks.pane import TaskPane
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Report
from tests.desktop.panes.conftest import Show
from tests.helpers.fake_bridge import DelayedResult, FakeAtelier, FakeBridge, settle

TASK = Task(id="a", workflow_id="w", name="One")


@pytest.mark.parametrize(
    ("made", "key", "result", "press"),
    [
        (TaskPane, "tasks.delete", TASK, lambda pane: pane.delete("a")),
        (ReportsPane, "reports.delete", "text", lambda pane: pane.delete("first")),
        (MemoryPane, "memories.delete", None, lambda pane: pane.delete("m1")),
        (ActivityPane, "runs.steering.pause", None, lambda pane: pane._control("pause", "r1")),
        (ActivityPane, "runs.cancel", None, lambda pane: pane._control("cancel", "r1")),
        (ActivityPane, "runs.steering.message", None, lambda pane: pane._send_message("r1", "hello")),
    ],
)
async def test_a_double_press_acts_once(
    bridge: FakeBridge, atelier: FakeAtelier, shown: Show, made: Any, key: str, result: Any, press: Any
) -> None:
    atelier.set("tasks", "list", [TASK])
    atelier.set("reports", "list", [Report(workflow_id="w", name="first")])
    atelier.set("memories", "describe", {"tags": {}})
    pane = shown(made(bridge))
    pane.set_workflow("w")
    await settle()
    delayed = DelayedResult(result)
    service, _dot, method = key.rpartition(".")
    atelier.set(service, method, delayed)
    press(pane)
    press(pane)
    await settle()
    assert len(atelier.calls(key)) == 1
    await delayed.release()


async def test_a_form_is_submitted_once_by_its_key_too(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> None:
    pane = shown(TaskPane(bridge))
    pane.set_workflow("w")
    await settle()
    delayed = DelayedResult(TASK)
    atelier.set("tasks", "create", delayed)
    pane.add()
    dialog: Any = pane.window().findChild(TaskDialog)
    dialog.name.setText("One")
    for _ in range(2):
        QTest.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    await settle()
    assert len(atelier.calls("tasks.create")) == 1
    await delayed.release()
