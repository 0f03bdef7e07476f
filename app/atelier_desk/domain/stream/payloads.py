"""The kinds of stream events, and what each says: one class for each ``chunk_type``, with its fields; docs/events.md lists them.

Who sends an event makes an object of its class, which mypy checks; ``said`` is what is sent. A field that an event leaves out has its
default here: nothing was said of it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ConfigDict, Field

from atelier_desk.domain.base import Model
from atelier_desk.domain.call import Presentation
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
    ERROR = "error"


def optional(default: object) -> Any:
    """A field that is sent only when it is not ``default``; every other one is sent always."""
    return Field(default=default, exclude_if=lambda value: value == default)


class Payload(Model):
    """Base of them all; a field that is not known here is left out, so that a newer engine can say more."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    by_chunk: ClassVar[dict[ChunkType, type[Payload]]] = {}
    chunk: ClassVar[ChunkType]

    def said(self) -> dict[str, Any]:
        """The fields as JSON values, as they are sent."""
        return self.model_dump(mode="json")

    def __init_subclass__(cls, chunk: ChunkType | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if chunk is not None:
            Payload.by_chunk[chunk] = cls
            cls.chunk = chunk


# -- turns and runs --------------------------------------------------------------------------------------------------------------------


class WorkflowStart(Payload, chunk=ChunkType.WORKFLOW_START):
    pass


class WorkflowComplete(Payload, chunk=ChunkType.WORKFLOW_COMPLETE):
    """``status`` completed, error, cancelled, abandoned, limited, waiting or interrupted; ``finish_reason`` when the reply is not whole;
    ``answer`` the object that a completed run answered with, of an agent whose answers have a schema, when it fits."""

    status: str = ""
    error: str = optional("")
    finish_reason: str = optional("")
    answer: dict[str, Any] | None = optional(None)


class RunStatusChanged(Payload, chunk=ChunkType.RUN_STATUS):
    """``status`` a ``RunStatus`` value; ``ended`` what cut an interrupted run off. An end that is told in the transcript has the
    ``message_id`` of its notice, and its words in ``content``."""

    status: str = ""
    ended: str = optional("")
    message_id: str = optional("")
    content: str = optional("")


class Failure(Payload, chunk=ChunkType.ERROR):
    """``message`` with, ``words`` without what a server said in its own words, the ``detail``; ``provider`` is that server."""

    code: str = ""
    message: str = ""
    words: str = optional("")
    detail: str = optional("")
    provider: str = optional("")
    recoverable: bool = True


# -- what is said ----------------------------------------------------------------------------------------------------------------------


class TextPayload(Payload):
    """A piece of the reply under way; an empty ``message_id``: of the run's only one."""

    content: str = ""
    message_id: str = ""


class Token(TextPayload, chunk=ChunkType.TOKEN):
    pass


class Reasoning(TextPayload, chunk=ChunkType.REASONING):
    """``all_before``: what came as the answer until now was thought, too."""

    all_before: bool = optional(False)


class Attachment(Payload):
    """A picture (``bytes``) or a text file (``name``, ``text``: what the model is given of it, of so many ``characters``).

    What a person attached has more: ``sha256``, by which the workflow has its bytes, and the facts of ``domain.attachment.Attachment``.
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
    """A whole message. ``strategy`` of a user's; the fields from ``finish_reason`` on of a reply."""

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
    """A message that waits its turn: its text, how many pictures and which files are with it."""

    message_id: str = ""
    content: str = ""
    images: int = 0
    files: tuple[str, ...] = ()


class QueueShown(Payload, chunk=ChunkType.QUEUE):
    """All messages of the workflow that wait until the turn before them is answered, the next one first."""

    messages: tuple[Waiting, ...] = ()


# -- tools and approvals ---------------------------------------------------------------------------------------------------------------


class CallPlace(Payload):
    """Which call of which reply: ``message_id`` and, from 0, its place among the calls of it."""

    call_id: str = ""
    message_id: str = optional("")
    index: int = 0


class ToolStart(CallPlace, chunk=ChunkType.TOOL_START):
    """``taint`` names what the call reads from outside."""

    tool: str = ""
    arguments: dict[str, Any] = {}
    section: str = ""
    effect: str = ""
    risk: str = ""
    presentation: Presentation = Presentation()
    server: str = optional("")
    via: str = optional("")
    taint: str = optional("")


class ToolProgress(Payload, chunk=ChunkType.TOOL_PROGRESS):
    """``progress`` in percent; ``content`` may hold the sequences of colours (ECMA-48, SGR) that a command printed, and no others."""

    call_id: str = ""
    progress: int = 0
    content: str = optional("")


class ToolEnd(Payload, chunk=ChunkType.TOOL_END):
    """``status`` a ``CallStatus`` value."""

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
    """An ``ApprovalRequest`` that waits; ``pending`` how many of the workflow do."""

    validation_id: str = ""
    type: str = ""
    tool: str = ""
    operation: str = ""
    risk_level: str = ""
    reason: str = ""
    arguments: dict[str, Any] = {}
    details: dict[str, Any] = {}
    effect: str = ""
    presentation: Presentation = Presentation()
    subjects: dict[str, Any] = {}
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


# -- sub-agents, told in their parent's events -----------------------------------------------------------------------------------------


class SubAgent(Payload):
    """``sub_agent_id`` is its run; ``call_id`` the call of the parent that started it."""

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
    """Tokens and cost with the reply under way, as in ``UsageTotals``; ``progress`` in percent, None when nobody knows.

    ``current_title``: the tool's name for people, an English ``N_`` text.
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


# -- tasks and questions ---------------------------------------------------------------------------------------------------------------


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
    """``answer``: what was chosen and written, in words."""

    question_id: str = ""
    status: str = "answered"
    answer: str = optional("")
    pending: int = 0


# -- figures and notices ---------------------------------------------------------------------------------------------------------------


class UsageTotals(Payload):
    """Tokens, and cost in US dollars; None when no price is known."""

    tokens_input: int = 0
    tokens_output: int = 0
    cost: float | None = 0.0


class UsageUpdated(UsageTotals, chunk=ChunkType.USAGE):
    """What one reply used, and the sums with it: of the run alone (``own``), with its sub-agents that are over (``run``), of the team and
    the workflow. ``message_id`` names the reply; what was used without a whole one has none."""

    message_id: str = optional("")
    context_tokens: int = 0
    context_window: int = 0
    estimated: bool = False
    own: UsageTotals | None = optional(None)
    run: UsageTotals | None = optional(None)
    team: UsageTotals | None = optional(None)
    workflow: UsageTotals | None = optional(None)


class ContextChanged(Payload, chunk=ChunkType.CONTEXT_CHANGED):
    """``reason`` pinned, unpinned or undone; ``message_id`` of the transcript's message that was pinned, when there is one."""

    reason: str = ""
    origin: str = ""
    message_id: str = optional("")


class Notice(Payload):
    """``reason`` which limit, way or cause; a notice with a ``message_id`` takes the place of the one before with that id."""

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
    """MCP servers of the agent give nothing, or not all; ``details`` has the ``problems``: ``server``, ``code``, ``detail``."""


class Retry(Notice, chunk=ChunkType.RETRY):
    pass


class RightsNarrowed(Notice, chunk=ChunkType.RIGHTS_NARROWED):
    """A person took something from the run; ``details``: ``denied`` and ``asked`` rules in their own words, ``folders``, ``untrusted``
    ones, and ``stricter`` when more is asked about by the permission level or the settings."""


class Nudge(Notice, chunk=ChunkType.NUDGE):
    """The agent had answered and was asked to go on; ``reason`` why."""


class Misfit(Notice, chunk=ChunkType.MISFIT):
    """The run's answer does not fit the agent's schema, and stands as it is; ``details`` has the ``problem``."""
