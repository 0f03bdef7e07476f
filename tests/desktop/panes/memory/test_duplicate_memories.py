"""Resolving duplicate and contradictory memories."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from PySide6.QtWidgets import QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.memory.dialog import MemoryDialog
from atelier_desk.desktop.panes.memory.duplicate_memories import TidyDialog
from atelier_desk.desktop.panes.memory.list import MemoryRow, facts
from atelier_desk.desktop.panes.memory.pane import MemoryPane
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.engine.services.common.memory_maintenance import MemoryPair
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

OLD = Memory(id="old", type=MemoryType.KNOWLEDGE, content="The port is 8443", source="user")
SAME = Memory(id="same", type=MemoryType.KNOWLEDGE, content="The port is 8443.", source="user")
NEW = Memory(id="new", type=MemoryType.KNOWLEDGE, content="The port is 9000", source="user")


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Any) -> MemoryPane:
    atelier.set("memories", "list", [OLD, NEW])
    made: MemoryPane = shown(MemoryPane(bridge))
    made.set_workflow("w")
    await settle()
    return made


def press(holder: QWidget, name: str) -> None:
    button = holder.findChild(QPushButton, name)
    assert button is not None
    button.click()


@pytest.fixture
async def tidy(pane: MemoryPane, bridge: FakeBridge, atelier: FakeAtelier, qtbot: QtBot) -> TidyDialog:
    """Two pairs, and an engine that accepts every decision."""
    pairs = [
        MemoryPair(kind="against", first=OLD, second=NEW, similarity=0.9),
        MemoryPair(kind="same", first=OLD, second=SAME, similarity=0.8),
    ]
    atelier.set("memories", "pairs", pairs)
    atelier.set("memories", "merge", NEW)
    atelier.set("memories", "undo_delete", OLD)
    atelier.set("memories", "keep_both", None)
    dialog = TidyDialog(bridge, "w", pane)
    dialog.show()
    await settle()
    assert len(dialog.cards) == 2
    return dialog


async def test_the_correct_memory_is_kept_and_the_other_can_be_restored(
    tidy: TidyDialog, pane: MemoryPane, atelier: FakeAtelier
) -> None:
    press(tidy.cards[1], "tidy-both")
    await settle()
    assert [args for args, _ in atelier.calls("memories.keep_both")] == [("old", "same")]
    atelier.set("memories", "pairs", [])
    press(tidy.cards[0], "tidy-second")
    await settle()
    assert [args for args, _ in atelier.calls("memories.merge")] == [("new", "old")]
    assert tidy.status.text() == "No duplicates or contradictions found."
    tidy.accept()  # the window's undo is accessible now
    toasts_of(pane).undo.undo()
    toasts_of(pane).undo.undo()
    await settle()
    assert [args for args, _ in atelier.calls("memories.keep_both")][1:] == [("old", "same", False)]
    assert [args for args, _ in atelier.calls("memories.undo_delete")] == [("old",)]


async def test_a_decision_stays_in_place_and_is_undone_there(
    tidy: TidyDialog, pane: MemoryPane, atelier: FakeAtelier
) -> None:
    """Nothing moves under the pointer, and the window's undo is not accessible while the dialog is open."""
    first, second = tidy.cards
    press(first, "tidy-second")
    atelier.set("memories", "pairs", [MemoryPair(kind="same", first=OLD, second=SAME, similarity=0.8)])
    await settle()
    assert tidy.cards == [first, second]
    assert (first.status.text(), first.status.isVisible()) == ("Memories merged", True)
    assert not child(first, QPushButton, "tidy-first").isVisible()
    atelier.set("memories", "pairs", [first.pair, second.pair])
    press(first, "tidy-undo")
    await settle()
    assert [args for args, _ in atelier.calls("memories.undo_delete")] == [("old",)]
    assert tidy.cards == [first, second]
    assert (child(first, QPushButton, "tidy-first").isVisible(), first.status.isVisible()) == (True, False)
    tidy.accept()
    assert not hasattr(pane.window(), "toasts"), "an undone decision is not offered for undo again"


async def test_tab_visits_the_pairs_before_close(tidy: TidyDialog) -> None:
    names: list[str] = []
    widget = tidy._area.nextInFocusChain()
    while widget is not None and widget is not tidy._area and len(names) < 200:
        names.append(widget.objectName())
        widget = widget.nextInFocusChain()
    answers = [name for name in names if name.startswith("tidy-") and name != "tidy-said"]
    assert answers == ["tidy-first", "tidy-second", "tidy-both", "tidy-undo"] * 2 + ["tidy-close"]


async def test_a_pair_with_an_already_deleted_memory_is_not_asked_about(tidy: TidyDialog, atelier: FakeAtelier) -> None:
    atelier.set("memories", "pairs", [])
    press(tidy.cards[0], "tidy-second")
    await settle()
    assert [card.pair.second.id for card in tidy.cards] == ["new"]


async def test_pinning_and_the_switch_of_the_workflow(pane: MemoryPane, atelier: FakeAtelier) -> None:
    atelier.set("memories", "pin", OLD)
    atelier.set("memories", "set_on", None)
    atelier.set("memories", "pinned", ["old"])
    atelier.set("memories", "list_pinned", [OLD])
    pane.pin("old")
    await settle()
    assert [args for args, _ in atelier.calls("memories.pin")] == [("old", True)]
    row = pane._row("old")
    assert row is not None
    assert row.pinned
    assert facts(row).startswith("pinned · ")
    pane.list.setCurrentIndex(pane.list.model().index(0, 0))
    pane._menu(pane.mapToGlobal(pane.rect().center()))
    menu = pane.findChild(QMenu, "memory-menu")
    assert menu is not None
    assert "Unpin" in [action.text() for action in menu.actions()]
    menu.close()
    atelier.set("memories", "is_on", False)
    pane.on.click()
    await settle()
    assert [args for args, _ in atelier.calls("memories.set_on")] == [("w", False)]
    assert "turn it on" in pane.on.toolTip()


async def test_a_person_sets_when_a_memory_expires(qtbot: QtBot) -> None:
    changes: list[dict[str, Any]] = []
    expiring = OLD.model_copy(update={"expires_at": utc_now()})
    for choice in (None, 0, 30):
        dialog = MemoryDialog(MemoryRow(expiring))
        qtbot.addWidget(dialog)
        dialog.accepted_fields.connect(changes.append)
        dialog.expiry.setCurrentIndex(dialog.expiry.findData(choice) if choice is not None else 0)
        dialog.submit()
    assert "expires_at" not in changes[0]
    assert changes[1]["expires_at"] is None
    assert abs(changes[2]["expires_at"] - utc_now() - timedelta(days=30)) < timedelta(minutes=5)


def test_never_is_offered_once(qtbot: QtBot) -> None:
    dialog = MemoryDialog(MemoryRow(OLD))
    qtbot.addWidget(dialog)
    assert [dialog.expiry.itemText(index) for index in range(2)] == ["Never", "In 7 days"]
    assert dialog.expiry.currentData() is None, "saving leaves the memory as it is"
