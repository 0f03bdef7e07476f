"""A team as plain data, kept current by stream events: queries provide its shape, events only change figures. No Qt.

``load`` takes the engine's tree of agents; ``feed`` applies a stream event, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.payloads import UsageTotals

if TYPE_CHECKING:
    from atelier_desk.domain.agent import Budget
    from atelier_desk.domain.call_presentation_and_subjects import CallText
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode

OVER = frozenset({"completed", "error", "cancelled", "abandoned", "not_run"})
COUNTING = "processing"
"""The only state in which working time is counted."""
FOR_A_PERSON = frozenset({"awaiting_user", "awaiting_approval"})


@dataclass(slots=True)
class AgentUsage:
    """Usage: tokens, US dollars, tool calls, milliseconds of work."""

    tokens_input: int = 0
    tokens_output: int = 0
    cost: float = 0.0
    tool_calls: int = 0
    elapsed_ms: float = 0.0

    @property
    def tokens(self) -> int:
        return self.tokens_input + self.tokens_output


@dataclass(slots=True)
class Member:
    """An agent's run, or a planned one.

    Attributes:
        status: a run's status, or ``planned`` or ``not_run``.
        calls: the running tools by call id: their titles (English ``N_`` texts), or their names.
        said: details of running calls, if known: the command, the file.
        elapsed_ms: working time up to ``counting_since``; if that is set, it continues from there.
        pause: why it is paused (user, limit, loop, step); ``limit``, ``value`` and ``cap`` describe the limit it
            reached.
        questions: its pending questions to the user, by question id; ``question`` is the one to its parent.
        approvals: ids of its calls waiting for approval.
        progress: 0–100 if reported.
        usage_reported: tokens and cost last reported to its parent, including the reply in progress.
    """

    run_id: str
    name: str = ""
    title: str = ""
    status: str = COUNTING
    depth: int = 0
    parent_run_id: str | None = None
    parent_call_id: str = ""
    call_kind: str = ""
    stage: int = 0
    background: bool = False
    calls: dict[str, str] = field(default_factory=dict)
    call_texts: dict[str, CallText] = field(default_factory=dict)
    question: str = ""
    questions: dict[str, str] = field(default_factory=dict)
    approvals: set[str] = field(default_factory=set)
    started_at: datetime | None = None
    elapsed_ms: float = 0.0
    counting_since: datetime | None = None
    tokens_input: int = 0
    tokens_output: int = 0
    cost: float = 0.0
    tool_calls: int = 0
    progress: int | None = None
    usage_reported: AgentUsage = field(default_factory=AgentUsage)
    budget: Budget | None = None
    pause: str = ""
    limit: str = ""
    left_over: Mapping[str, float] = field(default_factory=dict)
    """Of a cost limit: ``needed`` for the next request, and ``left``."""
    value: float = 0.0
    cap: float = 0.0
    report: str = ""
    error: str = ""
    withheld: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        return self.status in OVER

    @property
    def current_tool(self) -> str:
        return next(reversed(self.calls.values()), "")

    @property
    def current_call(self) -> CallText | None:
        """The details of the newest call, if known."""
        return self.call_texts.get(next(reversed(self.calls), ""))

    @property
    def at_limit(self) -> bool:
        """Whether it stopped at a limit and waits for a decision."""
        return self.status == "paused" and self.pause == "limit"

    @property
    def held(self) -> bool:
        """Whether it needs the user to continue: paused or interrupted."""
        return self.status in {"paused", "interrupted"}

    @property
    def needs_person(self) -> bool:
        return self.at_limit or self.status in FOR_A_PERSON or (self.status == "paused" and self.pause == "loop")

    def elapsed(self, now: datetime) -> float:
        """Milliseconds of work up to ``now``."""
        since = self.counting_since
        return self.elapsed_ms + (max(0.0, (now - since).total_seconds() * 1000) if since is not None else 0.0)

    def receive_status(self, status: str, when: datetime) -> None:
        """Apply a status reported by the run."""
        if status == "limited":
            self.set_status("paused", when)
            self.pause = self.pause or "limit"
        elif status and status != "waiting":
            self.set_status(status, when)

    def set_status(self, status: str, when: datetime) -> None:
        if status == COUNTING:
            self.counting_since = self.counting_since or when
            self.pause = self.limit = ""
        elif self.counting_since is not None:
            self.elapsed_ms, self.counting_since = self.elapsed(when), None
        if status in OVER:
            self.calls.clear()
            self.questions.clear()
            self.approvals.clear()
            self.question = self.pause = ""
        self.status = status


_RELEVANT_EVENTS = frozenset({
    "workflow_start", "workflow_complete", "run_status", "usage", "tool_start", "tool_end", "limit_reached",
    "loop_detected",
    "user_question_start", "user_question_complete", "validation_required", "validation_response",
    "sub_agent_start", "sub_agent_progress", "sub_agent_complete", "sub_agent_error", "sub_agent_question",
    "sub_agent_answer",
})  # fmt: skip
"""Events that concern agents."""


class TeamState:
    """The agents of a workflow's turns, by run id, parents before their children."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._below: dict[str, list[str]] = {}

    def clear(self) -> None:
        self.members.clear()
        self._below.clear()

    def children(self, run_id: str) -> list[Member]:
        """The runs started by a run, by stage and planned order."""
        found = [self.members[child] for child in self._below.get(run_id, ())]
        return sorted(found, key=lambda member: member.stage) if len({member.stage for member in found}) > 1 else found

    def of_call(self, run_id: str, call_id: str) -> list[Member]:
        """The agents started by a call."""
        return [member for member in self.children(run_id) if member.parent_call_id == call_id]

    def walk(self, run_id: str) -> Iterator[Member]:
        """A member and its descendants, each before its children."""
        member = self.members.get(run_id)
        if member is not None:
            yield member
            for child in self.children(run_id):
                yield from self.walk(child.run_id)

    def path(self, run_id: str) -> list[Member]:
        """From the root to ``run_id``; empty if unknown."""
        found: list[Member] = []
        at: str | None = run_id
        while at is not None and (member := self.members.get(at)) is not None and member not in found:
            found.append(member)
            at = member.parent_run_id
        return found[::-1]

    def total(self, run_id: str, now: datetime) -> AgentUsage:
        """Usage of a run and its descendants."""
        total = AgentUsage()
        for each in self.walk(run_id):  # called on every change of any of them
            total.tokens_input += each.tokens_input
            total.tokens_output += each.tokens_output
            total.cost += each.cost
            total.tool_calls += each.tool_calls
            total.elapsed_ms += each.elapsed(now)
        if (member := self.members.get(run_id)) is not None:
            reported = member.usage_reported
            total.tokens_input = max(total.tokens_input, reported.tokens_input)
            total.tokens_output = max(total.tokens_output, reported.tokens_output)
            total.cost = max(total.cost, reported.cost)
        return total

    def lasted(self, run_id: str, now: datetime) -> float:
        """Milliseconds of its own work plus, for each call and stage, the longest of its sub-agents."""
        member = self.members.get(run_id)
        if member is None:
            return 0.0
        longest: dict[tuple[str, int], float] = {}
        for child in self.children(run_id):
            if not child.background:
                key = (child.parent_call_id, child.stage)
                longest[key] = max(longest.get(key, 0.0), self.lasted(child.run_id, now))
        return member.elapsed(now) + sum(longest.values())

    def shown(self, run_id: str, now: datetime) -> AgentUsage:
        """Figures of a row: tokens and cost including descendants, and its duration."""
        total = self.total(run_id, now)
        total.elapsed_ms = self.lasted(run_id, now)
        return total

    @property
    def counting(self) -> bool:
        """Whether any agent's time is running."""
        return any(member.counting_since is not None for member in self.members.values())

    def load(self, root: AgentNode) -> set[str]:
        """Apply the engine's tree; returns its runs."""
        loaded: set[str] = set()
        for node in root.walk():
            member = self._member(node.run_id, node.parent_run_id)
            member.name, member.title, member.status = node.name, node.title, node.status
            member.depth, member.stage, member.background = node.depth, node.stage, node.background
            member.parent_call_id, member.call_kind = node.parent_call_id, node.call_kind
            member.question = node.question if node.status == "awaiting_parent" else ""
            member.started_at, member.elapsed_ms, member.counting_since = (
                node.started_at,
                node.elapsed_ms,
                node.counting_since,
            )
            usage = node.usage
            member.tokens_input, member.tokens_output, member.cost = usage.tokens_input, usage.tokens_output, usage.cost
            member.tool_calls, member.budget, member.withheld = node.tool_calls, node.budget, node.withheld
            member.pause, member.report, member.error = node.pause, node.report or member.report, node.error
            if node.limit != member.limit or not member.cap:
                member.limit = node.limit
                member.value, member.cap = (node.limit_figures.get(name, 0.0) for name in ("value", "cap"))
            now = node.current_title or node.current_tool
            if not now:
                member.calls.clear()
            elif now not in member.calls.values():
                member.calls = {"": now}
            loaded.add(node.run_id)
        return loaded

    def feed(self, event: StreamEvent) -> set[str]:
        """Apply an event; returns the runs that look different now."""
        if not event.run_id or event.chunk_type not in _RELEVANT_EVENTS:
            return set()
        data = event.payload
        member = self.members.get(event.run_id)
        if member is None:
            member = self._member(event.run_id, event.parent_run_id)
            member.depth, member.started_at = event.depth, event.time
        member.name = event.agent_name or member.name
        if isinstance(data, payloads.SubAgent):
            return self._feed_child(member, data, event.time)
        self._feed(member, data, event.time)
        return {member.run_id}

    @staticmethod
    def _feed(member: Member, data: payloads.Payload, when: datetime) -> None:
        """Apply an event of a run about itself."""
        match data:
            case payloads.WorkflowComplete() | payloads.RunStatusChanged():
                member.receive_status(data.status, when)
            case payloads.UsageUpdated():
                # The engine's own total: the loaded tree may include this reply already.
                own = data.own or UsageTotals()
                member.tokens_input = max(member.tokens_input, own.tokens_input)
                member.tokens_output = max(member.tokens_output, own.tokens_output)
                member.cost = max(member.cost, own.cost or 0.0)
            case payloads.ToolStart():
                member.calls.pop("", None)
                member.tool_calls += data.call_id not in member.calls
                member.calls[data.call_id] = data.presentation.title or data.tool
                if data.presentation.summary.text:
                    member.call_texts[data.call_id] = data.presentation.summary
            case payloads.ToolEnd():
                member.calls.pop(data.call_id, None)
                member.calls.pop("", None)
                member.call_texts.pop(data.call_id, None)
            case payloads.LimitReached():
                member.pause, member.limit = "limit", data.reason
                member.value, member.cap = float(data.details.get("value") or 0), float(data.details.get("cap") or 0)
                member.left_over = {name: float(data.details.get(name) or 0) for name in ("needed", "left")}
            case payloads.LoopDetected(reason="pause"):
                member.pause = "loop"
            case payloads.UserQuestionStart():
                member.questions[data.user_question.question_id] = data.user_question.question
            case payloads.UserQuestionComplete():
                member.questions.pop(data.question_id, None)
            case payloads.ValidationRequired():
                member.approvals.add(data.validation_id)
            case payloads.ValidationResponse():
                member.approvals.discard(data.validation_id)

    def _feed_child(self, member: Member, data: payloads.SubAgent, when: datetime) -> set[str]:
        """Apply an event of a run about a sub-agent."""
        child = self._member(data.sub_agent_id, member.run_id)
        child.name = data.sub_agent_name or child.name
        match data:
            case payloads.SubAgentStart():
                child.title = child.title or " ".join(data.task_description.split())
                child.parent_call_id = data.call_id or child.parent_call_id
                child.call_kind = data.kind or child.call_kind
                child.stage = data.stage or child.stage
                child.background = data.background
                child.depth, child.started_at = member.depth + 1, child.started_at or when
                if child.status == "planned" or (child.status == COUNTING and child.counting_since is None):
                    child.set_status(COUNTING, when)
                return {member.run_id, child.run_id}
            case payloads.SubAgentProgress():
                child.usage_reported = AgentUsage(data.tokens_input, data.tokens_output, data.cost or 0.0)
                child.progress = child.progress if data.progress is None else data.progress
                now = data.current_title or data.current_tool
                if now and now not in child.calls.values():
                    child.calls[""] = now
            case payloads.SubAgentComplete():
                child.report = data.report or child.report
                child.error = data.error or child.error
                if not child.over:
                    child.set_status(data.status, when)
                child.progress = None
                return {member.run_id, child.run_id}
            case payloads.SubAgentQuestion():
                child.question = data.question
            case payloads.SubAgentAnswer():
                child.question = ""
        return {child.run_id}

    def _member(self, run_id: str, parent: str | None) -> Member:
        member = self.members.get(run_id)
        if member is None:
            member = self.members[run_id] = Member(run_id)
        if parent and member.parent_run_id is None:
            member.parent_run_id = parent
            self._below.setdefault(parent, []).append(run_id)
        return member
