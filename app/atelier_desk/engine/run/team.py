"""Sub-agents in their parent's state. Pure functions the reducer and ``next_step`` share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.run import (
    ChildFinished,
    ChildrenJoined,
    ChildrenPlanned,
    ChildStarted,
    LimitKind,
    LimitsRaised,
    RunEvent,
    ToolCallFinished,
)
from atelier_desk.domain.team import ChildState, ChildStatus, TeamCall
from atelier_desk.engine.run.reducer.evolve import evolve
from atelier_desk.engine.run.reducer.state import CallState, RunState
from atelier_desk.policy.budget import FIELDS
from atelier_desk.policy.permissions import taint

CHILD_ASKS = "child_asks"
"""Reason of the note that tells the model of sub-agents which wait for its answer."""
CHILD_REPORTS = "child_reports"
"""Reason of the note with the reports of sub-agents that worked in the background."""


def with_child(state: RunState, child_id: str, **changes: object) -> RunState:
    """The state with one sub-agent changed; one that is over stays as it ended."""
    children = tuple(
        child.model_copy(update=changes) if child.id == child_id and not child.status.over else child for child in state.children
    )
    return evolve(state, children=children)


def planned(state: RunState, body: ChildrenPlanned) -> RunState:
    """Sub-agents are planned and their call waits."""
    children = tuple(
        ChildState(
            id=plan.id,
            name=plan.name,
            agent_id=plan.agent_id,
            call_id=body.call_id,
            title=plan.title,
            stage=plan.stage,
            kind=body.kind,
            stop_on_error=body.stop_on_error,
            background=body.background,
            withheld=plan.withheld,
        )
        for plan in body.children
    )
    state = evolve(state, children=state.children + children, plans=state.plans + body.children)
    waiting = {"kind": body.kind, "children": tuple(plan.id for plan in body.children), "stop_on_error": body.stop_on_error}
    return _waits(state, body.call_id, **waiting)


def joined(state: RunState, body: ChildrenJoined) -> RunState:
    """A call waits for sub-agents that were started before."""
    return _waits(state, body.call_id, kind=body.kind, children=body.child_ids)


def _waits(state: RunState, call_id: str, **changes: Any) -> RunState:
    calls = tuple(
        replace(call, status="waiting", waits_for="children", **changes) if call.call.id == call_id else call for call in state.calls
    )
    return evolve(state, calls=calls)


def started(state: RunState, body: ChildStarted, event: RunEvent) -> RunState:
    """A planned sub-agent begins; its share is set aside."""
    state = with_child(state, body.child_id, status=ChildStatus.RUNNING, share=body.share, started_at=event.time)
    return evolve(state, plans=tuple(plan for plan in state.plans if plan.id != body.child_id))


def finished(state: RunState, body: ChildFinished) -> RunState:
    """A sub-agent is over, or never ran."""
    state = with_child(
        state,
        body.child_id,
        status=body.status,
        report=body.report,
        error=body.error,
        spent=body.spent,
        duration_ms=body.duration_ms,
        sources=body.sources,
        question="",
    )
    left = tuple(plan for plan in state.plans if plan.id != body.child_id)
    return evolve(state, plans=left, tainted=taint.merged(state.tainted, body.tainted))


def told(state: RunState, call: CallState) -> RunState:
    """A call that waited for sub-agents has its result: the model knows their reports and questions, the others go on behind its back."""
    if call.waits_for != "children":
        return state
    children = []
    for child in state.children:
        if child.id in call.children:
            over = child.status.over
            child = child.model_copy(
                update={"told": child.told or over, "background": child.background or not over, "question_told": bool(child.question)}
            )
        children.append(child)
    return evolve(state, children=tuple(children))


def handed_over(state: RunState, body: ToolCallFinished) -> RunState:
    """A result that holds the report of a sub-agent, as that of one that was terminated does, has told the model of its end."""
    named = body.result.get("child_id") if isinstance(body.result, dict) and "report" in body.result else None
    child = state.child(named) if isinstance(named, str) else None
    if child is None or not child.status.over or child.told:
        return state
    return evolve(state, children=tuple(c.model_copy(update={"told": True}) if c is child else c for c in state.children))


def noted(state: RunState, reason: str) -> RunState:
    """The model was told in a note: of reports, or of questions."""
    if reason == CHILD_REPORTS:
        return evolve(state, children=tuple(c.model_copy(update={"told": True}) if c.status.over else c for c in state.children))
    if reason == CHILD_ASKS:
        return evolve(state, children=tuple(c.model_copy(update={"question_told": bool(c.question)}) for c in state.children))
    return state


def raised(state: RunState, body: LimitsRaised) -> RunState:
    """Caps of a sub-agent were raised: its share grows, and so do the run's own caps, where it has any."""
    caps = state.raised_limits
    for kind, amount in body.raise_limits.items():
        caps[kind] = caps.get(kind, 0) + amount
    child = state.child(body.child_id)
    share = more(child.share, body.raise_limits) if child is not None else Budget()
    return evolve(with_child(state, body.child_id, share=share), raised=tuple(sorted(caps.items())))


def more(budget: Budget, added: dict[LimitKind, float]) -> Budget:
    """A budget with something added to the caps it has."""
    changes: dict[str, float] = {}
    for kind, amount in added.items():
        field = FIELDS.get(kind)
        cap = getattr(budget, field) if field else None
        if field is not None and cap is not None:
            changes[field] = cap + amount if isinstance(cap, float) else int(cap + amount)
    return budget.model_copy(update=changes)


def startable(state: RunState) -> tuple[ChildState, ...]:
    """Planned sub-agents whose stage has come: everything of the earlier stages of their call is over."""
    return tuple(child for child in state.children if child.status is ChildStatus.PLANNED and _come(state, child) is True)


def skippable(state: RunState) -> tuple[ChildState, ...]:
    """Planned sub-agents that will not run, because an earlier stage of their call failed and they were to stop then."""
    return tuple(child for child in state.children if child.status is ChildStatus.PLANNED and _come(state, child) is None)


def _come(state: RunState, child: ChildState) -> bool | None:
    """True when the stage has come, False when not yet, None when it never will."""
    before = [other for other in state.children if other.call_id == child.call_id and other.stage < child.stage]
    if child.stop_on_error and any(other.status.over and other.status is not ChildStatus.COMPLETED for other in before):
        return None
    return all(other.status.over for other in before)


def awaited(state: RunState, call: CallState) -> list[ChildState]:
    """The sub-agents a call waits for, in the order they were asked for."""
    found = {child.id: child for child in state.children}
    return [found[child_id] for child_id in call.children if child_id in found]


def settled(state: RunState, call: CallState) -> bool:
    """Whether a waiting call can have its result: its sub-agents are over or wait for this run's answer, or work in the background."""
    children = awaited(state, call)
    waiting = {child.id for child in children}
    if any(child.id in waiting for child in startable(state)):
        return False
    if call.kind is not TeamCall.JOIN and all(child.background and child.call_id == call.call.id for child in children):
        return True
    if any(child.status is ChildStatus.RUNNING for child in children):
        return False
    # A later stage may wait for one that asks: that is answered first.
    return any(child.status is ChildStatus.ASKING for child in children) or all(child.status.over for child in children)
