"""Deleted items are listed, restored, and purged after a confirmation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidgetItem, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.sidebar.deleted_workflows_and_memories_dialog import DeletedDialog
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.memory import DeletedMemory, Memory, MemoryType, MergedInto
from atelier_desk.domain.workflow import Workflow
from tests.helpers.fake_bridge import DelayedResult, FakeAtelier, FakeBridge, settle

KEPT = Memory(id="k", type=MemoryType.KNOWLEDGE, content="The port is 9000")


def memory(id: str, days: float, **fields: Any) -> DeletedMemory:
    return DeletedMemory(
        id=id, type=MemoryType.KNOWLEDGE, content=f"Memory {id}", deleted_at=utc_now() - timedelta(days=days), **fields
    )


@pytest.fixture
def atelier() -> FakeAtelier:
    workflow = Workflow(id="w", name="Report on herons", deleted_at=utc_now() - timedelta(days=2))
    memories = [memory("m1", 1), memory("m2", 3, merged=MergedInto(kept=KEPT, made=KEPT, pinned=False))]
    return FakeAtelier(
        workflows={"list": [workflow], "undo_delete": workflow, "purge": {}},
        memories={"deleted": memories, "undo_delete": KEPT, "purge": None},
    )


@pytest.fixture
async def dialog(atelier: FakeAtelier, qtbot: QtBot) -> AsyncIterator[DeletedDialog]:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    made = DeletedDialog(FakeBridge(atelier), parent)
    made.open()
    await settle()
    yield made
    parent.close()  # kept alive until here


def titles(dialog: DeletedDialog) -> list[str]:
    return [dialog.list.item(row).text() for row in range(dialog.list.count())]


async def test_the_newest_deleted_item_comes_first_and_each_shows_its_kind(dialog: DeletedDialog) -> None:
    assert titles(dialog) == ["Memory m1", "Report on herons", "Memory m2"]
    tool_tips = [dialog.list.item(row).toolTip() for row in range(3)]
    assert "29 more days" in tool_tips[0]
    assert "Workflow" in tool_tips[1]
    assert "merged" in tool_tips[2]
    switch_language("fr")
    await settle()
    assert "29 jours" in dialog.list.item(0).toolTip()
    assert "Un souvenir" in dialog.list.item(0).toolTip()
    assert "Souvenir fusionné" in dialog.list.item(2).toolTip()
    assert dialog.windowTitle() == "Supprimés récemment"


async def test_a_long_list_with_every_row_selected_is_filled_again_in_one_step(
    dialog: DeletedDialog, atelier: FakeAtelier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row that is selected would otherwise look through all rows, which took minutes with thousands."""
    atelier.set("memories", "deleted", [memory(f"m{number}", 1) for number in range(60)])
    dialog.reload()
    await settle()
    dialog.list.selectAll()
    looked: list[int] = []
    chosen = dialog.list.selectedItems

    def selected() -> list[QListWidgetItem]:
        looked.append(1)
        return chosen()

    monkeypatch.setattr(dialog.list, "selectedItems", selected)
    dialog.reload()
    await settle()
    assert len(dialog.chosen()) == 61
    assert len(looked) < 10


async def test_a_workflow_is_restored_by_enter_and_shown(dialog: DeletedDialog, atelier: FakeAtelier) -> None:
    shown: list[str] = []
    dialog.opened.connect(shown.append)
    dialog.list.setCurrentRow(1)
    QTest.keyClick(dialog.list, Qt.Key.Key_Return)
    await settle()
    assert atelier.calls("workflows.undo_delete") == [(("w",), {})]
    assert shown == ["w"]
    assert titles(dialog) == ["Memory m1", "Memory m2"]


async def test_several_items_are_purged_after_confirmation(dialog: DeletedDialog, atelier: FakeAtelier) -> None:
    dialog.list.selectAll()
    QTest.keyClick(dialog.list, Qt.Key.Key_Delete)
    await settle()
    assert atelier.calls("memories.purge") == []
    asked = dialog.findChild(QMessageBox)
    assert asked is not None
    assert "3" in asked.text()
    yes = asked.findChild(QPushButton, "confirm-yes")
    assert yes is not None
    yes.click()
    await settle()
    assert atelier.calls("memories.purge") == [(("m1",), {}), (("m2",), {})]
    assert atelier.calls("workflows.purge") == [(("w",), {})]
    assert titles(dialog) == []
    assert not dialog.back.isEnabled()
    assert "Nothing" in dialog.status.text()


async def test_one_item_is_confirmed_by_name_and_starts_with_all_its_days(
    dialog: DeletedDialog, atelier: FakeAtelier
) -> None:
    atelier.set("memories", "deleted", [memory("m3", 0.001)])
    dialog.reload()
    await settle()
    assert "30 more days" in dialog.list.item(0).toolTip()
    dialog.list.setCurrentRow(0)
    QTest.keyClick(dialog.list, Qt.Key.Key_Delete)
    await settle()
    asked = dialog.findChild(QMessageBox)
    assert asked is not None
    assert asked.text() == "Delete “Memory m3” permanently?"
    assert asked.informativeText().startswith("It cannot")


async def test_an_item_that_cannot_be_restored_stays_with_an_error(dialog: DeletedDialog, atelier: FakeAtelier) -> None:
    atelier.set("memories", "undo_delete", RuntimeError("gone"))
    dialog.list.setCurrentRow(0)
    dialog.back.click()
    await settle()
    assert titles(dialog)[0] == "Memory m1"
    assert dialog.status.text() != ""
    assert "30" not in dialog.status.text()


async def test_items_deleted_meanwhile_are_added_to_the_list(
    dialog: DeletedDialog, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    atelier.set("memories", "deleted", [memory("m3", 0)])
    dialog._bridge.changed.emit("memory", "m3")
    dialog._again.timeout.emit()
    await settle()
    assert titles(dialog) == ["Memory m3", "Report on herons"]


async def test_purging_many_shows_progress_and_can_be_stopped(dialog: DeletedDialog, atelier: FakeAtelier) -> None:
    delayed, purged = DelayedResult(), []

    async def purge(key: str) -> None:
        purged.append(key)
        if len(purged) == 3:
            await delayed()

    atelier.set("memories", "deleted", [memory(f"m{number}", number) for number in range(10)])
    atelier.set("memories", "purge", purge)
    atelier.set("workflows", "list", [])
    dialog.reload()
    await settle()
    assert dialog.stop.isHidden()
    dialog.list.selectAll()
    dialog._purge()
    await settle()
    assert dialog.status.text() == "2 of 10…"
    assert not dialog.purge.isEnabled()
    dialog._bridge.changed.emit("memory", "m0")
    assert not dialog._again.isActive()
    dialog.stop.click()
    await settle()
    assert titles(dialog) == [f"Memory m{number}" for number in range(2, 10)]
    assert dialog.stop.isHidden()
    assert dialog.purge.isEnabled()
    dialog.reload()  # as changes request it
    await settle()
    assert dialog.status.text() == "Stopped: 2 of 10 were deleted permanently."
    purged.extend("xxx")
    dialog._purge()
    await settle()
    assert "Stopped" not in dialog.status.text(), "the earlier stop is not reported for later work"


async def test_stopping_shows_how_many_were_restored(dialog: DeletedDialog, atelier: FakeAtelier) -> None:
    delayed, back = DelayedResult(), []

    async def undo_delete(key: str) -> None:
        back.append(key)
        if len(back) == 2:
            await delayed()

    atelier.set("memories", "deleted", [memory(f"m{number}", number) for number in range(3)])
    atelier.set("memories", "undo_delete", undo_delete)
    atelier.set("workflows", "list", [])
    dialog.reload()
    await settle()
    dialog.list.selectAll()
    dialog.bring_back()
    await settle()
    dialog.stop.click()
    await settle()
    assert dialog.status.text() == "Stopped: 1 of 3 was restored."


async def test_older_deleted_items_are_shown_on_request(dialog: DeletedDialog, atelier: FakeAtelier) -> None:
    assert dialog.all.isHidden()
    atelier.set("memories", "deleted", [memory(f"m{number}", number) for number in range(505)])
    dialog.reload()
    await settle()
    assert dialog.list.count() == 500
    dialog.all.click()
    assert dialog.list.count() == 506
    assert dialog.all.isHidden()
