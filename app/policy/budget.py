"""Budget: which cap a run has reached. Pure arithmetic over what was used and what its owner allowed."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.agent import AgentConfig
from app.domain.chat import Usage
from app.domain.events import LimitKind


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used so far; ``seconds`` counts working time only, not waiting for a person."""

    iterations: int
    tool_calls: int
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class Reached:
    limit: LimitKind
    value: float
    cap: float


def caps(agent: AgentConfig, raised: dict[LimitKind, float]) -> dict[LimitKind, float]:
    """Every cap in force: the agent's own and its budget's, plus what the owner added on the way."""
    budget = agent.budget
    own = {
        LimitKind.ITERATIONS: agent.max_tool_iterations,
        LimitKind.TOOL_CALLS: budget.max_tool_calls,
        LimitKind.TOKENS: budget.max_tokens,
        LimitKind.COST: budget.max_cost,
        LimitKind.TIME: budget.max_seconds,
    }
    return {kind: cap + raised.get(kind, 0) for kind, cap in own.items() if cap is not None}


def before_model(agent: AgentConfig, raised: dict[LimitKind, float], spent: Spent) -> Reached | None:
    """The first cap that forbids another request to the model."""
    used = {
        LimitKind.ITERATIONS: spent.iterations,
        LimitKind.TOKENS: spent.usage.tokens_input + spent.usage.tokens_output,
        LimitKind.COST: spent.usage.cost,
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


def _first(used: dict[LimitKind, float], allowed: dict[LimitKind, float]) -> Reached | None:
    for kind, value in used.items():
        cap = allowed.get(kind)
        if cap is not None and value >= cap:
            return Reached(kind, float(value), float(cap))
    return None
