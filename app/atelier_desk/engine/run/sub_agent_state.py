"""Sub-agents in their parent's state: pure functions of the reducer and ``next_step``."""

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
from atelier_desk.domain.sub_agent import ChildState, ChildStatus, TeamCall
from atelier_desk.engine.run.reducer.handler_registry import evolve
from atelier_desk.engine.run.reducer.state import CallState, RunState
from atelier_desk.policy.budget import FIELDS
from atelier_desk.policy.permissions import taint_sources

CHILD_ASKS = "child_asks"
"""Reason of the note about sub-agents waiting for the model's answer."""
CHILD_REPORTS = "child_reports"
"""Reason of the note with reports of background sub-agents."""


def with_child(state: RunState, child_id: str, **changes: object) -> RunState:
    """Return the state with one sub-agent changed; ended ones stay unchanged."""
    children = tuple(
        child.model_copy(update=changes) if child.id == child_id and not child.status.over else child
        for child in state.children
    )
    return evolve(state, children=children)


def planned(state: RunState, body: ChildrenPlanned) -> RunState:
    """Add planned sub-agents; their call waits."""
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
    waiting = {
        "kind": body.kind,
        "children": tuple(plan.id for plan in body.children),
        "stop_on_error": body.stop_on_error,
    }
    return _waits(state, body.call_id, **waiting)


def joined(state: RunState, body: ChildrenJoined) -> RunState:
    """Let a call wait for sub-agents started earlier."""
    return _waits(state, body.call_id, kind=body.kind, children=body.child_ids)


def _waits(state: RunState, call_id: str, **changes: Any) -> RunState:
    calls = tuple(
        replace(call, status="waiting", waits_for="children", **changes) if call.call.id == call_id else call
        for call in state.calls
    )
    return evolve(state, calls=calls)


def started(state: RunState, body: ChildStarted, event: RunEvent) -> RunState:
    """Start a planned sub-agent and reserve its share."""
    state = with_child(state, body.child_id, status=ChildStatus.RUNNING, share=body.share, started_at=event.time)
    return evolve(state, plans=tuple(plan for plan in state.plans if plan.id != body.child_id))


def finished(state: RunState, body: ChildFinished) -> RunState:
    """End a sub-agent, or record that it never ran."""
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
    return evolve(state, plans=left, tainted=taint_sources.merged(state.tainted, body.tainted))


def deliver_results(state: RunState, call: CallState) -> RunState:
    """Finish a call that waited for sub-agents.

    The model knows their reports and questions, the others continue in the background.
    """
    if call.waits_for != "children":
        return state
    children = []
    for child in state.children:
        if child.id in call.children:
            over = child.status.over
            child = child.model_copy(
                update={
                    "told": child.told or over,
                    "background": child.background or not over,
                    "question_told": bool(child.question),
                }
            )
        children.append(child)
    return evolve(state, children=tuple(children))


def handed_over(state: RunState, body: ToolCallFinished) -> RunState:
    """Record that a result contained a sub-agent's report, as that of a terminated one does."""
    named = body.result.get("child_id") if isinstance(body.result, dict) and "report" in body.result else None
    child = state.child(named) if isinstance(named, str) else None
    if child is None or not child.status.over or child.told:
        return state
    return evolve(
        state, children=tuple(c.model_copy(update={"told": True}) if c is child else c for c in state.children)
    )


def noted(state: RunState, reason: str) -> RunState:
    """Record that a note told the model about reports or questions."""
    if reason == CHILD_REPORTS:
        return evolve(
            state, children=tuple(c.model_copy(update={"told": True}) if c.status.over else c for c in state.children)
        )
    if reason == CHILD_ASKS:
        return evolve(
            state, children=tuple(c.model_copy(update={"question_told": bool(c.question)}) for c in state.children)
        )
    return state


def raised(state: RunState, body: LimitsRaised) -> RunState:
    """Raise the limits of a sub-agent: its share grows, and so do the run's own limits, if set."""
    caps = state.raised_limits
    for kind, amount in body.raise_limits.items():
        caps[kind] = caps.get(kind, 0) + amount
    child = state.child(body.child_id)
    share = more(child.share, body.raise_limits) if child is not None else Budget()
    return evolve(with_child(state, body.child_id, share=share), raised=tuple(sorted(caps.items())))


def more(budget: Budget, added: dict[LimitKind, float]) -> Budget:
    """Return a budget with its limits raised."""
    changes: dict[str, float] = {}
    for kind, amount in added.items():
        field = FIELDS.get(kind)
        cap = getattr(budget, field) if field else None
        if field is not None and cap is not None:
            changes[field] = cap + amount if isinstance(cap, float) else int(cap + amount)
    return budget.model_copy(update=changes)


def startable(state: RunState) -> tuple[ChildState, ...]:
    """Return planned sub-agents whose stage has come: earlier stages of their call have ended."""
    return tuple(
        child for child in state.children if child.status is ChildStatus.PLANNED and _come(state, child) is True
    )


def skippable(state: RunState) -> tuple[ChildState, ...]:
    """Return planned sub-agents that will not run, because an earlier stage failed with ``stop_on_error``."""
    return tuple(
        child for child in state.children if child.status is ChildStatus.PLANNED and _come(state, child) is None
    )


def _come(state: RunState, child: ChildState) -> bool | None:
    """Whether its stage has come: True, False for not yet, None for never."""
    before = [other for other in state.children if other.call_id == child.call_id and other.stage < child.stage]
    if child.stop_on_error and any(other.status.over and other.status is not ChildStatus.COMPLETED for other in before):
        return None
    return all(other.status.over for other in before)


def awaited(state: RunState, call: CallState) -> list[ChildState]:
    """Return the sub-agents a call waits for, in request order."""
    found = {child.id: child for child in state.children}
    return [found[child_id] for child_id in call.children if child_id in found]


def settled(state: RunState, call: CallState) -> bool:
    """Whether a waiting call can finish.

    Its sub-agents have ended, wait for this run's answer, or run in the background.
    """
    children = awaited(state, call)
    waiting = {child.id for child in children}
    if any(child.id in waiting for child in startable(state)):
        return False
    if call.kind is not TeamCall.JOIN and all(child.background and child.call_id == call.call.id for child in children):
        return True
    if any(child.status is ChildStatus.RUNNING for child in children):
        return False
    # A later stage may depend on one that asks, which is answered first.
    return any(child.status is ChildStatus.ASKING for child in children) or all(child.status.over for child in children)
