"""Team data for display: tree of agents, lanes of a batch, timeline. Plain frozen data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.sub_agent import ChildStatus, Spending
from atelier_desk.domain.workflow import RunStatus

_NO_USAGE, _NO_SPENDING, _NO_BUDGET = Usage(), Spending(), Budget()

NOT_STARTED = frozenset({ChildStatus.PLANNED.value, ChildStatus.NOT_RUN.value})
"""Statuses of a node without a run: planned, or never begun because a plan stopped."""
OVER = frozenset({status.value for status in RunStatus if status.final} | {ChildStatus.NOT_RUN.value})
"""Final statuses of a node."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the displayed branch: root run, position from 1, and start time."""

    run_id: str
    number: int
    began: datetime


@dataclass(frozen=True, slots=True)
class ApprovalCounts:
    """Approvals of one run's calls: pending and decided."""

    pending: int = 0
    approved: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class AgentNode:
    """One agent of a team: a run, or a planned sub-agent without one.

    Attributes:
        run_id: also the sub-agent's id in tools and stream events.
        title: its task, in a few words; empty for a root run.
        status: a ``RunStatus`` value, or ``planned`` or ``not_run`` of ``ChildStatus`` without a run (see
            ``NOT_STARTED``).
        parent_call_id: the parent's call that started it; empty for a root run.
        call_kind: a ``TeamCall`` value: how it was started; empty for a root run.
        stage: sub-agents of the same call and stage run concurrently.
        background: its parent did not wait for it.
        current_tool: the running tool; empty if none (then a run with status ``processing`` waits for its model);
            ``current_title``: its display name, an English ``N_`` text, empty if it has none.
        question: its pending question: to its parent with status ``awaiting_parent``, to the user with
            ``awaiting_user``.
        elapsed_ms: working time until the node was made.
        counting_since: that time if it keeps running, so that a screen can add to it; else None.
        ended_at: when it ended.
        usage, tool_calls: its own.
        total: including everything below it, with working time.
        budget: its limits, including raised ones; for a sub-agent its share.
        pause: a ``PauseReason`` value while paused; ``limit``: the ``LimitKind`` value that stopped it;
            ``limit_figures``: its ``value``, ``cap``, ``needed`` and ``left``, as in ``LimitReached``.
        report: an ended sub-agent's report; ``error``: why it failed.
        withheld: tools it requested but did not get, because its parent lacks them.
        approvals: of its own calls.
        children: sub-agents it started, in planned order.
    """

    run_id: str
    name: str
    workflow_id: str = ""
    root_run_id: str = ""
    agent_id: str = ""
    title: str = ""
    status: str = RunStatus.PROCESSING.value
    depth: int = 0
    parent_run_id: str | None = None
    parent_call_id: str = ""
    call_kind: str = ""
    stage: int = 0
    background: bool = False
    current_tool: str = ""
    current_title: str = ""
    question: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    elapsed_ms: int = 0
    counting_since: datetime | None = None
    usage: Usage = _NO_USAGE
    tool_calls: int = 0
    total: Spending = _NO_SPENDING
    budget: Budget = _NO_BUDGET
    pause: str = ""
    limit: str = ""
    limit_figures: Mapping[str, float] = field(default_factory=dict)
    report: str = ""
    error: str = ""
    withheld: tuple[str, ...] = ()
    approvals: ApprovalCounts = ApprovalCounts()
    children: tuple[AgentNode, ...] = ()

    @property
    def over(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.status in OVER

    def walk(self) -> Iterator[AgentNode]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, run_id: str) -> AgentNode | None:
        """Return the node of a run, here or below."""
        return next((node for node in self.walk() if node.run_id == run_id), None)

    def path(self, run_id: str) -> tuple[AgentNode, ...]:
        """Return the nodes from this one down to ``run_id``; empty if it is not below."""
        if self.run_id == run_id:
            return (self,)
        for child in self.children:
            below = child.path(run_id)
            if below:
                return (self, *below)
        return ()


SpanKind = Literal["model", "tool", "wait", "paused"]


@dataclass(frozen=True, slots=True)
class Span:
    """A period of a run's time.

    Attributes:
        kind: ``model`` a request until its reply, ``tool`` a running call, ``wait`` for a person, a parent or
            sub-agents, ``paused``. A waiting call is first a ``tool`` and then a ``wait``, without overlap.
        end: None while it lasts.
        title: for ``tool`` its display name, an English ``N_`` text; empty if it has none.
        label: model name, tool name, or for a wait ``user``, ``approval``, ``parent`` or ``children``; for a pause its
            ``PauseReason``.
        status: ``ok``, ``error``, ``unknown``, ``cancelled``, ``timeout`` or ``rejected``; for a reply also
            ``cut_off``; ``running`` while it lasts.
        seq: number of the stream event at its beginning, for ``TeamService.at``.
        end_seq: number of the stream event that ended it, 0 while it lasts.
        event_seq: for ``model`` the number of its reply in the run (for the context inspector); else of its first
            event.
        call_id: for ``tool`` and the wait of a call.
    """

    run_id: str
    kind: SpanKind
    start: datetime
    end: datetime | None
    label: str = ""
    status: str = "ok"
    seq: int = 0
    end_seq: int = 0
    event_seq: int = 0
    call_id: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class TimelineRun:
    """One run's row of a timeline; ``spans`` by start. Tools of one reply may overlap; ``end`` None: unfinished."""

    run_id: str
    name: str
    depth: int
    parent_run_id: str | None
    parent_call_id: str
    status: str
    start: datetime
    end: datetime | None
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """A position of the scrubber: one event of the team's journal.

    Attributes:
        seq: number of its first stream event, with which ``TeamService.at`` and a fork include it.
        kind: the event's type, as in ``atelier_desk.domain.events.run``.
        label: the tool, agent or other name it is about; may be empty.
        title: of a tool, its display name as in ``Span``.
    """

    seq: int
    time: datetime
    run_id: str
    kind: str
    label: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """All runs of a team over time.

    Attributes:
        start: when the root run began; ``end``: time of the last event, None while something is running.
        runs: root first, each run before those it started.
        marks: the team's events in order.
    """

    workflow_id: str
    root_run_id: str
    start: datetime
    end: datetime | None
    runs: tuple[TimelineRun, ...] = ()
    marks: tuple[TimelineMark, ...] = ()
