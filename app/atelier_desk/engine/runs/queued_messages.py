"""Messages queued until the preceding turn is answered: listed, edited, withdrawn, or sent at once.

They belong to the newest turn of the workflow. A turn that ends with queued messages (stopped or failed) keeps them
until the next turn takes them over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from atelier_desk.domain.errors import ConflictError, NotFoundError, StorageError
from atelier_desk.domain.events.run import CallStatus, EventBody, QueueChanged, QueuedSent, RunResumed, UserMessage
from atelier_desk.domain.workflow import QUEUED, Workflow
from atelier_desk.engine.run.driver import SUPERSEDED, closing_events
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.runs.damaged_run_ending import is_damage
from atelier_desk.engine.runs.live_run import LiveRun
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.engine.runs.message_validation import calling, check_message
from atelier_desk.support.i18n import N_

_GONE = N_("This message is no longer queued: it was sent or removed.")


class WaitingMessages:
    """The queue of each workflow."""

    def __init__(self, env: RunEnvironment, runs: LiveRuns) -> None:
        self._env = env
        self._runs = runs

    async def list(self, workflow_id: str) -> tuple[UserMessage, ...]:
        """Return the queued messages, next one first."""
        row = await self._env.repos.workflows.get(workflow_id)
        return await self.of(row)

    async def of(self, row: Workflow) -> tuple[UserMessage, ...]:
        """Like ``list`` for a workflow whose row was just read."""
        if row.head_run_id is None:
            return ()
        try:
            state = (await self._runs.load(row.head_run_id)).handle.current
        except StorageError as error:
            if not is_damage(error) or not (await self._env.repos.runs.get(row.head_run_id)).status.final:
                raise
            return ()  # its events are lost, as after a repair that accepts loss: the workflow continues
        return state.queued if not state.status.final else await self._left(state)

    async def _left(self, state: RunState) -> tuple[UserMessage, ...]:
        """Return the queued messages of an ended turn, without those taken over by a later turn, possibly on another
        branch.
        """
        remaining = []
        for message in state.queued:
            try:
                row = await self._env.repos.messages.get(message.message_id)
            except NotFoundError:
                continue
            if row.kind == QUEUED and row.run_id == state.run_id:
                remaining.append(message)
        return tuple(remaining)

    async def edit(self, workflow_id: str, message_id: str, content: str) -> None:
        """Change the text of a queued message.

        Raises:
            UsageError, LimitError: it is blank or too long.
            ConflictError: it is no longer queued.
        """
        text = sanitized(content)
        row = await self._env.repos.workflows.get(workflow_id)
        invoked = (await calling(self._env, UserMessage(content=text), row.workspace)).invoked

        calls = {message_id: invoked} if invoked is not None else {}

        def change(waiting: Sequence[UserMessage], at: int) -> QueueChanged:
            check_message(text, waiting[at].images, waiting[at].files, waiting[at].attachments)
            return QueueChanged(
                order=tuple(each.message_id for each in waiting), edited={message_id: text}, invoked=calls
            )

        await self._change(workflow_id, message_id, change)

    async def move(self, workflow_id: str, message_id: str, to: int) -> None:
        """Move a queued message; 0 is the next one. Raises ConflictError as ``edit``."""

        def change(waiting: Sequence[UserMessage], at: int) -> QueueChanged:
            order = [each.message_id for each in waiting]
            order.insert(max(0, to), order.pop(at))
            return QueueChanged(order=tuple(order))

        await self._change(workflow_id, message_id, change)

    async def withdraw(self, workflow_id: str, message_id: str) -> UserMessage:
        """Withdraw a queued message and return it. Raises ConflictError as ``edit``."""

        def change(waiting: Sequence[UserMessage], at: int) -> QueueChanged:
            return QueueChanged(order=tuple(each.message_id for index, each in enumerate(waiting) if index != at))

        return await self._change(workflow_id, message_id, change)

    async def _change(
        self, workflow_id: str, message_id: str, change: Callable[[Sequence[UserMessage], int], QueueChanged]
    ) -> UserMessage:
        waiting = await self.list(workflow_id)
        row = await self._env.repos.workflows.get(workflow_id)
        if row.head_run_id is None or all(each.message_id != message_id for each in waiting):
            raise ConflictError(_GONE)
        live = await self._runs.load(row.head_run_id)
        found: list[UserMessage] = []

        def decide(now: RunState) -> list[EventBody]:
            at = next((index for index, each in enumerate(now.queued) if each.message_id == message_id), None)
            if at is None:
                raise ConflictError(_GONE)
            found[:] = [now.queued[at]]
            return [change(now.queued, at)]

        await self._env.journal.append_if(live.handle, decide)
        return found[0]

    async def interrupt(self, live: LiveRun, message_id: str) -> bool:
        """Send a queued message now.

        The current step is stopped and the run continues with it. False if the run ended or it is no longer queued.
        """
        sent = QueuedSent(message_id=message_id)

        def waits(now: RunState) -> bool:
            return any(each.message_id == message_id for each in now.queued)

        if waits(live.handle.current) and await self._runs.stop(live, "message", sent):
            self._runs.drive(live)
            return True

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final or not waits(now):
                return None
            closing = closing_events(now, CallStatus.CANCELLED, SUPERSEDED, lost=True)
            return [*closing, sent, *([RunResumed(steps=now.steps)] if now.pause is not None else [])]

        try:
            return await self._runs.teams.conclude(live.handle, decide)
        finally:
            self._runs.drive(live)
