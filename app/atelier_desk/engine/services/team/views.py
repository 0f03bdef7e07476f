"""What the screens show of a team: the tree of agents, the lanes of a batch, and the timeline. Plain frozen data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.team import ChildStatus, Spending
from atelier_desk.domain.workflow import RunStatus

_NO_USAGE, _NO_SPENDING, _NO_BUDGET = Usage(), Spending(), Budget()

NOT_STARTED = frozenset({ChildStatus.PLANNED.value, ChildStatus.NOT_RUN.value})
"""Statuses of a node that has no run: planned and not begun yet, or never begun because a plan stopped before it."""
OVER = frozenset({status.value for status in RunStatus if status.final} | {ChildStatus.NOT_RUN.value})
"""Statuses of a node with nothing more to come."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the branch in view: its root run, its place from 1, and when it began."""

    run_id: str
    number: int
    began: datetime


@dataclass(frozen=True, slots=True)
class ApprovalCounts:
    """Calls of one run that needed a person's yes: those that wait, and those decided."""

    pending: int = 0
    approved: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class AgentNode:
    """One agent of a team: a run, or a sub-agent that is planned and has no run yet.

    Attributes:
        run_id: also the sub-agent's id in tools and stream events.
        title: what it is to do, in a few words; for a root run empty.
        status: a ``RunStatus`` value, or ``planned`` or ``not_run`` of ``ChildStatus`` for one without a run (see ``NOT_STARTED``).
        parent_call_id: the call of the parent that started it; empty for a root run.
        call_kind: a ``TeamCall`` value: how it was started; empty for a root run.
        stage: sub-agents of one call and stage run together.
        background: its parent did not wait for it.
        current_tool: the tool that runs now; empty when none does (then a run with status ``processing`` waits for its model);
            ``current_title`` its name for people, an English ``N_`` text, empty when it has none.
        question: what it asked, while it waits: its parent with status ``awaiting_parent``, the user with ``awaiting_user``.
        elapsed_ms: working time up to the moment the node was made.
        counting_since: that moment when the time goes on counting, so that a screen can add to it; else None.
        ended_at: when it was over.
        usage, tool_calls: its own.
        total: the same and the working time with everything below it.
        budget: its caps, with what was raised; for a sub-agent its share of its parent's.
        pause: a ``PauseReason`` value while it is paused; ``limit`` the ``LimitKind`` value that stopped it.
        report: what a sub-agent handed back, once it is over; ``error`` why it failed.
        withheld: tools it asked for and did not get, because its parent lacks them.
        approvals: of its own calls.
        children: what it started, in the order in which it was planned.
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
    report: str = ""
    error: str = ""
    withheld: tuple[str, ...] = ()
    approvals: ApprovalCounts = ApprovalCounts()
    children: tuple[AgentNode, ...] = ()

    @property
    def over(self) -> bool:
        """Nothing more will come of it by itself."""
        return self.status in OVER

    def walk(self) -> Iterator[AgentNode]:
        """This node and all below it, each before its children."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, run_id: str) -> AgentNode | None:
        """The node of a run, here or below."""
        return next((node for node in self.walk() if node.run_id == run_id), None)

    def path(self, run_id: str) -> tuple[AgentNode, ...]:
        """The nodes from this one down to ``run_id``; empty when it is not below."""
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
    """A stretch of a run's time.

    Attributes:
        kind: ``model`` a request until its reply, ``tool`` a call that runs, ``wait`` for a person, a parent or sub-agents, ``paused``.
            A call that waits is first a ``tool`` and then a ``wait``; the two do not overlap.
        end: None while it lasts.
        title: for ``tool`` its name for people, an English ``N_`` text; empty when it has none.
        label: the model's name, the tool's name, or for a wait ``user``, ``approval``, ``parent`` or ``children``; for a pause its
            ``PauseReason``.
        status: ``ok``, ``error``, ``unknown``, ``cancelled``, ``timeout`` or ``rejected``; of a reply also ``cut_off``; ``running`` while
            it lasts.
        seq: number of the stream event at which it began; what ``TeamService.at`` takes to show that moment.
        end_seq: number of the stream event that ended it, 0 while it lasts.
        event_seq: for ``model`` the number of its reply in the run (what the context inspector takes); else of the event it began with.
        call_id: for ``tool`` and a wait that belongs to a call.
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
    """One run's row of a timeline; ``spans`` in the order they began. Tools of one reply may overlap; ``end`` None: not over."""

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
    """A place the scrubber can stop at: one event of the team's journal.

    Attributes:
        seq: number of its first stream event: what ``TeamService.at`` and a fork take to include it.
        kind: the event's type, as in ``atelier_desk.domain.events.run``.
        label: the tool, the agent or another name it is about; may be empty.
        title: of a tool, its name for people as in ``Span``.
    """

    seq: int
    time: datetime
    run_id: str
    kind: str
    label: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """All runs of a team in time.

    Attributes:
        start: when the root run began; ``end`` when the last thing happened, None while something is at work.
        runs: the root first, each run before those it started.
        marks: the team's events in order.
    """

    workflow_id: str
    root_run_id: str
    start: datetime
    end: datetime | None
    runs: tuple[TimelineRun, ...] = ()
    marks: tuple[TimelineMark, ...] = ()
