"""Events of approvals, teams, and people's changes of a conversation's context."""

from __future__ import annotations

from typing import ClassVar, Literal

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import ApprovalRequest, Decision
from atelier_desk.domain.events.base_event import Event, LimitKind
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.permission import DecisionRecord
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.team import ChildPlan, ChildStatus, Spending, TeamCall
from atelier_desk.support.i18n import N_

AnsweredBy = Literal["parent", "user", "engine"]
"""Who answered a sub-agent.

The parent's model, the user in its place, or the engine for a parent that cannot answer any more.
"""


class ApprovalRequested(Event):
    """A call must not run before a person approves; ``grounds``: see ``ToolCallStarted``."""

    type: Literal["approval_requested"] = "approval_requested"
    label: ClassVar[str] = N_("Approval requested")
    approval: ApprovalRequest
    grounds: DecisionRecord | None = None


class ApprovalDecided(Event, Decision):
    """A person, or the timeout, decided about one call.

    Attributes:
        scope: ``run`` applied ``rules`` to this run and later sub-agents, ``always`` stored them.
        seen_ms: how long the card was visible before.
    """

    type: Literal["approval_decided"] = "approval_decided"
    label: ClassVar[str] = N_("Approval decision")
    approval_id: str
    call_id: str
    seen_ms: int = 0


class ApprovalAskedAgain(Event):
    """Nobody decided in time, and the user wants to be asked again: the time restarts."""

    type: Literal["approval_asked_again"] = "approval_asked_again"
    label: ClassVar[str] = N_("Approval requested again")
    approval_id: str
    call_id: str


class ChildrenPlanned(Event):
    """A call requests sub-agents. They start stage by stage; the call's result comes when all have ended, or at once in
    the background.

    ``stop_on_error``: skip later stages after a stage with a failure.
    """

    type: Literal["children_planned"] = "children_planned"
    label: ClassVar[str] = N_("Sub-agents planned")
    call_id: str
    kind: TeamCall
    children: tuple[ChildPlan, ...]
    background: bool = False
    stop_on_error: bool = False


class ChildStarted(Event):
    """A planned sub-agent starts.

    Committed with the first events of its run. ``share`` is its part of the parent's budget.
    """

    type: Literal["child_started"] = "child_started"
    label: ClassVar[str] = N_("Sub-agent started")
    child_id: str
    share: Budget = Budget()


class ChildFinished(Event):
    """A sub-agent has ended: committed with the end of its run.

    ``spent`` includes everything below it, ``tainted`` its outside sources, ``sources`` the web pages its report is
    based on. ``duration_ms`` is the time from its start to its end; None if it never started.
    """

    type: Literal["child_finished"] = "child_finished"
    label: ClassVar[str] = N_("Sub-agent ended")
    child_id: str
    status: ChildStatus
    report: str = ""
    error: str = ""
    spent: Spending = Spending()
    duration_ms: int | None = None
    tainted: tuple[str, ...] = ()
    sources: tuple[SourcePart, ...] = ()


class ChildAsked(Event):
    """A sub-agent waits for an answer of this run: committed with its ``ParentAsked``."""

    type: Literal["child_asked"] = "child_asked"
    label: ClassVar[str] = N_("Sub-agent question")
    child_id: str
    message: str


class ChildAnswered(Event):
    """A sub-agent of this run got its answer, or its question was withdrawn."""

    type: Literal["child_answered"] = "child_answered"
    label: ClassVar[str] = N_("Sub-agent got its answer")
    child_id: str
    text: str
    by: AnsweredBy = "parent"


class ChildrenJoined(Event):
    """A call waits for sub-agents started earlier."""

    type: Literal["children_joined"] = "children_joined"
    label: ClassVar[str] = N_("Waiting for sub-agents")
    call_id: str
    kind: TeamCall
    child_ids: tuple[str, ...]


class ParentAsked(Event):
    """This run, a sub-agent, asked its parent; the call waits for the answer."""

    type: Literal["parent_asked"] = "parent_asked"
    label: ClassVar[str] = N_("Parent asked")
    call_id: str
    message: str


class ParentAnswered(Event):
    """The answer to ``ParentAsked``."""

    type: Literal["parent_answered"] = "parent_answered"
    label: ClassVar[str] = N_("Parent answered")
    call_id: str
    text: str
    by: AnsweredBy = "parent"


class LimitsRaised(Event):
    """The user raised a sub-agent's limits: the limits above it are raised by the same amount."""

    type: Literal["limits_raised"] = "limits_raised"
    label: ClassVar[str] = N_("Limits raised")
    child_id: str
    raise_limits: dict[LimitKind, float]


class EntryPinned(Event):
    """A person pinned or unpinned an entry of the conversation: a pinned entry is never cut, summarised or omitted.

    ``origin`` is the entry: run and number of its event, joined by a colon; empty for a message that is no longer sent
    to the model. ``message_id`` is the transcript message that shows it, empty if none does.
    """

    type: Literal["entry_pinned"] = "entry_pinned"
    label: ClassVar[str] = N_("Pin changed")
    origin: str
    pinned: bool = True
    message_id: str = ""


class TitleGenerated(Event):
    """A model was asked for the workflow's title.

    ``title`` is empty if it gave no usable one; the request costs the same.
    """

    type: Literal["title_written"] = "title_written"
    label: ClassVar[str] = N_("Title generated")
    title: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class MemoryExtractionDone(Event):
    """A model was asked what to remember of the turn.

    ``count`` facts were proposed. The request costs the same without any.
    """

    type: Literal["memories_sought"] = "memories_sought"
    label: ClassVar[str] = N_("Memory extraction requested")
    count: int = 0
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class PictureDescribed(Event):
    """A call asked a vision model about an image; its usage belongs to the run."""

    type: Literal["picture_described"] = "picture_described"
    label: ClassVar[str] = N_("Image described by a model")
    call_id: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class MediaPaid(Event):
    """A call ordered pictures, a 3D model or a web search.

    ``provider`` is the service; without a ``model`` the usage would be that of the run's model.
    Earlier versions counted before they sent, and took it back by a cost below zero when the service refused.
    """

    type: Literal["media_paid"] = "media_paid"
    label: ClassVar[str] = N_("Media request paid or refunded")
    call_id: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()


class RequestLost(Event):
    """A paid request was sent beside the run's own replies, and its result did not arrive or was not stored.

    The cost of ``usage`` is the most that it may be.
    """

    type: Literal["request_lost"] = "request_lost"
    label: ClassVar[str] = N_("Request without a result")
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class CompactionUndone(Event):
    """A person undid a compaction.

    What it cut or replaced is sent in full again. ``origin`` is the ``ContextCompacted`` event.
    """

    type: Literal["compaction_undone"] = "compaction_undone"
    label: ClassVar[str] = N_("Compaction undone")
    origin: str
