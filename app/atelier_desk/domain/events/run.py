"""Events of runs: a discriminated union on ``type`` of all subclasses of ``Event`` in this package. A run is entirely
determined by its events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Union

from pydantic import ConfigDict, Field, TypeAdapter

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import Ancestor, ApprovalPolicy, ApprovalSettings
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.events.approvals import *  # noqa: F403
from atelier_desk.domain.events.base_event import *  # noqa: F403 - all events can be imported from here
from atelier_desk.domain.events.base_event import Ended, Event, LimitKind, PauseReason
from atelier_desk.domain.events.context_changes import *  # noqa: F403
from atelier_desk.domain.events.mcp_requests import *  # noqa: F403
from atelier_desk.domain.events.model_requests import *  # noqa: F403
from atelier_desk.domain.events.paid_side_requests import *  # noqa: F403
from atelier_desk.domain.events.sub_agents import *  # noqa: F403
from atelier_desk.domain.events.tool_calls_and_questions import *  # noqa: F403
from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.model_messages import ImagePart, TextFile, Usage
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.skill import Invocation, SkillFacts
from atelier_desk.domain.workflow import Dispatch, RunMode, RunStatus
from atelier_desk.support.i18n import N_

EVENT_SCHEMA = 1
"""Version of the stored event JSON; all released versions stay readable."""


class RunStarted(Event):
    """A run begins.

    Attributes:
        parent_call_id: for a sub-agent, the call that started it; ``title`` is its short task.
        lineage: the runs above a sub-agent, root first.
        max_depth: the depth at which no sub-agents can be started.
        trusted: folders of ``workspace`` that the person trusts.
        instructions: instruction files of trusted folders when the turn began.
        skills: available skills when the turn began.
        skills_withdrawn: folders of skills in the continued conversation that may no longer be used.
        attachments: texts attached to messages of a sub-agent's parent, which it may read; their ``text`` is empty.
        approvals: approval policy at the start; a sub-agent's is at least as strict as its parent's.
        tainted: outside sources read before, by the continued conversation or the starting team.
    """

    type: Literal["run_started"] = "run_started"
    label = N_("{name} started")
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
    """A message of a person.

    ``agent`` answers from this message on; None: the same as before. ``invoked``: what its ``/name`` calls. ``images``
    and ``files`` come from programs that send their own; a person's are in ``attachments``.
    """

    type: Literal["user_message"] = "user_message"
    label = N_("Message")
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
    """A person changed the queued messages.

    Attributes:
        order: ids of the queued messages, next one first; omitted ones were withdrawn.
        edited: new texts by id; ``invoked``: what those call.
    """

    type: Literal["queue_changed"] = "queue_changed"
    label = N_("Queued messages changed")
    order: tuple[str, ...]
    edited: dict[str, str] = {}
    invoked: dict[str, Invocation] = {}


class QueuedSent(Event):
    """A queued message is sent now: it interrupts the turn."""

    type: Literal["queued_sent"] = "queued_sent"
    label = N_("Queued message sent")
    message_id: str


class Injected(Event):
    """A message of the engine to the model: a warning, "are you done?", a note about an interruption."""

    type: Literal["injected"] = "injected"
    label = N_("Note to the model")
    reason: str
    content: str


class ContextCompacted(Event):
    """Older entries were cut or replaced so that the request fits.

    Attributes:
        method: ``cut_results`` (old tool results shortened), ``summary`` (by the model), ``digest`` (without it) or
            ``cut_message`` (one entry shortened to ``kept`` characters).
        dropped: sequence numbers of entries that are no longer sent in full.
        summary: their replacement.
        covers_history: the summary also replaces all earlier runs.
    """

    type: Literal["context_compacted"] = "context_compacted"
    label = N_("Older messages shortened")
    method: Literal["cut_results", "summary", "digest", "cut_message"]
    dropped: tuple[int, ...] = ()
    kept: int = 0
    summary: str = ""
    covers_history: bool = False
    tokens_before: int = 0
    tokens_after: int = 0
    usage: Usage = Usage()


class LimitReached(Event):
    """A limit was reached.

    ``needed``: tokens or US dollars that the next request may take, where ``left`` was insufficient; both 0 for other
    limits.
    """

    type: Literal["limit_reached"] = "limit_reached"
    label = N_("Limit reached")
    limit: LimitKind
    value: float
    cap: float
    needed: float = Field(default=0.0, exclude_if=lambda value: not value)
    left: float = Field(default=0.0, exclude_if=lambda value: not value)


class LoopDetected(Event):
    """The same call with the same arguments gave the same result ``count`` times."""

    type: Literal["loop_detected"] = "loop_detected"
    label = N_("Repetition detected")
    tool: str
    count: int
    action: Literal["warn", "pause"]
    digest: str = ""


class RunPaused(Event):
    """The run waits until somebody resumes it.

    Attributes:
        ended: for an interrupted run, what ended: the ``command`` that followed it (by a person); the ``program``;
            ``next_start``: the program, and its user wants the run continued at the window's next start; ``killed``:
            noticed by the next process, so its working time is unknown; or ``damaged``: rows that may restrict agents
            are damaged.
    """

    type: Literal["run_paused"] = "run_paused"
    label = N_("Paused")
    reason: PauseReason
    ended: Ended | None = None


class RunResumed(Event):
    """The run continues.

    ``raise_limits`` adds to the limits that stopped it (by ``LimitKind``); ``steps`` is the number of allowed steps,
    None: all.
    """

    type: Literal["run_resumed"] = "run_resumed"
    label = N_("Continued")
    raise_limits: dict[LimitKind, float] = {}
    mode: RunMode | None = None
    steps: int | None = None


class RightsNarrowed(Event):
    """A person withdrew rights during the run. It can only ever reduce what a run may do.

    Attributes:
        rules: new ones that deny or ask.
        withdrawn: ids of withdrawn allow rules.
        folders: withdrawn workspace folders.
        untrusted: folders no longer trusted: their instructions and skills are ignored, and count as outside content.
        skills_withdrawn: folders of skills that may no longer be used, as named in the run.
        mode, settings: stricter approval settings; ``settings`` without rules.
    """

    type: Literal["rights_narrowed"] = "rights_narrowed"
    label = N_("Permissions reduced")
    rules: tuple[PermissionRule, ...] = ()
    withdrawn: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()
    skills_withdrawn: tuple[str, ...] = ()
    mode: ApprovalMode | None = None
    settings: ApprovalSettings | None = None


class RunFailed(Event):
    """The model was unreachable or gave an invalid answer; the run is over unless a person retries, which resumes it.

    Attributes:
        message: what happened, including the server's message.
        words: without the server's message, which is ``detail``. Both empty: the message is complete.
        provider: the model server concerned; empty if none.
    """

    type: Literal["run_failed"] = "run_failed"
    label = N_("Failed")
    code: str
    message: str
    words: str = ""
    detail: str = ""
    provider: str = ""
    recoverable: bool = True


class RunFinished(Event):
    """The run is over. ``summary`` and ``result`` come from the agent, see ``handed_over``.

    ``misfit`` says why its answer does not match the agent's ``answer_schema``; empty if it does, or there is none.
    """

    type: Literal["run_finished"] = "run_finished"
    label = N_("{name} is done")
    status: RunStatus
    summary: str = ""
    result: str = ""
    error: str = ""
    misfit: str = ""


EVENT_TYPES = Event.__subclasses__()
if TYPE_CHECKING:
    EventBody = Event
else:
    EventBody = Annotated[Union[tuple(EVENT_TYPES)], Field(discriminator="type")]  # noqa: UP007 - of what was declared
LABELS: dict[str, str] = {kind.model_fields["type"].default: kind.label for kind in EVENT_TYPES}
"""By type of event."""


class RunEvent(Model):
    """An event with its envelope.

    Attributes:
        id: events of one commit differ only in the last four digits, which number them.
        seq: number in the run, from 1 without gaps; 0 for an event of the workflow without a run (``run_id`` empty).
        stream_from: number of its first durable stream event in the workflow, or of the next one if it has none;
            ordering by it and ``seq`` gives the workflow's events chronologically.
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
        """Identifies the commit."""
        return self.id[:-4]


def event_id(commit: str, index: int) -> str:
    """Return the id of event ``index`` (from 0) of a commit; the last four digits of ``commit`` are replaced."""
    return f"{commit[:-4]}{index % 0x10000:04x}"


event_body_adapter: TypeAdapter[EventBody] = TypeAdapter(EventBody, config=ConfigDict(defer_build=True))
