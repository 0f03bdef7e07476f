"""Budgets: the arithmetic of caps."""

from __future__ import annotations

from app.domain.agent import Budget
from app.domain.chat import Usage
from app.domain.events import LimitKind
from app.policy.budget import Spent, before_calls, before_model, caps, seconds_left
from tests.support.runs import agent


def spent(iterations: int = 0, tool_calls: int = 0, tokens: int = 0, cost: float = 0.0, seconds: float = 0.0) -> Spent:
    return Spent(iterations, tool_calls, Usage(tokens_input=tokens, cost=cost), seconds)


def test_only_iterations_are_capped_without_a_budget() -> None:
    assert caps(agent(), {}) == {LimitKind.ITERATIONS: 50}
    assert before_model(agent(), {}, spent(49, 10_000, 10**9, 10**6, 10**6)) is None
    assert seconds_left(agent(), {}, spent()) is None


def test_a_cap_is_reached_when_it_is_met() -> None:
    config = agent(budget=Budget(max_tokens=100, max_tool_calls=0, max_seconds=9, max_cost=0))
    assert before_calls(config, {}, spent()) is not None
    assert before_model(agent(budget=Budget(max_tokens=100)), {}, spent(tokens=99)) is None
    reached = before_model(agent(budget=Budget(max_tokens=100)), {}, spent(tokens=100))
    assert reached is not None
    assert (reached.limit, reached.value, reached.cap) == (LimitKind.TOKENS, 100, 100)
    free = before_model(agent(budget=Budget(max_cost=0)), {}, spent())
    assert free is not None
    assert free.limit is LimitKind.COST


def test_raising_adds_to_a_cap() -> None:
    config = agent(budget=Budget(max_seconds=10))
    assert seconds_left(config, {LimitKind.TIME: 5}, spent(seconds=12)) == 3
    assert seconds_left(config, {}, spent(seconds=12)) == 0
