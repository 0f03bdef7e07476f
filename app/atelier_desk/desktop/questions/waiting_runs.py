"""Sub-agents waiting for their parent's answer, which the user may give instead, and runs stopped at a limit.

Both are found in the trees of the teams at work, which are read once for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.team.model import turn_tree
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.events.base_event import PauseReason
from atelier_desk.domain.stream.event import StreamEvent, Topic
from atelier_desk.domain.stream.payloads import (
    LimitReached,
    RunStatusChanged,
    SubAgentAnswer,
    SubAgentComplete,
    SubAgentQuestion,
)
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.presentation.rows.team_state import limit_figures

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.team.display_data import AgentNode

RELOAD_MS = 200


@dataclass(frozen=True, slots=True)
class ParentQuestion:
    """A sub-agent's question; ``lineage`` names its ancestors from the root to the parent."""

    run_id: str
    workflow_id: str
    agent_name: str
    question: str
    lineage: tuple[str, ...] = ()
    created_at: datetime = field(default_factory=utc_now)

    @property
    def parent(self) -> str:
        return self.lineage[-1] if self.lineage else ""


@dataclass(frozen=True, slots=True)
class StoppedRun:
    """A run that waits for a decision at a limit.

    ``kind`` is a ``LimitKind`` value; ``value`` and ``cap`` are in its unit, 0 if unknown; ``details`` as of
    ``presentation.run_notices.too_little``.
    """

    run_id: str
    workflow_id: str
    agent_name: str
    kind: str
    value: float = 0.0
    cap: float = 0.0
    details: Mapping[str, float] = field(default_factory=dict)
    created_at: datetime = field(default_factory=utc_now)


class WaitingRuns(QObject):
    """Questions of sub-agents to their parents, and runs stopped at a limit, over all workflows; oldest first.

    Signals:
        changed: the list changed.
        asked: a new one (``ParentQuestion``).
        notice: a sentence to be shown as a toast.
    """

    changed = Signal()
    asked = Signal(object)
    notice = Signal(object)

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.jobs = Jobs(self, self.notice.emit)
        self.read = False
        """Whether all that waits was read since the start."""
        self._open: dict[str, ParentQuestion] = {}
        self._stopped: dict[str, StoppedRun] = {}
        self._limited: dict[str, StoppedRun] = {}
        """By run, the limit it reached; it waits once it is paused."""
        self._changed_since: dict[str, StoppedRun | None] = {}
        """Runs that stopped, or left their limit (None), since the list was last asked for."""
        self._asking: dict[str, int] = {}
        """By run, the event of its newest question that nobody answered yet: an answer may overtake what is still being
        read.
        """
        self._answered: set[str] = set()
        """Runs whose question was closed since the list was last asked for."""
        self._reading = asyncio.Lock()
        self._reload_timer = Debouncer(self, RELOAD_MS, self.start)
        bridge.stream_event.connect(self.on_stream)
        bridge.changed.connect(self._on_changed)

    def start(self) -> None:
        """Load pending questions of all running and waiting workflows."""
        self.jobs.start(self._reload(), "reload")

    def pending(self) -> list[ParentQuestion]:
        return sorted(self._open.values(), key=lambda each: (each.created_at, each.run_id))

    def stopped(self) -> list[StoppedRun]:
        """Runs that stopped at a limit and were not continued."""
        return sorted(self._stopped.values(), key=lambda each: (each.created_at, each.run_id))

    def __len__(self) -> int:
        return len(self._open) + len(self._stopped)

    async def answer(self, run_id: str, text: str) -> None:
        """Answer a sub-agent in its parent's place; errors of the engine are raised."""
        await self._bridge.engine.runs.answering.answer_child(run_id, text)
        self._close(run_id)

    def on_stream(self, event: StreamEvent) -> None:
        """A sub-agent asked, was answered, or ended; a run stopped at a limit, or left it."""
        data = event.payload
        if isinstance(data, SubAgentQuestion):
            self._asking[data.sub_agent_id] = event.seq
            self.jobs.start(self._asked(data, event))
        elif isinstance(data, SubAgentAnswer | SubAgentComplete):
            self._close(data.sub_agent_id)
        elif isinstance(data, LimitReached):
            numbers = {name: float(data.details.get(name) or 0) for name in ("value", "cap", "needed", "left")}
            value, cap = numbers.pop("value"), numbers.pop("cap")
            self._limited[event.run_id] = StoppedRun(
                event.run_id, event.workflow_id, event.agent_name, data.reason, value, cap, numbers, event.time
            )
        elif isinstance(data, RunStatusChanged):
            limited = self._limited.pop(event.run_id, None)
            self._set_stopped(event.run_id, limited if data.status == RunStatus.PAUSED else None)

    def _on_changed(self, topic: Topic, _id: str) -> None:
        """Drop what belongs to deleted workflows."""
        if topic == "workflow" and len(self):
            self._reload_timer.ask()

    def _set_stopped(self, run_id: str, stopped: StoppedRun | None) -> None:
        if stopped is None and run_id not in self._stopped and not self._reading.locked():
            return
        self._changed_since[run_id] = stopped
        self._show_stopped({**self._stopped, run_id: stopped})

    def _show_stopped(self, stopped: Mapping[str, StoppedRun | None]) -> None:
        before, self._stopped = self._stopped, {key: each for key, each in stopped.items() if each is not None}
        if self._stopped != before:
            self.changed.emit()

    def _close(self, run_id: str) -> None:
        self._asking.pop(run_id, None)
        self._answered.add(run_id)
        if self._open.pop(run_id, None) is not None:
            self.changed.emit()

    async def _asked(self, data: SubAgentQuestion, event: StreamEvent) -> None:
        run_id = data.sub_agent_id
        lineage: tuple[str, ...] = (event.agent_name,) if event.agent_name else ()
        async with self._reading:
            if event.depth > 0:  # the event contains only the parent's name
                tree = await turn_tree(self._bridge, event.workflow_id, event.correlation_id)
                lineage = (
                    tuple(node.name for node in tree.path(run_id)[:-1]) or lineage if tree is not None else lineage
                )
            if self._asking.get(run_id) != event.seq:
                return
            asked = ParentQuestion(run_id, event.workflow_id, data.sub_agent_name, data.question, lineage, event.time)
            self._open[run_id] = asked
        self.asked.emit(asked)
        self.changed.emit()

    async def _reload(self) -> None:
        async with self._reading:
            self._answered.clear()
            self._changed_since.clear()
            trees = (await self._bridge.engine.teams.at_work()).items()
            found = [each for key, tree in trees for each in _asking(tree, key)]
            stopped = {
                each.run_id: self._stopped.get(each.run_id, each)
                for key, tree in trees
                for each in _at_limit(tree, key)
            }
            known = self._open
            self._open = {
                each.run_id: known.get(each.run_id, each) for each in found if each.run_id not in self._answered
            }
            self.read = True
            self._show_stopped({**stopped, **self._changed_since})
        self.changed.emit()


def _asking(tree: AgentNode, workflow_id: str) -> Iterator[ParentQuestion]:
    for node in tree.walk():
        if node.status == RunStatus.AWAITING_PARENT and node.question:
            above = tuple(each.name for each in tree.path(node.run_id)[:-1])
            yield ParentQuestion(
                node.run_id, workflow_id, node.name, node.question, above, node.started_at or utc_now()
            )


def _at_limit(tree: AgentNode, workflow_id: str) -> Iterator[StoppedRun]:
    for node in tree.walk():
        if node.status == RunStatus.PAUSED and node.pause == PauseReason.LIMIT:
            yield StoppedRun(
                node.run_id,
                workflow_id,
                node.name,
                node.limit,
                *limit_figures(node),
                created_at=node.started_at or utc_now(),
            )
