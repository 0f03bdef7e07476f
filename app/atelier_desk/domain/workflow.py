"""Workflows, their runs and transcript rows."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Choices
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.result_parts import ResultPart


class RunStatus(StrEnum):
    """State of a run. The first seven are alive (they may be resumed), the others are final."""

    PROCESSING = "processing"
    AWAITING_USER = "awaiting_user"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_CHILDREN = "awaiting_children"
    AWAITING_PARENT = "awaiting_parent"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    """The process that worked on it ended; ``resume`` continues it."""
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"

    @property
    def final(self) -> bool:
        return self in _FINAL

    @property
    def held(self) -> bool:
        """Whether it continues only when somebody resumes it."""
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
    """A workflow: a conversation with its tasks, memories and reports.

    Attributes:
        named_by: origin of its name. The model may only replace the words of the first message, and only a person may
            replace a person's name.
        collection: its folder in the list, empty for none.
        archived: listed in a separate section.
        unread: it ended unseen and was not opened since.
        head_run_id: the newest run of the displayed branch; older runs are found by ``Run.previous_run_id``.
        stream_seq: number of the last durable stream event, numbered from 1 without gaps.
        usage: totals over all runs, including sub-agents.
        choices: its overrides of the agent's configuration.
        draft, draft_attachments: typed and attached, but not sent.
        workspace: granted folders, absolute paths.
        tainted: outside sources that all its runs count as having read: for an imported one, the file.
        deleted_at: set while it can be restored; lists skip it.
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


class Dispatch(StrEnum):
    """What a message does that arrives during a run: wait, replace the step, stop the run, or be read later."""

    QUEUE = "queue"
    REDIRECT = "redirect"
    TERMINATE = "terminate"
    SILENT = "silent"


def handed_over(summary: str, result: str) -> str:
    """Return the Markdown answer of an agent that ends its run with a summary and a result, without repetition."""
    if not summary or summary.strip() in result:
        return result
    return summary if result.strip() in summary else f"{summary}\n\n{result}"


class Run(Model):
    """One turn of an agent, or a sub-agent's whole work: a row that summarises its journal.

    Attributes:
        previous_run_id: the previous turn of the conversation; runs with the same one are branches.
        parent_run_id: the run that spawned it, None for a root run; ``parent_call_id``: the spawning call.
        title: a sub-agent's task, in a few words.
        usage, tool_calls, elapsed_ms: its own, without sub-agents; ``elapsed_ms`` is working time.
        correlation_id: the root run's id.
        last_seq: number of its newest event.
        tainted: outside sources read by it, below it, or before it: the first few names.
        deleted_at: when a person deleted its branch; it is then hidden everywhere, and can be restored for a while.
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
        """Whether a person ended this turn although its events cannot be read: the conversation excludes it."""
        return self.status is RunStatus.CANCELLED and bool(self.error) and self.parent_run_id is None


class MessageRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    NOTICE = "notice"
    """A notice of the engine to the person or the model: a limit, a compaction, an interruption, an error."""


QUEUED = "queued"
"""Kind of a queued message, which is not part of the transcript yet."""


class Message(Model):
    """One row of a transcript.

    Attributes:
        seq: position in the workflow: the stream number of its event.
        kind: for assistant ``reply``, ``output`` (the output tool) or ``cut_off``; for notice the event's type; for
            user its dispatch strategy, or ``QUEUED``.
        call_ids: the tool calls of this reply, in order; their rows are ``ToolExecution``.
        details: data of a notice, for its card (for example limit, value, cap).
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
    """One tool call in the transcript and the activity pane.

    ``status``: running, ok, error, unknown, cancelled or timeout; ``taint``: the outside source it read.
    """

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
    arguments: dict[str, object] = {}
    result: Any = None
    parts: tuple[ResultPart, ...] = ()
    error: str = ""
    status: str = "running"
    truncated: bool = False
    duration_ms: int = 0
    iteration: int = 0
    started_at: Timestamp = Field(default_factory=utc_now)


class Report(Model):
    """A Markdown report: the text is a file in the data folder, this row its index entry.

    Attributes:
        size: bytes of the file.
        sha256: of the file's bytes, in hexadecimal digits; set when it is saved.
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
