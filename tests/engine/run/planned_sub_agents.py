"""Sub-agents that are planned and ended."""

from __future__ import annotations

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.run import (
    ChildFinished,
    ChildrenPlanned,
    EventBody,
)
from atelier_desk.domain.sub_agent import ChildPlan, ChildStatus, TeamCall
from atelier_desk.engine.run.reducer.state import RunState
from tests.helpers.runs_without_driver import Script, advance, agent, call, reply, started


def planned(
    *stages: int, stop_on_error: bool = False, background: bool = False, budget: Budget | None = None
) -> RunState:
    """A run whose call planned one sub-agent for each stage."""
    script = Script(config=agent(budget=budget or Budget()))
    script.add(reply("", call("c", "plan_actions")), started("c", "plan_actions"))
    plans = tuple(
        ChildPlan(id=f"k{n}", name=f"k{n}", agent=agent(), prompt="x", stage=stage) for n, stage in enumerate(stages)
    )
    planning = ChildrenPlanned(
        call_id="c", kind=TeamCall.PLAN, children=plans, stop_on_error=stop_on_error, background=background
    )
    return script.add(planning).state


def after(state: RunState, *bodies: EventBody) -> RunState:
    for body in bodies:
        state = advance(state, body)
    return state


def end(child_id: str, status: ChildStatus = ChildStatus.COMPLETED, **more: object) -> ChildFinished:
    return ChildFinished(child_id=child_id, status=status, **more)  # type: ignore[arg-type]
