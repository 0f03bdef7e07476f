"""Reducer: compaction and pinned messages."""

from __future__ import annotations

from atelier_desk.domain.events.run import (
    CompactionUndone,
    ContextCompacted,
    EntryPinned,
    RunEvent,
)
from atelier_desk.engine.run.reducer.handler_registry import evolve, on
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import compaction


@on(ContextCompacted)
def _context_compacted(state: RunState, body: ContextCompacted, event: RunEvent) -> RunState:
    return compaction.compacted(evolve(state, usage=state.usage + body.usage), body, event)


@on(EntryPinned)
def _entry_pinned(state: RunState, body: EntryPinned, event: RunEvent) -> RunState:
    return compaction.pinned(state, body.origin, body.pinned)


@on(CompactionUndone)
def _compaction_undone(state: RunState, body: CompactionUndone, event: RunEvent) -> RunState:
    return compaction.undone(state, body.origin)
