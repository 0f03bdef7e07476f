"""People's changes of a model's context: pins, and undoing compactions."""

from __future__ import annotations

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.events.run import (
    CompactionUndone,
    EntryPinned,
    EventBody,
)
from atelier_desk.domain.workflow import Message
from atelier_desk.engine.journal.journal import Decide
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import compaction
from atelier_desk.engine.runs.live_run import LiveRun
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.support.i18n import N_


class ContextEditing:
    """Pins and undone compactions, stored in the journal of the conversation's newest run."""

    def __init__(self, env: RunEnvironment, runs: LiveRuns) -> None:
        self._env = env
        self._runs = runs

    async def pin(self, workflow_id: str, origin: str, pinned: bool = True) -> None:
        """Pin an entry of a conversation, so that it is always sent in full, or unpin it.

        Raises:
            NotFoundError: the conversation of the workflow's newest run, or of the entry's sub-agent, has no such
                entry.
        """
        live = await self._holder(workflow_id, origin)

        def decide(now: RunState) -> list[EventBody] | None:
            entry = next((entry for entry in now.conversation if entry.origin == origin), None)
            if entry is None:
                raise NotFoundError(N_("The workflow no longer has an entry {origin}."), origin=origin)
            return (
                [EntryPinned(origin=origin, pinned=pinned, message_id=entry.message_id)]
                if entry.pinned is not pinned
                else None
            )

        await self._change_context(live, decide)

    async def pin_message(self, message: Message, pinned: bool) -> None:
        """Pin or unpin a message of a conversation. Whatever of it is still sent to the model is then sent in full."""
        row = await self._env.repos.workflows.get(message.workflow_id)
        live = await self._runs.load(row.head_run_id or message.run_id)

        def decide(now: RunState) -> list[EventBody]:
            entry = next((entry for entry in now.conversation if entry.message_id == message.id), None)
            return [EntryPinned(origin=entry.origin if entry else "", pinned=pinned, message_id=message.id)]

        await self._change_context(live, decide)

    async def undo_compaction(self, workflow_id: str, origin: str) -> None:
        """Undo a compaction, given its ``origin``: what it cut or replaced is sent in full again.

        Raises:
            NotFoundError: it is not in the conversation, or inside a later summary (undo that one first).
        """
        live = await self._holder(workflow_id, origin)
        await self._runs.with_all(live)

        def decide(now: RunState) -> list[EventBody]:
            if not compaction.can_undo(now, origin):
                raise NotFoundError(
                    N_(
                        "This summary was already undone, or is part of a later one. If there is a later one, undo "
                        "that first."
                    )
                )
            return [CompactionUndone(origin=origin)]

        await self._change_context(live, decide)

    async def _holder(self, workflow_id: str, origin: str) -> LiveRun:
        """Return the run in whose conversation an entry can be changed.

        A sub-agent's own, else the newest of the workflow.
        """
        made_by = origin.partition(":")[0]
        row = await self._env.repos.workflows.get(workflow_id)
        live = await self._runs.load(made_by)
        if live.handle.workflow_id == workflow_id and live.handle.current.parent_run_id is not None:
            return live
        if row.head_run_id is None:
            raise NotFoundError(N_("There is no run {id}."), id=made_by)
        return await self._runs.load(row.head_run_id)

    async def _change_context(self, live: LiveRun, decide: Decide) -> None:
        if await self._env.journal.append_if(live.handle, decide) and live.handle.current.status.final:
            self._runs.conversations.finished(live.handle.current)
