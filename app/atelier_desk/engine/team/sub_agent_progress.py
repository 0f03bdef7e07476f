"""Progress of sub-agents, sent as ``sub_agent_progress`` for their parent.

Transient, at most four times a second each.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.stream.payloads import RunStatusChanged, SubAgentProgress, ToolEnd, ToolStart
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.support import background_tasks

if TYPE_CHECKING:
    from atelier_desk.engine.run.driver_dependencies import RunEnvironment
    from atelier_desk.engine.run.reducer.state import RunState
    from atelier_desk.engine.runs.live_runs import LiveRuns

EVERY_S = 0.25
REPORTED_EVENTS = frozenset({ChunkType.TOOL_START, ChunkType.TOOL_END, ChunkType.USAGE, ChunkType.TOKEN})
"""Event types that trigger a report, at the maximum rate; a streamed token shows activity."""


class ProgressReporter:
    """Listens to the bus and reports on sub-agents."""

    def __init__(self, env: RunEnvironment, live: LiveRuns) -> None:
        self._env = env
        self._live = live
        self._reported_at: dict[str, float] = {}
        self._tools: dict[str, tuple[str, str]] = {}
        """By run: the running tool and its display name."""
        self._due: dict[str, asyncio.Task[None]] = {}
        self._unsubscribe = env.bus.subscribe(self._note)

    def close(self) -> None:
        """Stop reporting."""
        self._unsubscribe()
        for run_id in list(self._due):
            self._discard(run_id)

    def _note(self, event: StreamEvent) -> None:
        if event.depth == 0 or event.parent_run_id is None:
            return
        match event.payload:
            case RunStatusChanged(status=status) if RunStatus(status).final:
                self._discard(event.run_id)
                return
            case ToolStart() as started:
                self._tools[event.run_id] = started.tool, started.presentation.title
            case ToolEnd():
                self._tools.pop(event.run_id, None)
        if event.chunk_type not in REPORTED_EVENTS or event.run_id in self._due:
            return
        early = self._reported_at.get(event.run_id, -EVERY_S) + EVERY_S - self._env.clock.monotonic()
        if early <= 0:
            self._report(event.parent_run_id, event.run_id)
        else:
            # The last event before a long silence is reported too.
            later = self._report_later(early, event.parent_run_id, event.run_id)
            self._due[event.run_id] = background_tasks.start(later, "sub-agent progress", self._env.bus.failed)

    async def _report_later(self, seconds: float, parent_id: str, run_id: str) -> None:
        await self._env.clock.sleep(seconds)
        del self._due[run_id]
        self._report(parent_id, run_id)

    def _discard(self, run_id: str) -> None:
        self._reported_at.pop(run_id, None)
        self._tools.pop(run_id, None)
        due = self._due.pop(run_id, None)
        if due is not None:
            due.cancel()

    def _report(self, parent_id: str, run_id: str) -> None:
        self._reported_at[run_id] = self._env.clock.monotonic()
        parent, live = self._live.get(parent_id), self._live.get(run_id)
        if parent is None or live is None or parent.handle.state is None or live.handle.state is None:
            return
        total = live.handle.state.total.usage
        tool, title = self._tools.get(run_id, ("", ""))
        told = SubAgentProgress(
            sub_agent_id=run_id,
            sub_agent_name=live.handle.state.agent.name,
            tokens_input=total.tokens_input,
            tokens_output=total.tokens_output,
            cost=total.known_cost,
            current_tool=tool,
            current_title=title,
            progress=plan_progress(live.handle.state),
        )
        self._env.journal.publish(parent.handle.state, told)


def plan_progress(state: RunState) -> int | None:
    """Return the percentage of ended sub-agents of a run; None without any: a model's own progress is unknown."""
    known = [child for child in state.children if child.status is not ChildStatus.NOT_RUN]
    if not known:
        return None
    return round(100 * sum(child.status.over for child in known) / len(known))
