"""The timeline of the memory pane, pinned memories first, and approving proposed memories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from PySide6.QtWidgets import QMenu

from atelier_desk.desktop.panes.memory.list import facts
from atelier_desk.desktop.panes.memory.pane import MemoryPane
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.domain.memory import Memory, MemoryType
from tests.desktop.panes.conftest import Show
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def memory(id: str, hours: int, **facts: Any) -> Memory:
    when = NOON - timedelta(hours=hours)
    return Memory(
        **{"id": id, "type": MemoryType.KNOWLEDGE, "content": id, "created_at": when, "updated_at": when, **facts}
    )


ALL = [
    memory(
        "new", 0, agent_source="Ada", run_id="r", turn_id="t", proposed=True, workflow_id="w", retrieved_by=("a", "b")
    ),
    memory("same day", 1, source="user"),
    memory("old", 48, agent_source="Ada"),
]


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> MemoryPane:
    atelier.set("memories", "list", lambda **kw: ALL[kw["offset"] : kw["offset"] + kw["limit"]])
    atelier.set("memories", "describe", {"tags": {}})
    made = shown(MemoryPane(bridge))
    made.set_workflow("w")
    await settle()
    return made


async def test_the_timeline_shows_when_by_whom_and_how_often_found(pane: MemoryPane) -> None:
    plain = pane.list.sizeHintForRow(0)
    pane.timeline.click()
    await settle()
    rows = pane.list.memories.rows
    assert [bool(row.day) for row in rows] == [True, False, True]
    assert "by Ada · used by 2 runs" in facts(rows[0])
    assert "by you" in facts(rows[1])
    assert pane.list.sizeHintForRow(0) > plain
    pane.timeline.click()
    await settle()
    assert not any(row.day for row in pane.list.memories.rows)


async def test_pinned_memories_are_listed_once_above_the_others(pane: MemoryPane, atelier: FakeAtelier) -> None:
    atelier.set("memories", "pinned", ["old"])
    atelier.set("memories", "list_pinned", [ALL[2]])
    pane.reload()
    await settle()
    assert [row.memory.id for row in pane.list.memories.rows] == ["old", "new", "same day"]


async def test_a_proposed_memory_is_accepted_and_its_source_opened(pane: MemoryPane, atelier: FakeAtelier) -> None:
    pane.list.setCurrentIndex(pane.list.model().index(0, 0))
    pane._menu(pane.mapToGlobal(pane.rect().center()))
    menu = pane.findChild(QMenu, "memory-menu")
    assert menu is not None
    workflow_actions = {action.text(): action for action in menu.actions()}
    assert "for all workflows?" in facts(pane.list.memories.rows[0])
    workflow_actions["Keep for all workflows"].trigger()
    await settle()
    assert [args for args, _ in atelier.calls("memories.accept")] == [("new",)]
    toasts_of(pane).undo.undo()
    await settle()
    assert [args for args, _ in atelier.calls("memories.propose_again")] == [("new", "w")]
    seen: list[tuple[str, str]] = []
    pane.message_requested.connect(lambda workflow, message: seen.append((workflow, message)))
    atelier.set("memories", "written_in", ("w", "m9"))
    workflow_actions["Show the original message"].trigger()
    await settle()
    assert seen == [("w", "m9")]
    menu.close()
