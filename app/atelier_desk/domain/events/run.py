"""The journal's events: a discriminated union on ``type``. A run is the fold of its events, nothing else.

Every event has a retention class that says what compaction may do with the conversation entry it made: critical entries stay, compressible
ones may be summarised, disposable ones may be cut first.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ApprovalMode, SearchScope
from atelier_desk.domain.approval import Ancestor, ApprovalPolicy, ApprovalSettings
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.call import Presentation, Subjects
from atelier_desk.domain.events.base import CallStatus, Dispatch, Ended, Event, LimitKind, PauseReason, Retention
from atelier_desk.domain.events.server import InputRequired, InputSent, SampledForServer, ServersLacking
from atelier_desk.domain.events.team import (
    ApprovalAskedAgain,
    ApprovalDecided,
    ApprovalRequested,
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildrenJoined,
    ChildrenPlanned,
    ChildStarted,
    CompactionUndone,
    EntryPinned,
    LimitsRaised,
    MediaPaid,
    MemoryExtractionDone,
    ParentAnswered,
    ParentAsked,
    PictureDescribed,
    TitleGenerated,
)
from atelier_desk.domain.instructions import FolderInstructions
from atelier_desk.domain.model_messages import ChatReply, ImagePart, TextFile, Usage
from atelier_desk.domain.permission import DecisionRecord, PermissionRule, Verdict
from atelier_desk.domain.question import QuestionStatus, UserQuestion
from atelier_desk.domain.result_parts import ResultPart
from atelier_desk.domain.skill import Invocation, SkillFacts, SkillUse
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import RunMode, RunStatus

__all__ = [
    "EVENT_SCHEMA",
    "ApprovalAskedAgain",
    "ApprovalDecided",
    "ApprovalRequested",
    "CallStatus",
    "ChildAnswered",
    "ChildAsked",
    "ChildFinished",
    "ChildStarted",
    "ChildrenJoined",
    "ChildrenPlanned",
    "CompactionUndone",
    "ContextCompacted",
    "Dispatch",
    "Ended",
    "EntryPinned",
    "EventBody",
    "ImagesRejected",
    "Injected",
    "InputRequired",
    "InputSent",
    "LimitKind",
    "LimitReached",
    "LimitsRaised",
    "LoopDetected",
    "MediaPaid",
    "MemoryExtractionDone",
    "ModelReplied",
    "ModelRetried",
    "OutputShown",
    "ParentAnswered",
    "ParentAsked",
    "PauseReason",
    "PictureDescribed",
    "QuestionAnswered",
    "QuestionAsked",
    "QueueChanged",
    "QueuedSent",
    "ReplyCutOff",
    "Retention",
    "RightsNarrowed",
    "RunEvent",
    "RunFailed",
    "RunFinished",
    "RunPaused",
    "RunResumed",
    "RunStarted",
    "SampledForServer",
    "ServersLacking",
    "TaskChanged",
    "TitleGenerated",
    "ToolCallFinished",
    "ToolCallStarted",
    "ToolsRefused",
    "UserMessage",
    "WindowLearned",
    "event_body_adapter",
    "event_id",
]

EVENT_SCHEMA = 1
"""Version of the stored event JSON; every released version stays readable."""


class RunStarted(Event):
    """A run begins.

    Attributes:
        parent_call_id: for a sub-agent, the call of its parent that started it; ``title`` says in a few words what it is to do.
        lineage: the runs above a sub-agent, the root first.
        max_depth: the depth at which no sub-agents can be started.
        trusted: those of the ``workspace`` folders that the person trusts.
        instructions: what the trusted folders say to agents, as it was when the turn began.
        skills: the skills there were when the turn began.
        skills_withdrawn: folders of skills in the conversation it goes on with, which may be used no more.
        attachments: texts that went with the messages of a sub-agent's parent, which it may read; their ``text`` is empty.
        approvals: which calls need a person's yes, as the settings were when the run started; a sub-agent's are at least as strict as its
            parent's.
        tainted: what was read from outside before: by the conversation it goes on with, or by the team it is started by.
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
    trusted: tuple[str, ...] = ()
    instructions: tuple[FolderInstructions, ...] = ()
    skills: tuple[SkillFacts, ...] = ()
    skills_withdrawn: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    tainted: tuple[str, ...] = ()


class UserMessage(Event):
    """Something a person says. ``agent`` answers from this message on; None: who answers already. ``invoked``: what its ``/name`` calls.

    ``images`` and ``files`` are those of a program that sends its own; what a person attached is in ``attachments``.
    """

    type: Literal["user_message"] = "user_message"
    retention: ClassVar[Retention] = Retention.CRITICAL
    message_id: str = Field(default_factory=new_id)
    content: str
    images: tuple[ImagePart, ...] = ()
    files: tuple[TextFile, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    invoked: Invocation | None = None
    strategy: Dispatch = Dispatch.QUEUE
    agent: AgentConfig | None = None
    agent_id: str = ""


class QueueChanged(Event):
    """A person changed what waits for the turn to end.

    Attributes:
        order: ids of the messages that still wait, the next one first; one that waited and is not named was taken back.
        edited: new texts by id; ``invoked`` what those call.
    """

    type: Literal["queue_changed"] = "queue_changed"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    order: tuple[str, ...]
    edited: dict[str, str] = {}
    invoked: dict[str, Invocation] = {}


class QueuedSent(Event):
    """A message that waited is sent now: it interrupts the turn."""

    type: Literal["queued_sent"] = "queued_sent"
    retention: ClassVar[Retention] = Retention.CRITICAL
    message_id: str


class ModelReplied(Event):
    """A whole reply was received. ``cost`` is in ``reply.usage``; a server that does not count gets an estimate.

    ``frame`` names the system message and the tool definitions that were sent (see ``PromptFrame``); ``with_tools`` is false for a last
    answer without tools, ``with_images`` for a model that got no pictures of tools; ``blind`` is true for one that is known to see none, so
    that words stood in place of those a person attached. ``based_on`` is the number of the run's newest event when the request was made;
    0: the one before this. ``searched_tools`` is how many tools were searched for instead of being listed, because their definitions would
    have taken ``searched_tokens``; 0 when all were listed. ``search_scope`` says which those were; a journal that does not say it is of a
    time when they were the tools of MCP servers.
    """

    type: Literal["model_replied"] = "model_replied"
    message_id: str = Field(default_factory=new_id)
    reply: ChatReply
    provider: str = ""
    dialect: str = "native"
    frame: str = ""
    with_tools: bool = True
    with_images: bool = True
    blind: bool = False
    based_on: int = 0
    searched_tools: int = 0
    searched_tokens: int = 0
    search_scope: SearchScope = SearchScope.SERVERS
    usage: Usage = Usage()
    context_tokens: int = 0
    context_window: int = 0
    max_tokens: int | None = None
    """Tokens the reply was allowed to have: what the run's caps had room for, at most the agent's own limit."""
    duration_ms: int = 0
    reasoning_ms: int = 0


class ReplyCutOff(Event):
    """A reply that was cut off by a stop, a message that redirects, an error or a kill; it is shown, and not sent to the model again.

    ``usage`` is estimated: the request, and what was received of the reply. Servers tell their counts at the end alone.
    """

    type: Literal["reply_cut_off"] = "reply_cut_off"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    message_id: str = Field(default_factory=new_id)
    content: str = ""
    reasoning: str = ""
    reason: str = "stopped"
    usage: Usage = Usage()


class ModelRetried(Event):
    type: Literal["model_retried"] = "model_retried"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    attempt: int
    delay_s: float
    reason: str
    again: bool = False
    """The whole request is sent again: a sub-agent's after its provider gave up, or any after the connection dropped in the middle of the
    reply. Else the provider tries by itself."""


class ToolsRefused(Event):
    """The server takes no tool definitions; from here on the run's calls are written as text. ``reason`` is what the server said."""

    type: Literal["tools_refused"] = "tools_refused"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    reason: str


class ImagesRejected(Event):
    """The model takes no pictures; from here on words stand in their place. ``reason`` is what the server said.

    Attributes:
        entries: the entries whose pictures alone are left out, for a server that may take others: for good, if it then accepts the
            request. Empty: no picture is sent any more.
        names: of those pictures, for a person.
    """

    type: Literal["pictures_refused"] = "pictures_refused"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    reason: str
    entries: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


class ToolCallStarted(Event):
    """The intent: committed before the tool runs.

    ``tool`` is what runs, ``via`` the control tool that named it; ``verdict`` what was decided about it (None: a call that
    nothing is decided about) and ``grounds`` what that rests on (None: decided by a version that kept none), ``taint`` what it reads from
    outside: a host, a server, a path, a command (empty: nothing), the rest what the tool said of it.
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
    subjects: Subjects = Subjects()
    presentation: Presentation = Presentation()
    verdict: Verdict | None = None
    grounds: DecisionRecord | None = None
    taint: str = ""


class ToolCallFinished(Event):
    """The result, as JSON for the journal and as text for the model.

    Attributes:
        end: the tool ended the run.
        parts: texts, pictures, kept files and changes of files.
        state: what the tool's later calls in this run find as their state; None leaves it.
        skill: the skill whose instructions this result is.
        state_of: the name of a state that several tools share: ``state`` is put into what is there. Empty: the tool's own, replaced.
        tainted: what came in from outside with the result, where that showed only then.
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
    parts: tuple[ResultPart, ...] = ()
    state: dict[str, Any] | None = None
    state_of: str = ""
    skill: SkillUse | None = None
    tainted: tuple[str, ...] = ()
    end: Literal["completed", "abandoned"] | None = None
    end_summary: str = ""


class OutputShown(Event):
    """The ``output`` tool showed something to the user; ``result`` and ``report`` of a sub-agent are handed to its parent with its report.

    ``report`` is the name under which the text was stored, empty when it was not.
    """

    type: Literal["output_shown"] = "output_shown"
    message_id: str = Field(default_factory=new_id)
    call_id: str
    content: str
    output_type: Literal["message", "report", "result", "progress"] = "message"
    report: str = ""


class TaskChanged(Event):
    """A task was created, changed, completed or deleted, by a tool or by a person.

    ``task`` is the whole task, ``fields`` names what changed of it; None: all of it (it is new, or gone).
    """

    type: Literal["task_changed"] = "task_changed"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    action: Literal["create", "update", "complete", "delete"]
    task: Task
    fields: tuple[str, ...] | None = None


class QuestionAsked(Event):
    type: Literal["question_asked"] = "question_asked"
    retention: ClassVar[Retention] = Retention.CRITICAL
    question: UserQuestion


class QuestionAnswered(Event):
    """A person answered or skipped, or the time ran out; becomes the waiting call's result."""

    type: Literal["question_answered"] = "question_answered"
    retention: ClassVar[Retention] = Retention.CRITICAL
    question_id: str
    call_id: str
    status: QuestionStatus
    selected_options: tuple[str, ...] = ()
    text_response: str = ""


class Injected(Event):
    """Something the engine says to the model: a warning, "are you done?", a note about an interruption."""

    type: Literal["injected"] = "injected"
    reason: str
    content: str


class ContextCompacted(Event):
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


class WindowLearned(Event):
    """The server said that its window is smaller than was thought; requests are built for ``context_window`` tokens from here on."""

    type: Literal["window_learned"] = "window_learned"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    context_window: int


class LimitReached(Event):
    """``needed``: US dollars that the next request may cost, where ``left`` was not enough for it; both 0 for other caps."""

    type: Literal["limit_reached"] = "limit_reached"
    limit: LimitKind
    value: float
    cap: float
    needed: float = Field(default=0.0, exclude_if=lambda value: not value)
    left: float = Field(default=0.0, exclude_if=lambda value: not value)


class LoopDetected(Event):
    """The same call with the same arguments gave the same result ``count`` times."""

    type: Literal["loop_detected"] = "loop_detected"
    tool: str
    count: int
    action: Literal["warn", "pause"]
    digest: str = ""


class RunPaused(Event):
    """The run is held until somebody lets it go on.

    Attributes:
        ended: for an interrupted run, what ended: the ``command`` that followed it (a person ended it), the ``program``, also as
            ``next_start``: its person wants the run continued at the next start of the window, ``killed``: found
            by the next process, so that nobody knows how long it worked; or ``damaged``: rows that may forbid something are.
    """

    type: Literal["run_paused"] = "run_paused"
    reason: PauseReason
    ended: Ended | None = None


class RunResumed(Event):
    """The run goes on. ``raise_limits`` adds to the caps that stopped it (by ``LimitKind``); ``steps`` allows that many steps, None all."""

    type: Literal["run_resumed"] = "run_resumed"
    raise_limits: dict[LimitKind, float] = {}
    mode: RunMode | None = None
    steps: int | None = None


class RightsNarrowed(Event):
    """A person took something from agents while the run was not over. Whatever it says, a run may do less after it, never more.

    Attributes:
        rules: new ones that forbid or ask.
        withdrawn: ids of rules that allowed something and stand no longer.
        folders: those of the workspace that were taken away.
        untrusted: those that the person trusts no more: their instructions and skills count no longer, and were read from outside.
        skills_withdrawn: the folders of skills that may be used no more, as the run names them.
        mode, settings: what is asked about from now on, where that is more; ``settings`` without rules.
    """

    type: Literal["rights_narrowed"] = "rights_narrowed"
    retention: ClassVar[Retention] = Retention.CRITICAL
    rules: tuple[PermissionRule, ...] = ()
    withdrawn: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()
    skills_withdrawn: tuple[str, ...] = ()
    mode: ApprovalMode | None = None
    settings: ApprovalSettings | None = None


class RunFailed(Event):
    """The model could not be reached or answered nonsense; the run is over unless a person retries, which resumes it.

    Attributes:
        message: what happened, with what a server said in its own words.
        words: the same without those; ``detail`` is what they are. Both empty: the message says it all.
        provider: the model server it came from; empty when it came from none.
    """

    type: Literal["run_failed"] = "run_failed"
    code: str
    message: str
    words: str = ""
    detail: str = ""
    provider: str = ""
    recoverable: bool = True


def handed_over(summary: str, result: str) -> str:
    """The answer of an agent that ends its run with a summary and a result, as Markdown; neither is said twice."""
    if not summary or summary.strip() in result:
        return result
    return summary if result.strip() in summary else f"{summary}\n\n{result}"


class RunFinished(Event):
    """The run is over. ``summary`` and ``result`` are what the agent handed over with its end, see ``handed_over``.

    ``misfit`` says why its answer does not fit the agent's ``answer_schema``; empty when it does, or there is none.
    """

    type: Literal["run_finished"] = "run_finished"
    retention: ClassVar[Retention] = Retention.CRITICAL
    status: RunStatus
    summary: str = ""
    result: str = ""
    error: str = ""
    misfit: str = ""


EventBody = Annotated[
    RunStarted
    | UserMessage
    | QueueChanged
    | QueuedSent
    | ModelReplied
    | ReplyCutOff
    | ModelRetried
    | ToolsRefused
    | ImagesRejected
    | ToolCallStarted
    | ToolCallFinished
    | OutputShown
    | TaskChanged
    | QuestionAsked
    | QuestionAnswered
    | InputRequired
    | InputSent
    | SampledForServer
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
    | TitleGenerated
    | MemoryExtractionDone
    | PictureDescribed
    | MediaPaid
    | CompactionUndone
    | ContextCompacted
    | WindowLearned
    | LimitReached
    | LoopDetected
    | RightsNarrowed
    | ServersLacking
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


event_body_adapter: TypeAdapter[EventBody] = TypeAdapter(EventBody, config=ConfigDict(defer_build=True))
