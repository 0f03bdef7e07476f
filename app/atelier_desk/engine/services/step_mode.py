"""Step mode for people: runs that wait for a step, and what each would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import PauseReason
from atelier_desk.domain.workflow import RunMode, RunStatus, WorkflowStatus
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.services.common.service import Service

if TYPE_CHECKING:
    from atelier_desk.engine.run.reducer.state import RunState

_AT_REST = frozenset({WorkflowStatus.IDLE, WorkflowStatus.COMPLETED, WorkflowStatus.ERROR})


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A run that waits for a step.

    Attributes:
        root_run_id: for ``RunManager.step``, to let the whole team take one.
        tools: calls that would run, by tool name in order; empty if the model would be asked.
        titles: display names of those tools, in the same order; empty for a tool without a title.
        pausing: a person asked it to pause, which it does after its current step.
    """

    run_id: str
    root_run_id: str
    agent_name: str
    depth: int
    tools: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    pausing: bool = False


class SteppingService(Service):
    """Runs that wait for a step, and how they come to wait."""

    async def waiting(self, workflow_id: str) -> tuple[WaitingStep, ...]:
        """Return the workflow's runs that wait for a step, nearest to the root first."""
        if await self._at_rest(workflow_id):
            return ()
        found = []
        for row in await self._context.repos.runs.alive():
            if row.workflow_id != workflow_id or row.status is not RunStatus.PAUSED:
                continue
            state = await self._state(row.id)
            if state is None or state.pause is not PauseReason.STEP:
                continue
            tools = tuple(
                call.intent.tool if call.intent else call.call.name for call in state.calls if call.status == "planned"
            )
            known = [self._context.registry.get_tool(name) for name in tools]
            titles = tuple(tool.title if tool is not None else "" for tool in known)
            found.append(WaitingStep(row.id, row.correlation_id or row.id, row.agent_name, row.depth, tools, titles))
        return tuple(sorted(found, key=lambda step: step.depth))

    async def held(self, workflow_id: str) -> WaitingStep | None:
        """Return the workflow's root run if a person paused it, or asked it to pause; otherwise None."""
        run_id = self._context.runs.live.alive.get(workflow_id)
        if run_id is None or await self._at_rest(workflow_id):
            return None
        row = await self._context.repos.runs.get(run_id)
        live = self._context.runs.live.get(run_id)
        pausing = live is not None and live.at_work and live.driver is not None and live.driver.pause_requested
        if not pausing and (row.status is not RunStatus.PAUSED or not await self._by_hand(run_id)):
            return None
        return WaitingStep(run_id, run_id, row.agent_name, 0, pausing=pausing)

    async def from_pause(self, run_id: str) -> bool:
        """Turn a paused run into a stepping one, which waits before its next step.

        False if it waits for another reason.
        """
        if not await self._by_hand(run_id):
            return False
        try:
            await self._context.runs.steering.resume(run_id, mode=RunMode.STEPPING, steps=0)
        except ConflictError:  # meanwhile it was turned with its parent, or continued
            return False
        return True

    async def _at_rest(self, workflow_id: str) -> bool:
        return (await self._context.repos.workflows.get(workflow_id)).status in _AT_REST

    async def _by_hand(self, run_id: str) -> bool:
        """Whether a person paused the run."""
        state = await self._state(run_id)
        return state is not None and state.pause is PauseReason.USER

    async def _state(self, run_id: str) -> RunState | None:
        """Return the run's state, from memory or its journal, without earlier messages, which do not affect pauses."""
        handle = self._context.runs.state_of(run_id)
        return handle.state if handle is not None else fold(await run_events(self._context.repos, run_id))
