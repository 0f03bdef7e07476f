"""Budgets: the arithmetic of caps."""

from __future__ import annotations

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events import LimitKind
from atelier_desk.policy.budget import Spent, before_calls, before_model, caps, seconds_left, share
from tests.support.runs import agent


def spent(iterations: int = 0, tool_calls: int = 0, tokens: int = 0, cost: float = 0.0, seconds: float = 0.0) -> Spent:
    return Spent(iterations, tool_calls, tokens, cost, seconds)


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


def test_a_share_is_a_part_of_what_is_left() -> None:
    config = agent(budget=Budget(max_tokens=1000, max_cost=2.0, max_tool_calls=7))
    used = spent(tokens=100, cost=1.0, tool_calls=1)
    assert share(config, {}, used, 3, Budget()) == Budget(max_tokens=300, max_cost=1 / 3, max_tool_calls=2)
    assert share(config, {}, used, 1, Budget(max_tokens=50, max_seconds=9)) == Budget(
        max_tokens=50, max_cost=1.0, max_tool_calls=6, max_seconds=9
    )
    assert share(config, {LimitKind.TOKENS: 900}, used, 1, Budget()) == Budget(max_tokens=1800, max_cost=1.0, max_tool_calls=6)


def test_nothing_can_be_shared_when_nothing_is_left() -> None:
    config = agent(budget=Budget(max_tokens=1000, max_tool_calls=3))
    assert share(config, {}, spent(tokens=1000), 1, Budget()) is LimitKind.TOKENS
    assert share(config, {}, spent(tokens=999), 2, Budget()) is LimitKind.TOKENS
    assert share(config, {}, spent(tool_calls=4), 1, Budget()) is LimitKind.TOOL_CALLS
    # Without tool calls a sub-agent can still answer.
    assert share(config, {}, spent(tool_calls=3), 1, Budget()) == Budget(max_tokens=1000, max_tool_calls=0)
