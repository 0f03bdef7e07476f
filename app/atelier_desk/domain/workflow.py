"""Workflows, their runs and what a transcript shows of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Choices
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.call import Presentation
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.result_parts import ResultPart


class RunStatus(StrEnum):
    """State of a run. The first seven are alive (a resume may go on), the others are final."""

    PROCESSING = "processing"
    AWAITING_USER = "awaiting_user"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_CHILDREN = "awaiting_children"
    AWAITING_PARENT = "awaiting_parent"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    """What worked on it ended; ``resume`` goes on."""
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"

    @property
    def final(self) -> bool:
        return self in _FINAL

    @property
    def held(self) -> bool:
        """Whether it goes on only when somebody resumes it."""
        return self in (RunStatus.PAUSED, RunStatus.INTERRUPTED)


_FINAL = frozenset({RunStatus.COMPLETED, RunStatus.ERROR, RunStatus.CANCELLED, RunStatus.ABANDONED})


class WorkflowStatus(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    ERROR = "error"


class Workflow(Model):
    """A conversation with its tasks, memories and reports.

    Attributes:
        named_by: where its name comes from. The model replaces words of the first message alone, and nothing but a person what a person
            wrote.
        collection: the folder of the list it stands in, empty for none.
        archived: put away: the list shows it in a section of its own.
        unread: it ended out of sight and was not opened since.
        head_run_id: the newest run of the branch that is shown; older runs are found by ``Run.previous_run_id``.
        stream_seq: number of the last durable stream event; they are numbered from 1 without gaps.
        usage: totals over all runs, sub-agents counted.
        choices: the model and what else was chosen for it, in place of its agent's.
        draft, draft_attachments: what the person has typed and attached and not sent.
        workspace: the folders its agents may use, absolute paths the user granted.
        tainted: what all its runs count as having read from outside: for one that was imported, the file.
        deleted_at: set while an undo is still possible; lists leave such a workflow out.
    """

    id: str = Field(default_factory=new_id)
    name: str = Field(min_length=1, max_length=limits.WORKFLOW_NAME)
    named_by: Literal["", "words", "model", "person"] = ""
    agent_id: str = ""
    choices: Choices = Choices()
    status: WorkflowStatus = WorkflowStatus.IDLE
    head_run_id: str | None = None
    stream_seq: int = 0
    usage: Usage = Usage()
    context_tokens: int = 0
    pinned: bool = False
    archived: bool = False
    collection: str = Field(default="", max_length=limits.COLLECTION)
    unread: bool = False
    draft: str = ""
    draft_attachments: tuple[Attachment, ...] = ()
    workspace: tuple[str, ...] = ()
    tainted: tuple[str, ...] = ()
    pending_questions: int = 0
    pending_approvals: int = 0
    created_at: Timestamp = Field(default_factory=utc_now)
    updated_at: Timestamp = Field(default_factory=utc_now)
    deleted_at: Timestamp | None = None


class RunMode(StrEnum):
    AUTO = "auto"
    STEPPING = "stepping"


class Run(Model):
    """One turn of an agent, or a sub-agent's whole work: a row that sums up its journal.

    Attributes:
        previous_run_id: the turn before it in the conversation; several runs with the same one are branches.
        parent_run_id: the run that spawned it, None for a root run; ``parent_call_id`` is the call it did that with.
        title: what a sub-agent is to do, in a few words.
        usage, tool_calls, elapsed_ms: its own, without those below it; ``elapsed_ms`` is working time.
        correlation_id: the root run's id.
        last_seq: number of its newest event.
        tainted: what was read from outside by it, below it, or before it: the first few names.
        deleted_at: when a person deleted the branch it is on; such a run is shown and found nowhere, and can be brought back for a while.
    """

    id: str = Field(default_factory=new_id)
    workflow_id: str
    previous_run_id: str | None = None
    parent_run_id: str | None = None
    parent_call_id: str = ""
    title: str = ""
    correlation_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    depth: int = 0
    mode: RunMode = RunMode.AUTO
    status: RunStatus = RunStatus.PROCESSING
    usage: Usage = Usage()
    tool_calls: int = 0
    elapsed_ms: int = 0
    last_seq: int = 0
    tainted: tuple[str, ...] = ()
    error: str = ""
    created_at: Timestamp = Field(default_factory=utc_now)
    updated_at: Timestamp = Field(default_factory=utc_now)
    deleted_at: Timestamp | None = None

    @property
    def unread(self) -> bool:
        """Whether a person ended this turn although its events cannot be read: nothing of it is in the conversation."""
        return self.status is RunStatus.CANCELLED and bool(self.error) and self.parent_run_id is None


class MessageRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    NOTICE = "notice"
    """Something the engine tells the person or the model: a limit, a compaction, an interruption, an error."""


QUEUED = "queued"
"""The kind of a message that waits its turn: no part of the transcript yet."""


class Message(Model):
    """One row of a transcript.

    Attributes:
        seq: place in the workflow: the stream number of the event that made it.
        kind: for assistant ``reply``, ``output`` (the output tool) or ``cut_off``; for notice the event's type; for user its
            dispatch strategy, or ``QUEUED``.
        call_ids: the tool calls this reply made, in order; their rows are ``ToolExecution``.
        details: what a notice is about, for its card (for example limit, value, cap).
    """

    id: str = Field(default_factory=new_id)
    workflow_id: str
    run_id: str
    seq: int
    role: MessageRole
    kind: str = ""
    content: str = ""
    reasoning: str = ""
    reasoning_ms: int = 0
    call_ids: tuple[str, ...] = ()
    agent_name: str = ""
    model: str = ""
    provider: str = ""
    usage: Usage | None = None
    duration_ms: int = 0
    details: dict[str, Any] = {}
    pinned: bool = False
    created_at: Timestamp = Field(default_factory=utc_now)


class ToolExecution(Model):
    """One tool call as the transcript and the activity pane show it. ``status`` running, ok, error, unknown, cancelled or timeout;
    ``taint`` names what it read from outside."""

    id: str
    """Run id and call id joined by a colon."""
    workflow_id: str
    run_id: str
    call_id: str
    message_id: str = ""
    agent_name: str = ""
    tool: str
    server: str = ""
    section: str = ""
    effect: str = ""
    risk: str = ""
    presentation: Presentation = Presentation()
    taint: str = ""
    arguments: dict[str, Any] = {}
    result: Any = None
    parts: tuple[ResultPart, ...] = ()
    error: str = ""
    status: str = "running"
    truncated: bool = False
    duration_ms: int = 0
    iteration: int = 0
    started_at: Timestamp = Field(default_factory=utc_now)


class Report(Model):
    """A Markdown report: the text is a file under the data folder, this row its index entry.

    Attributes:
        size: bytes of the file.
        sha256: of the file's bytes, in hexadecimal digits; filled in when it is saved.
    """

    id: str = Field(default_factory=new_id)
    workflow_id: str
    run_id: str = ""
    name: str = Field(min_length=1, max_length=limits.REPORT_NAME)
    size: int = 0
    sha256: str = ""
    author: str = ""
    created_at: Timestamp = Field(default_factory=utc_now)
    updated_at: Timestamp = Field(default_factory=utc_now)
