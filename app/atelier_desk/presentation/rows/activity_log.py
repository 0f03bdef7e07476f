"""Data of the activity list: stream events folded into tool calls and notable events. No widgets.

Feeding an event twice (from a replay, then live) changes nothing: durable events are identified by their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.events.base_event import CallStatus
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.stream.payloads import Payload
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.presentation.call_failure_text import stopped_by_user
from atelier_desk.support.i18n import _

_WORDLESS = frozenset(
    {
        ChunkType.TOKEN,
        ChunkType.REASONING,
        ChunkType.USAGE,
        ChunkType.QUEUE,
        ChunkType.RUN_STATUS,
        ChunkType.SUB_AGENT_PROGRESS,
    }
)
"""Events that change figures but have no row."""
_ALONE = (TeamCall.SPAWN, TeamCall.DELEGATE)
"""Calls that start one sub-agent, for which their row stands."""


@dataclass(slots=True)
class LogEntry:
    """A tool call (with ``call_id``, start and end merged) or an event; ``data`` is exported and filtered.

    For calls, ``status`` is running, ok, error, or skipped, rejected or cancelled (by the user, no failure);
    ``presentation`` is the tool's description of the call.

    Attributes:
        text: an event's message, task, question or name.
        outcome: status of what an event ended or decided.
        reason, details: of a notice.
        by_user: a message of the user.
        about: the sub-agent's run that an event is about.
    """

    time: datetime
    kind: ChunkType
    agent_name: str = ""
    run_id: str = ""
    depth: int = 0
    call_id: str = ""
    tool: str = ""
    status: str = ""
    duration_ms: int | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    result: object = None
    error: str = ""
    progress: int | None = None
    data: dict[str, object] = field(default_factory=dict)
    text: str = ""
    outcome: str = ""
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    by_user: bool = False
    about: str = ""
    presentation: Presentation = field(default_factory=Presentation)
    repeats: bool = False
    """Another row stands for the same step: this one is listed only among the events."""

    @property
    def is_call(self) -> bool:
        return bool(self.call_id)

    def matches(self, words: str, group: str) -> bool:
        """Whether it belongs to ``group`` (all, calls, errors, events) and contains all the words, ignoring case."""
        failed = self.status == "error" or self.kind in {ChunkType.ERROR, ChunkType.SUB_AGENT_ERROR}
        fits = {"all": not self.repeats, "calls": self.is_call, "errors": failed, "events": not self.is_call}[group]
        if not fits or not words:
            return fits
        texts = [self.presentation.words(over=over).localized(_) for over in (False, True)]
        said = " ".join([_(self.presentation.title), *texts])
        text = (
            f"{said} {self.tool} {self.kind} {self.agent_name} {self.arguments} {self.result} {self.error} {self.data}"
        ).casefold()
        return all(word in text for word in words.casefold().split())

    def of_agent(self, run_id: str) -> bool:
        """Whether the run caused it, or it is about that run."""
        return run_id in (self.run_id, self.about)

    def as_json(self) -> dict[str, object]:
        """The entry for the JSON export, without empty fields."""
        row: dict[str, Any] = {
            "time": self.time.isoformat(),
            "kind": str(self.kind),
            "agent_name": self.agent_name,
            "run_id": self.run_id,
        }
        if self.is_call:
            row |= {"call_id": self.call_id, "tool": self.tool, "status": self.status, "arguments": self.arguments}
            row |= {"result": self.result, "error": self.error or None, "duration_ms": self.duration_ms}
        else:
            row |= self.data
        return {key: value for key, value in row.items() if value is not None}


class ActivityLog:
    """Entries of a workflow's current run and its sub-agents."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self._root = ""
        self._calls: dict[tuple[str, str], LogEntry] = {}
        self._seen: set[tuple[int, str, str]] = set()
        self._starts: dict[str, LogEntry] = {}
        """By run: its start, until its first message."""
        self._begun: dict[str, LogEntry] = {}
        """By run: the start of a sub-agent."""
        self._asked: dict[str, LogEntry] = {}
        """By id: questions."""
        self._approvals: dict[tuple[str, str], list[LogEntry]] = {}
        """By run and call: requests and decisions, until the call runs."""

    @property
    def root(self) -> str:
        """The root run whose activity is listed; empty for none."""
        return self._root

    def clear(self) -> None:
        """Remove all entries, for another workflow."""
        self._seen.clear()
        self._begin_turn("")

    def knows(self, event: StreamEvent) -> bool:
        """Whether this event was applied before."""
        return bool(event.durable and event.seq) and (event.seq, event.chunk_type, event.run_id) in self._seen

    def feed(self, event: StreamEvent) -> bool:
        """Apply an event; returns True if a row was added or changed."""
        if self.knows(event):
            return False
        if event.durable and event.seq:
            self._seen.add((event.seq, event.chunk_type, event.run_id))
        if event.chunk_type is ChunkType.WORKFLOW_START and event.parent_run_id is None and event.run_id != self._root:
            self._begin_turn(event.run_id)
        payload = event.payload if event.chunk_type not in _WORDLESS else None
        if isinstance(payload, payloads.ToolStart | payloads.ToolProgress | payloads.ToolEnd):
            return self._call(event, payload)
        if payload is None or (
            isinstance(payload, payloads.MessageAdded) and payload.role != "user" and not payload.content.strip()
        ):
            return False  # also a reply of nothing but tool calls, which have rows of their own
        entry = LogEntry(
            event.time,
            event.chunk_type,
            event.agent_name,
            event.run_id,
            event.depth,
            data=dict(event.data),
        )
        _describe(entry, payload)
        self._mark_repeats(entry, payload)
        self.entries.append(entry)
        return True

    def _mark_repeats(self, entry: LogEntry, payload: Payload) -> None:
        """Find out which of the rows so far and this one say the same: one of them stays, the most telling one."""
        run = entry.run_id
        match payload:
            case payloads.WorkflowStart():
                self._starts.setdefault(run, entry)
            case payloads.MessageAdded(role="user") if (start := self._starts.pop(run, None)) is not None:
                # The message stands for the start of a turn, the start of a sub-agent for the task it is given.
                (start if start.kind is ChunkType.WORKFLOW_START else entry).repeats = True
            case payloads.SubAgentStart() as said:
                self._starts[said.sub_agent_id] = self._begun[said.sub_agent_id] = entry
                entry.repeats = said.kind in _ALONE and (run, said.call_id) in self._calls
            case payloads.SubAgentComplete() as said if (start := self._begun.get(said.sub_agent_id)) is not None:
                call = self._calls.get((run, said.call_id))
                waits = start.repeats and call is not None and call.status == "running"
                entry.repeats = waits and not entry.error
                start.repeats = True
            case payloads.TaskNews():
                entry.repeats = any(key[0] == run and call.status == "running" for key, call in self._calls.items())
            case payloads.UserQuestionStart(user_question=question):
                self._asked[question.question_id] = entry
                entry.repeats = (run, question.call_id) in self._calls
            case payloads.UserQuestionComplete() as said:
                asked = self._asked.get(said.question_id)
                entry.repeats = asked is not None and asked.repeats
            case payloads.ValidationRequired() | payloads.ValidationResponse() as said:
                earlier = self._approvals.setdefault((run, said.call_id), [])
                for each in earlier:
                    each.repeats = True
                earlier.append(entry)
            case payloads.WorkflowComplete(status="completed") if self.entries:
                last = self.entries[-1]
                entry.repeats = last.run_id == run and last.kind is ChunkType.MESSAGE

    def _begin_turn(self, root: str) -> None:
        """A new root run: the pane shows only the current run."""
        self._root = root
        self.entries.clear()
        for known in (self._calls, self._starts, self._begun, self._asked, self._approvals):
            known.clear()

    def _call(self, event: StreamEvent, data: payloads.ToolStart | payloads.ToolProgress | payloads.ToolEnd) -> bool:
        key = (event.run_id, data.call_id)
        entry = self._calls.get(key)
        if entry is None:
            tool = "" if isinstance(data, payloads.ToolProgress) else data.tool
            entry = LogEntry(
                event.time,
                ChunkType.TOOL_START,
                event.agent_name,
                event.run_id,
                event.depth,
                data.call_id,
                tool,
                "running",
            )
            self._calls[key] = entry
            for asked in self._approvals.pop(key, ()):
                asked.repeats = True  # the row of the call tells that it was allowed, or rejected
            self.entries.append(entry)
        match data:
            case payloads.ToolStart():
                entry.arguments, entry.presentation = data.arguments, data.presentation
                facts = {"section": data.section, "effect": data.effect, "risk": data.risk, "server": data.server}
                entry.data = {name: value for name, value in facts.items() if value}
            case payloads.ToolProgress():
                entry.progress = data.progress
            case payloads.ToolEnd():
                code = data.result.get("code") if isinstance(data.result, dict) else ""
                if data.status == CallStatus.CANCELLED or stopped_by_user(data.result):
                    code = "cancelled"
                entry.status = (
                    "ok" if data.success else code if code in ("skipped", "rejected", "cancelled") else "error"
                )
                entry.result, entry.error, entry.duration_ms = data.result, data.error, data.duration_ms
        return True


def _describe(entry: LogEntry, payload: Payload) -> None:
    """Set what the row of an event says."""
    if isinstance(payload, payloads.SubAgent):
        entry.about, entry.text = payload.sub_agent_id, payload.sub_agent_name
    match payload:
        case payloads.MessageAdded():
            entry.text, entry.by_user = payload.content, payload.role == "user"
        case payloads.SubAgentAnswer() if payload.content:
            entry.text = payload.content
        case payloads.SubAgentError():
            entry.error, entry.outcome = payload.error, payload.status
        case payloads.TaskNews():
            entry.text = payload.task_name
        case payloads.UserQuestionStart():
            entry.text = payload.user_question.question
        case payloads.ValidationRequired():
            entry.tool, entry.presentation, entry.text = payload.tool, payload.presentation, payload.reason
        case payloads.UserQuestionComplete() | payloads.ValidationResponse() | payloads.WorkflowComplete():
            entry.outcome = payload.status
        case payloads.ContextChanged():
            entry.reason = payload.reason
        case payloads.Notice():
            entry.reason, entry.details = payload.reason, payload.details
        case payloads.Failure():
            entry.text, entry.error = payload.words, payload.message
