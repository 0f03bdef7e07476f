"""Budget: which cap a run has reached. Pure arithmetic over what was used and what its owner allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.events import LimitKind

FIELDS = {
    LimitKind.COST: "max_cost",
    LimitKind.TOKENS: "max_tokens",
    LimitKind.TIME: "max_seconds",
    LimitKind.TOOL_CALLS: "max_tool_calls",
}
"""By kind of limit the field of ``Budget`` that caps it; iterations are capped by the agent itself."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What counts against a run's caps, sub-agents included but for ``iterations``; ``seconds`` is working time, not waiting."""

    iterations: int
    tool_calls: int
    tokens: int
    cost: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Reached:
    limit: LimitKind
    value: float
    cap: float


def caps(agent: AgentConfig, raised: dict[LimitKind, float]) -> dict[LimitKind, float]:
    """Every cap in force: the agent's own and its budget's, plus what the owner added on the way."""
    own = {LimitKind.ITERATIONS: agent.max_tool_iterations, **{kind: getattr(agent.budget, field) for kind, field in FIELDS.items()}}
    return {kind: cap + raised.get(kind, 0) for kind, cap in own.items() if cap is not None}


def before_model(agent: AgentConfig, raised: dict[LimitKind, float], spent: Spent) -> Reached | None:
    """The first cap that forbids another request to the model."""
    used = {
        LimitKind.ITERATIONS: spent.iterations,
        LimitKind.TOKENS: spent.tokens,
        LimitKind.COST: spent.cost,
        LimitKind.TIME: spent.seconds,
    }
    return _first(used, caps(agent, raised))


def before_calls(agent: AgentConfig, raised: dict[LimitKind, float], spent: Spent) -> Reached | None:
    """The first cap that forbids another tool call."""
    used = {LimitKind.TOOL_CALLS: spent.tool_calls, LimitKind.TIME: spent.seconds}
    return _first(used, caps(agent, raised))


def seconds_left(agent: AgentConfig, raised: dict[LimitKind, float], spent: Spent) -> float | None:
    """Working seconds that remain, None when time is not capped."""
    cap = caps(agent, raised).get(LimitKind.TIME)
    return None if cap is None else max(0.0, cap - spent.seconds)


def share(agent: AgentConfig, raised: dict[LimitKind, float], spent: Spent, parts: int, wanted: Budget) -> Budget | LimitKind:
    """One sub-agent's part of what is left, when that is divided into ``parts``; what it wants, when that is less.

    A cap the parent does not have sets none. Returns the kind of limit of which nothing is left to give.
    """
    allowed = caps(agent, raised)
    used: dict[LimitKind, float] = {
        LimitKind.COST: spent.cost,
        LimitKind.TOKENS: spent.tokens,
        LimitKind.TIME: spent.seconds,
        LimitKind.TOOL_CALLS: spent.tool_calls,
    }
    given: dict[str, float | None] = {}
    for kind, field in FIELDS.items():
        cap, want = allowed.get(kind), getattr(wanted, field)
        if cap is None:
            given[field] = want
            continue
        left = (cap - used[kind]) / parts
        if kind in (LimitKind.TOKENS, LimitKind.TOOL_CALLS):
            left = math.floor(left)
        # A sub-agent without tool calls can still answer; without tokens, money or time it can do nothing.
        if left < 0 or (left == 0 and kind is not LimitKind.TOOL_CALLS):
            return kind
        given[field] = left if want is None else min(want, left)
    return Budget.model_validate(given)


def _first(used: dict[LimitKind, float], allowed: dict[LimitKind, float]) -> Reached | None:
    for kind, value in used.items():
        cap = allowed.get(kind)
        if cap is not None and value >= cap:
            return Reached(kind, float(value), float(cap))
    return None
