"""Events of sub-agents: planned, started, ended, asking and answered, and raised limits."""

from __future__ import annotations

from typing import Literal

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.base_event import Event, LimitKind
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.sub_agent import ChildPlan, ChildStatus, Spending, TeamCall
from atelier_desk.support.i18n import N_

AnsweredBy = Literal["parent", "user", "engine"]
"""Who answered a sub-agent.

The parent's model, the user in its place, or the engine for a parent that cannot answer any more.
"""


class ChildrenPlanned(Event):
    """A call requests sub-agents. They start stage by stage; the call's result comes when all have ended, or at once in
    the background.

    ``stop_on_error``: skip later stages after a stage with a failure.
    """

    type: Literal["children_planned"] = "children_planned"
    label = N_("Sub-agents planned")
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
    label = N_("Sub-agent started")
    child_id: str
    share: Budget = Budget()


class ChildFinished(Event):
    """A sub-agent has ended: committed with the end of its run.

    ``spent`` includes everything below it, ``tainted`` its outside sources, ``sources`` the web pages its report is
    based on. ``duration_ms`` is the time from its start to its end; None if it never started.
    """

    type: Literal["child_finished"] = "child_finished"
    label = N_("Sub-agent ended")
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
    label = N_("Sub-agent question")
    child_id: str
    message: str


class ChildAnswered(Event):
    """A sub-agent of this run got its answer, or its question was withdrawn."""

    type: Literal["child_answered"] = "child_answered"
    label = N_("Sub-agent received an answer")
    child_id: str
    text: str
    by: AnsweredBy = "parent"


class ChildrenJoined(Event):
    """A call waits for sub-agents started earlier."""

    type: Literal["children_joined"] = "children_joined"
    label = N_("Waiting for sub-agents")
    call_id: str
    kind: TeamCall
    child_ids: tuple[str, ...]


class ParentAsked(Event):
    """This run, a sub-agent, asked its parent; the call waits for the answer."""

    type: Literal["parent_asked"] = "parent_asked"
    label = N_("Question for the parent agent")
    call_id: str
    message: str


class ParentAnswered(Event):
    """The answer to ``ParentAsked``."""

    type: Literal["parent_answered"] = "parent_answered"
    label = N_("Answer from the parent agent")
    call_id: str
    text: str
    by: AnsweredBy = "parent"


class LimitsRaised(Event):
    """The user raised a sub-agent's limits: the limits above it are raised by the same amount."""

    type: Literal["limits_raised"] = "limits_raised"
    label = N_("Limits raised")
    child_id: str
    raise_limits: dict[LimitKind, float]
