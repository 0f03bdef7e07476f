"""The state of a run: what folding its events gives. Immutable, no clock, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from app.domain.agent import AgentConfig
from app.domain.chat import ImagePart, ToolCall, Usage
from app.domain.events import LimitKind, LimitReached, PauseReason, Retention, ToolCallStarted, UserMessage
from app.domain.question import UserQuestion
from app.domain.workflow import RunMode, RunStatus
from app.policy.budget import Spent

NO_USAGE = Usage()


class EntryKind(StrEnum):
    USER = "user"
    REPLY = "reply"
    RESULT = "result"
    NOTE = "note"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the conversation as the model will see it.

    Attributes:
        seq: number of the event that made it; entries of earlier runs are numbered backwards from -1.
        cut: the text was shortened to make room.
    """

    seq: int
    kind: EntryKind
    text: str
    retention: Retention = Retention.COMPRESSIBLE
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""
    success: bool = True
    images: tuple[ImagePart, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class CallState:
    """A tool call of the newest reply: planned, started (its intent is committed), waiting for a person, or done."""

    call: ToolCall
    status: Literal["planned", "started", "waiting", "done"] = "planned"
    intent: ToolCallStarted | None = None
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TaskMark:
    """What the run must know of a task it made."""

    id: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class Ending:
    """The run is to end this way."""

    status: RunStatus
    summary: str = ""
    result: str = ""


@dataclass(frozen=True)
class RunState:
    """Everything a run is.

    Attributes:
        history: the conversation of the runs before this one, given when folding starts.
        entries: this run's own conversation.
        calls: the tool calls of the newest reply.
        queued: messages that wait for the current turn to end; ``silent`` ones wait for the next request and trigger none.
        needs_model: something was said that the model has not answered yet.
        final_only: the next reply is the last one and gets no tools (the owner chose to finish at a limit).
        iterations: model replies since the last user message.
        elapsed_ms: working time; waiting for a person does not count.
        recent: digests of the newest calls, for the loop guard; ``loop_warned`` those already warned about.
        window: tokens of the model's window as the server told it, None when it did not have to.
        overflows: requests the server refused as too long since the last reply.
        steps: steps that may still be taken in stepping mode, None for any number.
        failed: the model could not be reached; a resume tries again.
    """

    run_id: str
    workflow_id: str
    agent: AgentConfig
    agent_id: str = ""
    mode: RunMode = RunMode.AUTO
    language: str = "en"
    previous_run_id: str | None = None
    parent_run_id: str | None = None
    correlation_id: str = ""
    depth: int = 0
    started_at: datetime | None = None
    last_seq: int = 0
    last_time: datetime | None = None
    status: RunStatus = RunStatus.PROCESSING
    history: tuple[Entry, ...] = ()
    entries: tuple[Entry, ...] = ()
    calls: tuple[CallState, ...] = ()
    queued: tuple[UserMessage, ...] = ()
    silent: tuple[UserMessage, ...] = ()
    questions: tuple[UserQuestion, ...] = ()
    tasks: tuple[TaskMark, ...] = ()
    needs_model: bool = False
    final_only: bool = False
    iterations: int = 0
    tool_calls: int = 0
    usage: Usage = NO_USAGE
    elapsed_ms: int = 0
    raised: tuple[tuple[LimitKind, float], ...] = ()
    recent: tuple[str, ...] = ()
    loop_warned: frozenset[str] = frozenset()
    loop_checked: int = 0
    asked_done: bool = False
    dialect: str = ""
    window: int | None = None
    context_tokens: int = 0
    overflows: int = 0
    steps: int | None = None
    pause: PauseReason | None = None
    limit: LimitReached | None = None
    ending: Ending | None = None
    failed: bool = False
    message_id: str = ""
    summary: str = ""
    result: str = ""
    error: str = ""

    @property
    def conversation(self) -> tuple[Entry, ...]:
        """History and own entries, oldest first."""
        return self.history + self.entries

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        return tuple(call for call in self.calls if call.status != "done")

    @property
    def spent(self) -> Spent:
        return Spent(iterations=self.iterations, tool_calls=self.tool_calls, usage=self.usage, seconds=self.elapsed_ms / 1000)

    @property
    def raised_limits(self) -> dict[LimitKind, float]:
        return dict(self.raised)

    def call(self, call_id: str) -> CallState | None:
        """The call with this id in the newest reply."""
        return next((call for call in self.calls if call.call.id == call_id), None)


def user_entry(seq: int, message: UserMessage) -> Entry:
    """A message as the conversation has it."""
    return Entry(seq=seq, kind=EntryKind.USER, text=message.content, images=message.images, retention=Retention.CRITICAL)


def carried(state: RunState) -> tuple[Entry, ...]:
    """The conversation a following run inherits: the same entries, numbered backwards from -1, engine notes left out.

    Messages nobody answered before the run ended are part of it: they are in the transcript, so the model must know them.
    """
    kept = [entry for entry in state.conversation if entry.kind is not EntryKind.NOTE]
    kept += [user_entry(0, message) for message in (*state.silent, *state.queued)]
    size = len(kept)
    return tuple(
        Entry(
            seq=index - size,
            kind=entry.kind,
            text=entry.text,
            retention=entry.retention,
            reasoning="",
            calls=entry.calls,
            call_id=entry.call_id,
            tool=entry.tool,
            success=entry.success,
            images=entry.images,
            cut=entry.cut,
        )
        for index, entry in enumerate(kept)
    )
