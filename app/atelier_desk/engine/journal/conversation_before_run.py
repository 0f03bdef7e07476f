"""The conversation that a run inherits: built once from the journals of preceding runs, and cached for the newest."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.events.run import CompactionUndone, RunEvent
from atelier_desk.engine.journal import conversation_snapshots
from atelier_desk.engine.journal.conversation_snapshots import InheritedState
from atelier_desk.engine.journal.journal import RunHandle, run_events
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, History, complete
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.run.reducer.state import RunState, inherited_context
from atelier_desk.storage.damage_report import MISSING, Damage, damaged
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.runs import Turn
from atelier_desk.support.threads import in_storage_thread

log = logging.getLogger(__name__)

CACHED_RUNS = 16
RUNS_AT_ONCE = 100
"""Turns read by one query."""


class Conversations:
    """Inherited conversations of runs."""

    def __init__(self, repos: Repositories) -> None:
        self._repos = repos
        self._cache: OrderedDict[str, InheritedState] = OrderedDict()
        self._writing: asyncio.Task[None] | None = None

    async def before(self, previous_run_id: str | None, *, whole: bool = False) -> InheritedState:
        """Return the initial state of a run that follows ``previous_run_id``.

        ``whole``: with everything its summaries replace.
        """
        if previous_run_id is None:
            return InheritedState()
        if (known := self._known(previous_run_id, whole)) is not None:
            return known
        row = await self._repos.runs.get(previous_run_id)
        if row.previous_run_id is None or self._known(row.previous_run_id, whole) is not None:
            turns = [Turn(row.id, row.previous_run_id, row.last_seq, None, row.status.final, row.unread)]
        else:
            turns = await self._repos.runs.turns(row.workflow_id, previous_run_id)
        done, before = await self._nearest(row.workflow_id, turns, whole)
        left = turns[done:]
        for start in range(0, len(left), RUNS_AT_ONCE):
            few = [turn for turn in left[start : start + RUNS_AT_ONCE] if not turn.unread]
            # One query per turn would take seconds for thousands of turns.
            events = await self._repos.journal.journals([turn.id for turn in few])
            for turn in few:
                if not whole and needs_full_history(events[turn.id], before.history):
                    return await self.before(previous_run_id, whole=True)
                state = fold(events[turn.id], before.history)
                if state is not None:
                    before = _following(before, state)
                    if turn.final:
                        self._cache_result(turn.id, before)
        if not whole:
            self._write_if_due(row.workflow_id, previous_run_id)
        return before

    def finished(self, state: RunState) -> None:
        """Cache the conversation of an ended run, so that the next turn need not be rebuilt."""
        unknown = InheritedState(folded=None)
        earlier = InheritedState() if state.previous_run_id is None else self._cache.get(state.previous_run_id, unknown)
        self._cache_result(state.run_id, _following(earlier, state))
        self._write_if_due(state.workflow_id, state.run_id)

    def clear(self) -> None:
        self._cache.clear()

    async def close(self) -> None:
        """Wait until a snapshot being written is complete."""
        if self._writing is not None:
            await asyncio.wait({self._writing})

    def _known(self, run_id: str, whole: bool) -> InheritedState | None:
        found = self._cache.get(run_id)
        return found if found is not None and (not whole or complete(found.history)) else None

    async def _nearest(self, workflow_id: str, turns: Sequence[Turn], whole: bool) -> tuple[int, InheritedState]:
        """Return the newest of some turns whose successor state is known: number of turns covered, and the state."""
        for count in range(len(turns), 0, -1):
            if (known := self._known(turns[count - 1].id, whole)) is not None:
                return count, known
        first = turns[0].previous_run_id if turns else None
        if first is not None:
            return 0, self._known(first, whole) or InheritedState()
        if whole or len(turns) < conversation_snapshots.LEAST:
            return 0, InheritedState()
        decoded = [conversation_snapshots.decode(data, turns) for data in await self._repos.snapshots.read(workflow_id)]
        return max(
            (each for each in decoded if each is not None), key=lambda each: each[0], default=(0, InheritedState())
        )

    def _cache_result(self, run_id: str, before: InheritedState) -> None:
        self._cache[run_id] = before
        self._cache.move_to_end(run_id)
        while len(self._cache) > CACHED_RUNS:
            self._cache.popitem(last=False)

    def _write_if_due(self, workflow_id: str, run_id: str) -> None:
        """Start writing a snapshot in the background; a failed one is retried some turns later."""
        before = self._cache.get(run_id)
        if before is None or not before.due or (self._writing is not None and not self._writing.done()):
            return
        self._cache[run_id] = replace(before, since=0)
        self._writing = asyncio.get_running_loop().create_task(
            self._write(workflow_id, run_id, before), name="snapshot"
        )

    async def _write(self, workflow_id: str, run_id: str, before: InheritedState) -> None:
        try:
            turns = await self._repos.runs.turns(workflow_id, run_id)
            data = await in_storage_thread(conversation_snapshots.encode, before, turns)
            if data is None:
                return
            await self._repos.snapshots.write(workflow_id, run_id, data)
            await self._repos.runs.get(run_id)
        except NotFoundError:
            # the workflow was deleted meanwhile, so its snapshots must be too
            await self._repos.snapshots.remove(workflow_id)
        except StorageError as error:
            log.info("no snapshot of workflow %s: %s", workflow_id, error)


def _following(earlier: InheritedState, state: RunState) -> InheritedState:
    """Return the state after a run that began with ``earlier``."""
    return InheritedState(
        inherited_context(state),
        state.tainted,
        conversation_snapshots.folded(earlier.folded, state.run_id, state.last_seq),
        earlier.since + 1,
    )


def needs_full_history(events: Sequence[RunEvent], history: Sequence[ContextEntry]) -> bool:
    """Whether events of a run restore what earlier summaries replace, while ``history`` lacks that."""
    return any(isinstance(event.body, CompactionUndone) for event in events) and not complete(history)


async def load(repos: Repositories, conversations: Conversations, run_id: str) -> RunHandle:
    """Load a run from its journal.

    Raises:
        NotFoundError: no such run.
        StorageError: ``damaged_row``: an event of it, or of a preceding turn, is missing or damaged.
    """
    row = await repos.runs.get(run_id)
    events = await run_events(repos, run_id)
    if not events:
        raise damaged([Damage(row.workflow_id, run_id, "run_event", "", 1, MISSING)])
    history = History()
    if row.parent_run_id is None:
        history = (await conversations.before(row.previous_run_id)).history
        if needs_full_history(events, history):
            history = (await conversations.before(row.previous_run_id, whole=True)).history
    return RunHandle(run_id=run_id, workflow_id=row.workflow_id, history=history, state=fold(events, history), row=row)
