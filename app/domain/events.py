"""The journal's events: a discriminated union on ``type``. A run is the fold of its events, nothing else.

Every event has a retention class that says what compaction may do with the conversation entry it made: critical entries stay, compressible
ones may be summarised, disposable ones may be cut first.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter

from app.domain import limits
from app.domain.agent import AgentConfig, Budget
from app.domain.approval import AllowRule, Ancestor, ApprovalPolicy, ApprovalRequest, ApprovalScope, ApprovalStatus
from app.domain.base import Model, Timestamp, new_id, utc_now
from app.domain.chat import ChatReply, ImagePart, Usage
from app.domain.question import QuestionStatus, UserQuestion
from app.domain.task import Task
from app.domain.team import ChildPlan, ChildStatus, Spending, TeamCall
from app.domain.workflow import RunMode, RunStatus

EVENT_SCHEMA = 1
"""Version of the stored event JSON; every released version stays readable."""


class Retention(StrEnum):
    CRITICAL = "critical"
    COMPRESSIBLE = "compressible"
    DISPOSABLE = "disposable"


class Dispatch(StrEnum):
    """What a message does that arrives while the run works: wait its turn, stop the current step, stop the run, or only be read later."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"
    TERMINATE = "terminate"
    SILENT = "silent"


class LimitKind(StrEnum):
    ITERATIONS = "iterations"
    TOOL_CALLS = "tool_calls"
    TOKENS = "tokens"
    COST = "cost"
    TIME = "time"


class PauseReason(StrEnum):
    USER = "user"
    LIMIT = "limit"
    LOOP = "loop"
    STEP = "step"


class CallStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    """The program died during the call; the effect is unknown."""
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


class _Event(Model):
    retention: ClassVar[Retention] = Retention.COMPRESSIBLE


class RunStarted(_Event):
    """A run begins.

    Attributes:
        parent_call_id: for a sub-agent, the call of its parent that started it; ``title`` says in a few words what it is to do.
        lineage: the runs above a sub-agent, the root first.
        max_depth: the depth at which no sub-agents can be started.
        approvals: which calls need a person's yes, as the settings were when the run started; a sub-agent's are at least as strict as its
            parent's.
    """

    type: Literal["run_started"] = "run_started"
    retention: ClassVar[Retention] = Retention.CRITICAL
    agent_id: str = ""
    agent: AgentConfig
    mode: RunMode = RunMode.AUTO
    previous_run_id: str | None = None
    parent_run_id: str | None = None
    correlation_id: str = ""
    depth: int = 0
    parent_call_id: str = ""
    title: str = ""
    lineage: tuple[Ancestor, ...] = ()
    max_depth: int = limits.DEPTH
    approvals: ApprovalPolicy = ApprovalPolicy()
    language: str = "en"
    workspace: tuple[str, ...] = ()


class UserMessage(_Event):
    type: Literal["user_message"] = "user_message"
    retention: ClassVar[Retention] = Retention.CRITICAL
    message_id: str = Field(default_factory=new_id)
    content: str
    images: tuple[ImagePart, ...] = ()
    strategy: Dispatch = Dispatch.QUEUE


class ModelReplied(_Event):
    """A whole reply was received. ``cost`` is in ``reply.usage``; a server that does not count gets an estimate.

    ``frame`` names the system message and the tool definitions that were sent (see ``PromptFrame``); ``with_tools`` is false for a last
    answer without tools. ``based_on`` is the number of the run's newest event when the request was made; 0: the one before this.
    """

    type: Literal["model_replied"] = "model_replied"
    message_id: str = Field(default_factory=new_id)
    reply: ChatReply
    provider: str = ""
    dialect: str = "native"
    frame: str = ""
    with_tools: bool = True
    based_on: int = 0
    usage: Usage = Usage()
    context_tokens: int = 0
    context_window: int = 0
    duration_ms: int = 0
    reasoning_ms: int = 0


class ReplyInterrupted(_Event):
    """A reply that was cut off by a stop, an interrupting message or a kill; it is shown, and not sent to the model again."""

    type: Literal["reply_interrupted"] = "reply_interrupted"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    message_id: str = Field(default_factory=new_id)
    content: str = ""
    reasoning: str = ""
    reason: str = "stopped"


class ModelRetried(_Event):
    type: Literal["model_retried"] = "model_retried"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    attempt: int
    delay_s: float
    reason: str
    again: bool = False
    """The whole request is sent again (a sub-agent's, after its provider gave up); else the provider tries by itself."""


class ToolCallStarted(_Event):
    """The intent: committed before the tool runs.

    ``tool`` is what runs, ``via`` the control tool that named it.
    """

    type: Literal["tool_call_started"] = "tool_call_started"
    call_id: str
    tool: str
    arguments: dict[str, Any] = {}
    via: str = ""
    server: str = ""
    section: str = ""
    effect: str = "read"
    risk: str = "low"
    idempotent: bool = False


class ToolCallFinished(_Event):
    """The result, as JSON for the journal and as text for the model.

    ``end`` ends the run (task_complete, task_abandon).
    """

    type: Literal["tool_call_finished"] = "tool_call_finished"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    call_id: str
    tool: str
    status: CallStatus = CallStatus.OK
    result: Any = None
    text: str = ""
    error: str = ""
    code: str = ""
    duration_ms: int = 0
    truncated: bool = False
    end: Literal["completed", "abandoned"] | None = None
    end_summary: str = ""


class OutputShown(_Event):
    """The ``output`` tool showed something to the user."""

    type: Literal["output_shown"] = "output_shown"
    message_id: str = Field(default_factory=new_id)
    call_id: str
    content: str
    output_type: Literal["message", "report", "result", "progress"] = "message"


class TaskChanged(_Event):
    """A task was created, changed, completed or deleted, by a tool or by a person."""

    type: Literal["task_changed"] = "task_changed"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    action: Literal["create", "update", "complete", "delete"]
    task: Task


class QuestionAsked(_Event):
    type: Literal["question_asked"] = "question_asked"
    retention: ClassVar[Retention] = Retention.CRITICAL
    question: UserQuestion


class QuestionAnswered(_Event):
    """A person answered or skipped, or the time ran out; becomes the waiting call's result."""

    type: Literal["question_answered"] = "question_answered"
    retention: ClassVar[Retention] = Retention.CRITICAL
    question_id: str
    call_id: str
    status: QuestionStatus
    selected_options: tuple[str, ...] = ()
    text_response: str = ""


class Injected(_Event):
    """Something the engine says to the model: a warning, "are you done?", a note about an interruption."""

    type: Literal["injected"] = "injected"
    reason: str
    content: str


class ContextCompacted(_Event):
    """Older entries were cut or replaced so that the request fits.

    Attributes:
        method: ``cut_results`` (old tool output shortened), ``summary`` (by the model), ``digest`` (without it) or ``cut_message`` (one
            entry shortened to ``kept`` characters).
        dropped: sequence numbers of the entries that are no longer sent whole.
        summary: what stands in their place.
        covers_history: the summary also stands for all earlier runs.
    """

    type: Literal["context_compacted"] = "context_compacted"
    retention: ClassVar[Retention] = Retention.CRITICAL
    method: Literal["cut_results", "summary", "digest", "cut_message"]
    dropped: tuple[int, ...] = ()
    kept: int = 0
    summary: str = ""
    covers_history: bool = False
    tokens_before: int = 0
    tokens_after: int = 0
    usage: Usage = Usage()


class WindowLearned(_Event):
    """The server said that its window is smaller than was thought; requests are built for ``context_window`` tokens from here on."""

    type: Literal["window_learned"] = "window_learned"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    context_window: int


class ApprovalRequested(_Event):
    """A call must not run before a person says yes."""

    type: Literal["approval_requested"] = "approval_requested"
    retention: ClassVar[Retention] = Retention.CRITICAL
    approval: ApprovalRequest


class ApprovalDecided(_Event):
    """A person, or the time that ran out, decided about one call.

    Attributes:
        arguments: what the call runs with instead of the model's own arguments; None leaves them.
        scope: ``run`` covers the same tool in this run and in sub-agents started later, ``always`` made ``rule``.
        note: why it was rejected, in words for the agent.
        seen_ms: how long the card could be seen before.
    """

    type: Literal["approval_decided"] = "approval_decided"
    retention: ClassVar[Retention] = Retention.CRITICAL
    approval_id: str
    call_id: str
    status: ApprovalStatus
    arguments: dict[str, Any] | None = None
    scope: ApprovalScope = ApprovalScope.ONCE
    rule: AllowRule | None = None
    note: str = ""
    decided_by: str = "user"
    seen_ms: int = 0


class ApprovalAskedAgain(_Event):
    """Nobody decided in time, and the owner wants to be asked again: the time starts anew."""

    type: Literal["approval_asked_again"] = "approval_asked_again"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    approval_id: str
    call_id: str


class ChildrenPlanned(_Event):
    """A call wants sub-agents. They start stage by stage; the call has its result when all are over, or at once in the background.

    ``stop_on_error``: after a stage with a failure the later ones are not run.
    """

    type: Literal["children_planned"] = "children_planned"
    call_id: str
    kind: TeamCall
    children: tuple[ChildPlan, ...]
    background: bool = False
    stop_on_error: bool = False


class ChildStarted(_Event):
    """A planned sub-agent starts: committed together with the first events of its run. ``share`` is its part of the parent's budget."""

    type: Literal["child_started"] = "child_started"
    child_id: str
    share: Budget = Budget()


class ChildFinished(_Event):
    """A sub-agent is over: committed together with the end of its run. ``spent`` counts everything below it."""

    type: Literal["child_finished"] = "child_finished"
    retention: ClassVar[Retention] = Retention.CRITICAL
    child_id: str
    status: ChildStatus
    report: str = ""
    error: str = ""
    spent: Spending = Spending()
    duration_ms: int = 0


class ChildAsked(_Event):
    """A sub-agent waits for an answer of this run: committed together with its ``ParentAsked``."""

    type: Literal["child_asked"] = "child_asked"
    retention: ClassVar[Retention] = Retention.CRITICAL
    child_id: str
    message: str


class ChildAnswered(_Event):
    """A sub-agent of this run got its answer; ``by`` is ``parent`` or ``user``."""

    type: Literal["child_answered"] = "child_answered"
    child_id: str
    text: str
    by: Literal["parent", "user", "engine"] = "parent"


class ChildrenJoined(_Event):
    """A call waits for sub-agents that were started before."""

    type: Literal["children_joined"] = "children_joined"
    call_id: str
    kind: TeamCall
    child_ids: tuple[str, ...]


class ParentAsked(_Event):
    """This run, a sub-agent, asked its parent; the call waits for the answer."""

    type: Literal["parent_asked"] = "parent_asked"
    retention: ClassVar[Retention] = Retention.CRITICAL
    call_id: str
    message: str


class ParentAnswered(_Event):
    """The answer to ``ParentAsked``, of the parent's model or of the user."""

    type: Literal["parent_answered"] = "parent_answered"
    retention: ClassVar[Retention] = Retention.CRITICAL
    call_id: str
    text: str
    by: Literal["parent", "user", "engine"] = "parent"


class LimitsRaised(_Event):
    """The owner raised a sub-agent's caps: what was added to them is added to the caps above it."""

    type: Literal["limits_raised"] = "limits_raised"
    child_id: str
    raise_limits: dict[LimitKind, float]


class EntryPinned(_Event):
    """A person pinned an entry of the conversation, or took the pin away: a pinned entry is never cut, summarised or left out.

    ``origin`` names the entry: the run and number of the event that made it, joined by a colon.
    """

    type: Literal["entry_pinned"] = "entry_pinned"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    origin: str
    pinned: bool = True


class CompactionUndone(_Event):
    """A person undid a compaction: what it cut or replaced is sent whole again. ``origin`` names the ``ContextCompacted`` event."""

    type: Literal["compaction_undone"] = "compaction_undone"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    origin: str


class LimitReached(_Event):
    type: Literal["limit_reached"] = "limit_reached"
    limit: LimitKind
    value: float
    cap: float


class LoopDetected(_Event):
    """The same call with the same arguments gave the same result ``count`` times."""

    type: Literal["loop_detected"] = "loop_detected"
    tool: str
    count: int
    action: Literal["warn", "pause"]
    digest: str = ""


class RunPaused(_Event):
    type: Literal["run_paused"] = "run_paused"
    reason: PauseReason


class RunResumed(_Event):
    """The run goes on. ``raise_limits`` adds to the caps that stopped it (by ``LimitKind``); ``steps`` allows that many steps, None all."""

    type: Literal["run_resumed"] = "run_resumed"
    raise_limits: dict[LimitKind, float] = {}
    mode: RunMode | None = None
    steps: int | None = None


class RunFailed(_Event):
    """The model could not be reached or answered nonsense; the run is over unless a person retries, which resumes it."""

    type: Literal["run_failed"] = "run_failed"
    code: str
    message: str
    recoverable: bool = True


class RunFinished(_Event):
    type: Literal["run_finished"] = "run_finished"
    retention: ClassVar[Retention] = Retention.CRITICAL
    status: RunStatus
    summary: str = ""
    result: str = ""
    error: str = ""


EventBody = Annotated[
    RunStarted
    | UserMessage
    | ModelReplied
    | ReplyInterrupted
    | ModelRetried
    | ToolCallStarted
    | ToolCallFinished
    | OutputShown
    | TaskChanged
    | QuestionAsked
    | QuestionAnswered
    | Injected
    | ApprovalRequested
    | ApprovalDecided
    | ApprovalAskedAgain
    | ChildrenPlanned
    | ChildStarted
    | ChildFinished
    | ChildAsked
    | ChildAnswered
    | ChildrenJoined
    | ParentAsked
    | ParentAnswered
    | LimitsRaised
    | EntryPinned
    | CompactionUndone
    | ContextCompacted
    | WindowLearned
    | LimitReached
    | LoopDetected
    | RunPaused
    | RunResumed
    | RunFailed
    | RunFinished,
    Field(discriminator="type"),
]


class RunEvent(Model):
    """An event with its envelope.

    Attributes:
        id: the events of one commit share all but the last four digits, which number them.
        seq: number in the run, from 1 without gaps; 0 for an event that belongs to the workflow and to no run (``run_id`` empty).
        stream_from: number of its first durable stream event in the workflow; one that makes none carries the number of the next one,
            so that ordering by it and by ``seq`` gives the workflow's events as they happened.
    """

    id: str = Field(default_factory=new_id)
    v: int = EVENT_SCHEMA
    workflow_id: str
    run_id: str = ""
    seq: int = 0
    stream_from: int = 0
    time: Timestamp = Field(default_factory=utc_now)
    body: EventBody

    @property
    def commit(self) -> str:
        """Names the commit it was written in."""
        return self.id[:-4]


def event_id(commit: str, index: int) -> str:
    """The id of the event ``index`` (from 0) of a commit; ``commit`` is an id of which the last four digits are not used."""
    return f"{commit[:-4]}{index % 0x10000:04x}"


event_body_adapter: TypeAdapter[EventBody] = TypeAdapter(EventBody)
