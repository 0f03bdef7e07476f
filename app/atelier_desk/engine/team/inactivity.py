"""Detect inactive sub-agents by their real activity, and end them with their partial result.

Real activity is a token, another attempt at a request, a tool's start, progress or end, and activity of agents below.
Reading state is not.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.events.run import RunFinished
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.stream.payloads import Retry
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.llm.network.inactivity_timeout import stood_still
from atelier_desk.support import background_tasks
from atelier_desk.support.logs import correlation

if TYPE_CHECKING:
    from atelier_desk.engine.run.driver_dependencies import RunEnvironment
    from atelier_desk.engine.runs.live_run import LiveRun
    from atelier_desk.engine.runs.live_runs import LiveRuns

log = logging.getLogger(__name__)

ACTIVITY = frozenset(
    {
        ChunkType.TOKEN,
        ChunkType.REASONING,
        ChunkType.MESSAGE,
        ChunkType.TOOL_START,
        ChunkType.TOOL_PROGRESS,
        ChunkType.TOOL_END,
        ChunkType.SUB_AGENT_START,
        ChunkType.SUB_AGENT_COMPLETE,
        ChunkType.SUB_AGENT_ERROR,
    }
)


class InactivityWatch:
    """Checks every ``check_s`` seconds while sub-agents are alive; a running one without activity for
    the seconds of the setting ``inactivity_s`` is ended.

    A run that waits for a person, its parent, its sub-agents or a running tool is not inactive: those have their own
    limits.
    """

    def __init__(
        self,
        env: RunEnvironment,
        live: LiveRuns,
        *,
        check_s: float = limits.CHILD_CHECK_S,
    ) -> None:
        self._env = env
        self._live = live
        self.check_s = check_s
        self._active: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None
        self._unsubscribe = env.bus.subscribe(self._note)

    def _note(self, event: StreamEvent) -> None:
        if event.depth == 0:
            return
        if isinstance(payload := event.payload, Retry):
            # A pause before the next attempt, often requested by the server, is not inactivity: count from its end.
            self._active[event.run_id] = self._env.clock.monotonic() + float(payload.details.get("delay_s") or 0)
        elif event.chunk_type in ACTIVITY or event.run_id not in self._active:
            self._active[event.run_id] = self._env.clock.monotonic()
        if self._task is None or self._task.done():
            self._task = background_tasks.start(self._watch(), "inactivity watch", self._env.bus.failed)

    async def _watch(self) -> None:
        while self._live.teams.alive:
            if await stood_still(self._env.clock, self.check_s):
                self._active = dict.fromkeys(self._active, self._env.clock.monotonic())
            await self.check()
        self._active.clear()

    async def check(self) -> None:
        """Check once, and end inactive ones."""
        alive = {run_id for below in self._live.teams.alive.values() for run_id in below}
        now = self._env.clock.monotonic()
        for run_id in sorted(alive):
            live = self._live.get(run_id)
            if live is None or not _works(live):
                # It waited until now, so count from this moment.
                self._active[run_id] = now
                continue
            idle = now - self._active.setdefault(run_id, now)
            if idle >= self._env.in_force.applied.inactivity_s:
                with correlation(live.handle.current.correlation_id):
                    log.warning("sub-agent %s did nothing for %d seconds", run_id, idle)
                await self._end(run_id, f"Timeout: it did nothing for {idle:.0f} seconds.")
        for run_id in [run_id for run_id in self._active if run_id not in alive]:
            del self._active[run_id]

    async def _end(self, run_id: str, error: str) -> None:
        try:
            await self._live.cancel(run_id, RunFinished(status=RunStatus.ERROR, error=error))
        except AtelierError as problem:
            # The others are still watched, and this one is retried at the next check.
            log.warning("sub-agent %s could not be ended: %s", run_id, problem)

    async def close(self) -> None:
        self._unsubscribe()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _works(live: LiveRun) -> bool:
    """Whether the run itself should be active: it waits for nobody, no tool, and no slot."""
    started = live.at_work and live.driver is not None and not live.driver.waits_for_slot
    state = live.handle.current
    return (
        started and state.status is RunStatus.PROCESSING and not any(call.status == "started" for call in state.calls)
    )
