"""Kinds of stream events: one class per ``chunk_type`` with its fields; docs/events.md lists them.

Senders create an object of the class, which mypy checks; ``json_fields`` returns what is sent. Fields that an event may
omit have their default here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ConfigDict, Field

from atelier_desk.domain.base_model import Model
from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.result_parts import ResultPart


class ChunkType(StrEnum):
    WORKFLOW_START = "workflow_start"
    WORKFLOW_COMPLETE = "workflow_complete"
    RUN_STATUS = "run_status"
    TOKEN = "token"  # noqa: S105 - a kind of chunk, not a secret
    REASONING = "reasoning"
    MESSAGE = "message"
    QUEUE = "queue"
    TOOL_START = "tool_start"
    TOOL_PROGRESS = "tool_progress"
    TOOL_END = "tool_end"
    SUB_AGENT_START = "sub_agent_start"
    SUB_AGENT_PROGRESS = "sub_agent_progress"
    SUB_AGENT_COMPLETE = "sub_agent_complete"
    SUB_AGENT_ERROR = "sub_agent_error"
    SUB_AGENT_QUESTION = "sub_agent_question"
    SUB_AGENT_ANSWER = "sub_agent_answer"
    VALIDATION_REQUIRED = "validation_required"
    VALIDATION_RESPONSE = "validation_response"
    CONTEXT_CHANGED = "context_changed"
    TASK_CREATE = "task_create"
    TASK_UPDATE = "task_update"
    TASK_COMPLETE = "task_complete"
    TASK_DELETE = "task_delete"
    USER_QUESTION_START = "user_question_start"
    USER_QUESTION_COMPLETE = "user_question_complete"
    USAGE = "usage"
    CONTEXT_COMPACTED = "context_compacted"
    LIMIT_REACHED = "limit_reached"
    LOOP_DETECTED = "loop_detected"
    SERVERS_LACKING = "servers_lacking"
    RETRY = "retry"
    NUDGE = "nudge"
    RIGHTS_NARROWED = "rights_narrowed"
    MISFIT = "misfit"
    NOTICE = "notice"
    ERROR = "error"


def optional(default: object) -> Any:
    """Return a field that is sent only if it is not ``default``; all others are always sent."""
    return Field(default=default, exclude_if=lambda value: value == default)


class Payload(Model):
    """Base of all payloads; unknown fields are ignored, so that newer engines can add some."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    by_chunk: ClassVar[dict[ChunkType, type[Payload]]] = {}
    chunk: ClassVar[ChunkType]

    def json_fields(self) -> dict[str, object]:
        """The fields as JSON values, as sent."""
        return self.model_dump(mode="json")

    def __init_subclass__(cls, chunk: ChunkType | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if chunk is not None:
            Payload.by_chunk[chunk] = cls
            cls.chunk = chunk


class WorkflowStart(Payload, chunk=ChunkType.WORKFLOW_START):
    pass


class WorkflowComplete(Payload, chunk=ChunkType.WORKFLOW_COMPLETE):
    """The team has ended.

    ``status``: completed, error, cancelled, abandoned, limited, waiting or interrupted; ``finish_reason``: set if the
    reply is incomplete; ``answer``: the object of a completed run whose agent has an answer schema, if it is valid.
    """

    status: str = ""
    error: str = optional("")
    finish_reason: str = optional("")
    answer: dict[str, object] | None = optional(None)


class RunStatusChanged(Payload, chunk=ChunkType.RUN_STATUS):
    """The status of a run changed.

    ``status``: a ``RunStatus`` value; ``ended``: what interrupted a run. An end shown in the transcript has the
    ``message_id`` of its notice, and its text in ``content``.
    """

    status: str = ""
    ended: str = optional("")
    message_id: str = optional("")
    content: str = optional("")


class Failure(Payload, chunk=ChunkType.ERROR):
    """``message`` includes, ``words`` omits the server's own message, which is ``detail``.

    ``provider`` is that server; ``model`` of ``model_provider`` was asked.
    """

    code: str = ""
    message: str = ""
    words: str = optional("")
    detail: str = optional("")
    provider: str = optional("")
    model_provider: str = optional("")
    model: str = optional("")
    recoverable: bool = True


class TextPayload(Payload):
    """Part of the reply in progress; an empty ``message_id`` means the only reply of the run."""

    content: str = ""
    message_id: str = ""


class Token(TextPayload, chunk=ChunkType.TOKEN):
    pass


class Reasoning(TextPayload, chunk=ChunkType.REASONING):
    """``all_before``: everything sent as the answer so far was reasoning, too."""

    all_before: bool = optional(False)


class Attachment(Payload):
    """An image or a text file.

    An image has ``bytes``; a text file ``name`` and ``text``, the part given to the model, of ``characters`` in all. A
    person's attachment also has ``sha256``, which locates its bytes, and the fields of
    ``domain.attachment.Attachment``.
    """

    media_type: str = ""
    bytes: int = optional(0)
    name: str = optional("")
    text: str | None = optional(None)
    source: str = optional("")
    path: str = optional("")
    sha256: str = optional("")
    width: int = optional(0)
    height: int = optional(0)
    pages: int = optional(0)
    text_sha256: str = optional("")
    text_size: int = optional(0)
    characters: int = optional(0)


class MessageAdded(Payload, chunk=ChunkType.MESSAGE):
    """A complete message. ``strategy`` is for a user's; the fields from ``finish_reason`` on are for a reply."""

    message_id: str = ""
    role: str = ""
    content: str = ""
    strategy: str = optional("")
    images: int = optional(0)
    attachments: tuple[Attachment, ...] = optional(())
    finish_reason: str = optional("")
    reasoning: str = optional("")
    reasoning_ms: int = optional(0)
    model: str = optional("")
    provider: str = optional("")
    cut_off: bool = optional(False)
    output_type: str = optional("")


class Waiting(Payload):
    """A queued message: its text, number of images, and names of files."""

    message_id: str = ""
    content: str = ""
    images: int = 0
    files: tuple[str, ...] = ()


class QueueShown(Payload, chunk=ChunkType.QUEUE):
    """All queued messages of the workflow, which wait until the preceding turn is answered; next one first."""

    messages: tuple[Waiting, ...] = ()


class CallPlace(Payload):
    """Position of a call: ``message_id`` of the reply, and its index among the reply's calls, from 0."""

    call_id: str = ""
    message_id: str = optional("")
    index: int = 0


class ToolStart(CallPlace, chunk=ChunkType.TOOL_START):
    """``taint``: outside source that the call reads."""

    tool: str = ""
    arguments: dict[str, object] = {}
    section: str = ""
    effect: str = ""
    risk: str = ""
    presentation: Presentation = Presentation()
    server: str = optional("")
    via: str = optional("")
    taint: str = optional("")


class ToolProgress(Payload, chunk=ChunkType.TOOL_PROGRESS):
    """``progress`` in percent.

    ``content`` may contain the colour sequences (ECMA-48, SGR) of a command's output, and no others.
    """

    call_id: str = ""
    progress: int = 0
    content: str = optional("")


class ToolEnd(Payload, chunk=ChunkType.TOOL_END):
    """``status``: a ``CallStatus`` value."""

    call_id: str = ""
    tool: str = ""
    success: bool = False
    status: str = ""
    result: Any = None
    duration_ms: int = 0
    truncated: bool = False
    error: str = optional("")
    parts: tuple[ResultPart, ...] = optional(())


class ValidationRequired(CallPlace, chunk=ChunkType.VALIDATION_REQUIRED):
    """A pending ``ApprovalRequest``; ``pending``: number of pending ones in the workflow."""

    validation_id: str = ""
    type: str = ""
    tool: str = ""
    operation: str = ""
    risk_level: str = ""
    reason: str = ""
    arguments: dict[str, object] = {}
    details: dict[str, object] = {}
    effect: str = ""
    presentation: Presentation = Presentation()
    subjects: dict[str, object] = {}
    lineage: tuple[dict[str, str], ...] = ()
    timeout_s: float = 0.0
    round: int = 0
    pending: int = 0


class ValidationResponse(Payload, chunk=ChunkType.VALIDATION_RESPONSE):
    validation_id: str = ""
    call_id: str = ""
    status: str = ""
    decided_by: str = ""
    edited: bool = False
    scope: str = ""
    pending: int = 0
    note: str = optional("")


class SubAgent(Payload):
    """``sub_agent_id`` is its run; ``call_id``: the call of the parent that started it."""

    sub_agent_id: str = ""
    sub_agent_name: str = ""
    call_id: str = optional("")
    task_description: str = optional("")


class SubAgentStart(SubAgent, chunk=ChunkType.SUB_AGENT_START):
    kind: str = ""
    stage: int = 0
    background: bool = False
    withheld: tuple[str, ...] = optional(())


class SubAgentProgress(SubAgent, chunk=ChunkType.SUB_AGENT_PROGRESS):
    """Tokens and cost including the reply in progress, as in ``UsageTotals``.

    ``progress`` in percent, None if unknown. ``current_title``: the tool's display name, an English ``N_`` text.
    """

    tokens_input: int = 0
    tokens_output: int = 0
    cost: float | None = 0.0
    current_tool: str = optional("")
    current_title: str = optional("")
    progress: int | None = optional(None)


class SubAgentComplete(SubAgent, chunk=ChunkType.SUB_AGENT_COMPLETE):
    status: str = "completed"
    report: str = ""
    metrics: dict[str, Any] = {}
    error: str = optional("")


class SubAgentError(SubAgentComplete, chunk=ChunkType.SUB_AGENT_ERROR):
    status: str = "error"


class SubAgentQuestion(SubAgent, chunk=ChunkType.SUB_AGENT_QUESTION):
    question: str = ""


class SubAgentAnswer(SubAgent, chunk=ChunkType.SUB_AGENT_ANSWER):
    """``by``: who answered, the parent or a person in its place."""

    content: str = ""
    by: str = ""


class TaskNews(Payload):
    task_id: str = ""
    task_name: str = ""
    task_status: str = ""
    task_priority: int = 0


class TaskCreate(TaskNews, chunk=ChunkType.TASK_CREATE):
    pass


class TaskUpdate(TaskNews, chunk=ChunkType.TASK_UPDATE):
    pass


class TaskComplete(TaskNews, chunk=ChunkType.TASK_COMPLETE):
    pass


class TaskDelete(TaskNews, chunk=ChunkType.TASK_DELETE):
    pass


class AskedQuestion(Payload):
    question_id: str = ""
    call_id: str = ""
    question: str = ""
    question_type: str = ""
    text_required: bool = False
    options: tuple[dict[str, str], ...] = optional(())
    text_placeholder: str = optional("")
    context: str = optional("")
    agent_name: str = ""
    lineage: tuple[dict[str, str], ...] = ()


class UserQuestionStart(Payload, chunk=ChunkType.USER_QUESTION_START):
    user_question: AskedQuestion = AskedQuestion()
    pending: int = 0


class UserQuestionComplete(Payload, chunk=ChunkType.USER_QUESTION_COMPLETE):
    """``answer``: choices and text, in words."""

    question_id: str = ""
    status: str = "answered"
    answer: str = optional("")
    pending: int = 0


class UsageTotals(Payload):
    """Tokens, and cost in US dollars; None if no price is known."""

    tokens_input: int = 0
    tokens_output: int = 0
    cost: float | None = 0.0


class UsageUpdated(UsageTotals, chunk=ChunkType.USAGE):
    """Usage of one reply, and totals including it.

    Of the run only (``own``), with its ended sub-agents (``run``), of the team and the workflow. ``message_id`` is the
    reply; usage without a complete reply has none.
    """

    message_id: str = optional("")
    context_tokens: int = 0
    context_window: int = 0
    estimated: bool = False
    own: UsageTotals | None = optional(None)
    run: UsageTotals | None = optional(None)
    team: UsageTotals | None = optional(None)
    workflow: UsageTotals | None = optional(None)


class ContextChanged(Payload, chunk=ChunkType.CONTEXT_CHANGED):
    """A person changed the context of the conversation.

    ``reason``: pinned, unpinned or undone; ``message_id``: the transcript message that was pinned, if there is one.
    """

    reason: str = ""
    origin: str = ""
    message_id: str = optional("")


class Notice(Payload):
    """``reason``: the limit, method or cause; a notice with a ``message_id`` replaces the previous one with that id."""

    reason: str = ""
    details: dict[str, Any] = {}
    message_id: str = optional("")


class ContextCompacted(Notice, chunk=ChunkType.CONTEXT_COMPACTED):
    pass


class LimitReached(Notice, chunk=ChunkType.LIMIT_REACHED):
    pass


class LoopDetected(Notice, chunk=ChunkType.LOOP_DETECTED):
    pass


class ServersLacking(Notice, chunk=ChunkType.SERVERS_LACKING):
    """MCP servers of the agent provide nothing, or not everything.

    ``details`` contains ``problems``: ``server``, ``code``, ``detail``.
    """


class Retry(Notice, chunk=ChunkType.RETRY):
    pass


class RightsNarrowed(Notice, chunk=ChunkType.RIGHTS_NARROWED):
    """A person withdrew rights of the run.

    ``details``: ``denied`` and ``asked`` rules as written, ``folders``, ``untrusted`` folders, and ``stricter`` if the
    permission level or settings now ask more.
    """


class TextNotice(Notice, chunk=ChunkType.NOTICE):
    """A notice with its own text.

    ``details``: ``icon``, ``warning`` (it is a problem), ``title`` and ``text``: English ``N_`` texts whose
    ``{placeholders}`` are in ``values``.
    """


class Nudge(Notice, chunk=ChunkType.NUDGE):
    """The agent had answered and was asked to continue; ``reason``: why."""


class Misfit(Notice, chunk=ChunkType.MISFIT):
    """The run's answer does not match the agent's schema, and is kept; ``details`` contains the ``problem``."""
