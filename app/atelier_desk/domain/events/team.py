"""Events of approvals and teams, and of what people change of a conversation's context."""

from __future__ import annotations

from typing import ClassVar, Literal

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import ApprovalRequest, Decision
from atelier_desk.domain.events.base import Event, LimitKind, Retention
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.permission import DecisionRecord
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.team import ChildPlan, ChildStatus, Spending, TeamCall

AnsweredBy = Literal["parent", "user", "engine"]
"""Who answered a sub-agent: the parent's model, the user in its place, or the engine for a parent that will not answer any more."""


class ApprovalRequested(Event):
    """A call must not run before a person says yes; ``grounds``: see ``ToolCallStarted``."""

    type: Literal["approval_requested"] = "approval_requested"
    retention: ClassVar[Retention] = Retention.CRITICAL
    approval: ApprovalRequest
    grounds: DecisionRecord | None = None


class ApprovalDecided(Event, Decision):
    """A person, or the time that ran out, decided about one call.

    Attributes:
        scope: ``run`` made ``rules`` for this run and sub-agents started later, ``always`` stored them.
        seen_ms: how long the card could be seen before.
    """

    type: Literal["approval_decided"] = "approval_decided"
    retention: ClassVar[Retention] = Retention.CRITICAL
    approval_id: str
    call_id: str
    seen_ms: int = 0


class ApprovalAskedAgain(Event):
    """Nobody decided in time, and the owner wants to be asked again: the time starts anew."""

    type: Literal["approval_asked_again"] = "approval_asked_again"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    approval_id: str
    call_id: str


class ChildrenPlanned(Event):
    """A call wants sub-agents. They start stage by stage; the call has its result when all are over, or at once in the background.

    ``stop_on_error``: after a stage with a failure the later ones are not run.
    """

    type: Literal["children_planned"] = "children_planned"
    call_id: str
    kind: TeamCall
    children: tuple[ChildPlan, ...]
    background: bool = False
    stop_on_error: bool = False


class ChildStarted(Event):
    """A planned sub-agent starts: committed together with the first events of its run. ``share`` is its part of the parent's budget."""

    type: Literal["child_started"] = "child_started"
    child_id: str
    share: Budget = Budget()


class ChildFinished(Event):
    """A sub-agent is over: committed together with the end of its run. ``spent`` counts everything below it, ``tainted`` is what it read
    from outside, ``sources`` are the pages of the web that its report rests on. ``duration_ms`` is its own time, from its start to its end;
    None where it never started."""

    type: Literal["child_finished"] = "child_finished"
    retention: ClassVar[Retention] = Retention.CRITICAL
    child_id: str
    status: ChildStatus
    report: str = ""
    error: str = ""
    spent: Spending = Spending()
    duration_ms: int | None = None
    tainted: tuple[str, ...] = ()
    sources: tuple[SourcePart, ...] = ()


class ChildAsked(Event):
    """A sub-agent waits for an answer of this run: committed together with its ``ParentAsked``."""

    type: Literal["child_asked"] = "child_asked"
    retention: ClassVar[Retention] = Retention.CRITICAL
    child_id: str
    message: str


class ChildAnswered(Event):
    """A sub-agent of this run got its answer, or its question was taken back."""

    type: Literal["child_answered"] = "child_answered"
    child_id: str
    text: str
    by: AnsweredBy = "parent"


class ChildrenJoined(Event):
    """A call waits for sub-agents that were started before."""

    type: Literal["children_joined"] = "children_joined"
    call_id: str
    kind: TeamCall
    child_ids: tuple[str, ...]


class ParentAsked(Event):
    """This run, a sub-agent, asked its parent; the call waits for the answer."""

    type: Literal["parent_asked"] = "parent_asked"
    retention: ClassVar[Retention] = Retention.CRITICAL
    call_id: str
    message: str


class ParentAnswered(Event):
    """The answer to ``ParentAsked``."""

    type: Literal["parent_answered"] = "parent_answered"
    retention: ClassVar[Retention] = Retention.CRITICAL
    call_id: str
    text: str
    by: AnsweredBy = "parent"


class LimitsRaised(Event):
    """The owner raised a sub-agent's caps: what was added to them is added to the caps above it."""

    type: Literal["limits_raised"] = "limits_raised"
    child_id: str
    raise_limits: dict[LimitKind, float]


class EntryPinned(Event):
    """A person pinned an entry of the conversation, or took the pin away: a pinned entry is never cut, summarised or left out.

    ``origin`` names the entry: the run and number of the event that made it, joined by a colon; empty for a message the model is not sent
    any more. ``message_id`` is the message of the transcript that shows it, empty when none does.
    """

    type: Literal["entry_pinned"] = "entry_pinned"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    origin: str
    pinned: bool = True
    message_id: str = ""


class TitleGenerated(Event):
    """A model was asked what the workflow is about. ``title`` is empty when it gave none that is fit; the request is paid for all the
    same."""

    type: Literal["title_written"] = "title_written"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    title: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class MemoryExtractionDone(Event):
    """A model was asked what of the turn is to be remembered; ``count`` facts were proposed. The request is paid for also without any."""

    type: Literal["memories_sought"] = "memories_sought"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    count: int = 0
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class PictureDescribed(Event):
    """A call had a model that sees look at a picture; what that used is the run's."""

    type: Literal["picture_described"] = "picture_described"
    call_id: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class MediaPaid(Event):
    """A call orders pictures or a 3D model. It is counted before the request is sent, so that a kill forgets nothing; a request that the
    service refused takes it back: ``usage.cost`` is below zero then. ``provider`` is the service."""

    type: Literal["media_paid"] = "media_paid"
    call_id: str
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()


class CompactionUndone(Event):
    """A person undid a compaction: what it cut or replaced is sent whole again. ``origin`` names the ``ContextCompacted`` event."""

    type: Literal["compaction_undone"] = "compaction_undone"
    retention: ClassVar[Retention] = Retention.DISPOSABLE
    origin: str
