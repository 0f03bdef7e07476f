"""Budgets: the arithmetic of limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.policy.budget import (
    BudgetUse,
    ReachedLimit,
    before_calls,
    before_model,
    caps,
    reserve,
    seconds_left,
    share,
)
from tests.helpers.runs_without_driver import agent


def spent(
    iterations: int = 0, tool_calls: int = 0, tokens: int = 0, cost: float = 0.0, seconds: float = 0.0
) -> BudgetUse:
    return BudgetUse(iterations, tool_calls, tokens, cost, seconds)


def test_without_a_budget_only_iterations_are_limited() -> None:
    assert caps(agent(), {}) == {LimitKind.ITERATIONS: 50}
    assert before_model(agent(), {}, spent(49, 10_000, 10**9, 10**6, 10**6)) is None
    assert seconds_left(agent(), {}, spent()) is None


def test_a_limit_is_reached_at_its_exact_value() -> None:
    config = agent(budget=Budget(max_tokens=100, max_tool_calls=0, max_seconds=9, max_cost=0))
    assert before_calls(config, {}, spent()) is not None
    assert before_model(agent(budget=Budget(max_tokens=100)), {}, spent(tokens=99)) is None
    reached = before_model(agent(budget=Budget(max_tokens=100)), {}, spent(tokens=100))
    assert reached is not None
    assert (reached.limit, reached.value, reached.cap) == (LimitKind.TOKENS, 100, 100)
    free = before_model(agent(budget=Budget(max_cost=0)), {}, spent())
    assert free is not None
    assert free.limit is LimitKind.COST


def test_raising_adds_to_a_limit() -> None:
    config = agent(budget=Budget(max_seconds=10))
    assert seconds_left(config, {LimitKind.TIME: 5}, spent(seconds=12)) == 3
    assert seconds_left(config, {}, spent(seconds=12)) == 0


def test_a_share_is_a_part_of_the_remainder() -> None:
    config = agent(budget=Budget(max_tokens=1000, max_cost=2.0, max_tool_calls=7))
    used = spent(tokens=100, cost=1.0, tool_calls=1)
    assert share(config, {}, used, 3, Budget()) == Budget(max_tokens=300, max_cost=1 / 3, max_tool_calls=2)
    assert share(config, {}, used, 1, Budget(max_tokens=50, max_seconds=9)) == Budget(
        max_tokens=50, max_cost=1.0, max_tool_calls=6, max_seconds=9
    )
    assert share(config, {LimitKind.TOKENS: 900}, used, 1, Budget()) == Budget(
        max_tokens=1800, max_cost=1.0, max_tool_calls=6
    )


def test_nothing_is_shared_when_nothing_remains() -> None:
    config = agent(budget=Budget(max_tokens=1000, max_tool_calls=3))
    assert share(config, {}, spent(tokens=1000), 1, Budget()) is LimitKind.TOKENS
    assert share(config, {}, spent(tokens=999), 2, Budget()) is LimitKind.TOKENS
    assert share(config, {}, spent(tool_calls=4), 1, Budget()) is LimitKind.TOOL_CALLS
    # A sub-agent can still answer without tool calls.
    assert share(config, {}, spent(tool_calls=3), 1, Budget()) == Budget(max_tokens=1000, max_tool_calls=0)


def test_a_request_is_limited_to_the_remainder_or_not_sent() -> None:
    config = agent(budget=Budget(max_tokens=10_000, max_cost=1.0))
    assert reserve(agent(), {}, spent(tokens=10**9), prompt_tokens=10**6, reply_tokens=4000) == 4000
    assert reserve(config, {}, spent(tokens=1000), prompt_tokens=2000, reply_tokens=4000) == 4000
    assert reserve(config, {}, spent(tokens=6000), prompt_tokens=2000, reply_tokens=4000) == 2000
    assert reserve(config, {}, spent(tokens=9000), prompt_tokens=900, reply_tokens=4000) == ReachedLimit(
        LimitKind.TOKENS, 9000.0, 10_000.0, needed=1156.0, left=1000.0
    ), "the prompt, and 256 tokens of a reply"
    assert reserve(config, {LimitKind.TOKENS: 500}, spent(tokens=9000), prompt_tokens=900, reply_tokens=4000) == 600
    assert reserve(config, {}, spent(tokens=9000), prompt_tokens=900, reply_tokens=64) == 64
    # 0.1 dollars remain, of which the prompt costs 0.05: at 100 dollars a million that leaves 500 tokens.
    assert reserve(config, {}, spent(cost=0.9), prompt_tokens=1000, reply_tokens=4000, prices=(50.0, 100.0)) in (
        499,
        500,
    )
    reached = reserve(config, {}, spent(cost=0.95), prompt_tokens=1000, reply_tokens=4000, prices=(50.0, 100.0))
    assert isinstance(reached, ReachedLimit)
    assert (reached.limit, reached.value, reached.cap) == (LimitKind.COST, 0.95, 1.0)
    assert (reached.needed, reached.left) == pytest.approx((0.0756, 0.05)), "the prompt, and 256 tokens of a reply"


class Agent:
    """A run as its limits see it: its usage, the maximum of its next request, and its sub-agents."""

    def __init__(self, cap: int) -> None:
        self.cap, self.used, self.reserved = cap, 0, 0
        self.below: list[Agent] = []

    @property
    def spent(self) -> BudgetUse:
        """Like ``RunState.spent``: shares of running sub-agents count in full."""
        return spent(tokens=self.used + sum(child.cap for child in self.below))

    @property
    def config(self) -> AgentConfig:
        return agent(budget=Budget(max_tokens=self.cap))

    @property
    def total(self) -> int:
        return self.used + self.reserved + sum(child.total for child in self.below)


@given(st.integers(1, 50_000), st.data())
def test_no_team_exceeds_its_limit_whatever_the_order_of_events(cap: int, data: st.DataObject) -> None:
    root = Agent(cap)
    team: list[tuple[Agent, Agent | None]] = [(root, None)]
    for _ in range(data.draw(st.integers(0, 40))):
        one, parent = data.draw(st.sampled_from(team))
        what = data.draw(st.sampled_from(["ask", "reply", "start", "end"]))
        if what == "ask" and not one.reserved:
            sent = data.draw(st.integers(1, 3000))
            room = reserve(one.config, {}, one.spent, prompt_tokens=sent, reply_tokens=data.draw(st.integers(64, 8000)))
            one.reserved = 0 if isinstance(room, ReachedLimit) else sent + room
        elif what == "reply":
            one.used, one.reserved = one.used + data.draw(st.integers(0, one.reserved)), 0
        elif what == "start" and not one.reserved:
            # A run starts sub-agents between its requests; some of them continue in parallel.
            parts = data.draw(st.integers(1, 5))
            given_ = share(one.config, {}, one.spent, parts, Budget())
            if isinstance(given_, Budget):
                for _child in range(data.draw(st.integers(0, parts))):
                    child = Agent(given_.max_tokens or 0)
                    one.below.append(child)
                    team.append((child, one))
        elif what == "end" and parent is not None and not one.reserved and not one.below:
            parent.below.remove(one)
            parent.used += one.used
            team.remove((one, parent))
        assert root.total <= cap


def test_a_cost_limit_is_converted_to_tokens_exactly() -> None:
    """At a dollar per reply token and half a dollar per prompt token nothing is rounded."""
    config, prices = agent(budget=Budget(max_cost=306)), (500_000.0, 1_000_000.0)
    assert reserve(config, {}, spent(), prompt_tokens=100, reply_tokens=4000, prices=prices) == 256
    assert reserve(config, {}, spent(), prompt_tokens=98, reply_tokens=4000, prices=prices) == 257
    assert reserve(config, {}, spent(), prompt_tokens=101, reply_tokens=4000, prices=prices) == ReachedLimit(
        LimitKind.COST, 0.0, 306.0, needed=306.5, left=306.0
    )
    assert reserve(config, {}, spent(cost=305), prompt_tokens=0, reply_tokens=1, prices=prices) == 1
    assert reserve(config, {}, spent(cost=305.5), prompt_tokens=0, reply_tokens=1, prices=prices) == ReachedLimit(
        LimitKind.COST, 305.5, 306.0, needed=1.0, left=0.5
    )


def test_the_reply_length_is_free_where_only_the_prompt_costs() -> None:
    config = agent(budget=Budget(max_cost=50))
    assert reserve(config, {}, spent(), prompt_tokens=99, reply_tokens=4000, prices=(500_000.0, 0.0)) == 4000
    assert reserve(config, {}, spent(), prompt_tokens=100, reply_tokens=4000, prices=(500_000.0, 0.0)) == ReachedLimit(
        LimitKind.COST, 0.0, 50.0, needed=50.0, left=50.0
    )


def test_a_cost_limit_needs_a_price_and_a_price_a_cost_limit() -> None:
    capped = agent(budget=Budget(max_cost=0.001))
    assert reserve(capped, {}, spent(), prompt_tokens=5_000_000, reply_tokens=4000) == 4000
    assert (
        reserve(agent(), {}, spent(cost=10**6), prompt_tokens=5_000_000, reply_tokens=4000, prices=(50.0, 100.0))
        == 4000
    )


def test_the_shortest_reply_is_sent_and_one_token_less_is_not() -> None:
    config = agent(budget=Budget(max_tokens=1000))
    assert reserve(config, {}, spent(tokens=700), prompt_tokens=44, reply_tokens=4000) == 256
    assert reserve(config, {}, spent(tokens=700), prompt_tokens=45, reply_tokens=4000) == ReachedLimit(
        LimitKind.TOKENS, 700.0, 1000.0, needed=301.0, left=300.0
    )


def test_each_kind_of_limit_can_be_met_exactly() -> None:
    caps_of = {
        "iterations": LimitKind.ITERATIONS,
        "tokens": LimitKind.TOKENS,
        "cost": LimitKind.COST,
        "seconds": LimitKind.TIME,
    }
    config = agent(max_tool_iterations=10, budget=Budget(max_tokens=10, max_cost=10, max_seconds=10, max_tool_calls=10))
    for field, kind in caps_of.items():
        assert before_model(config, {}, spent(**{field: 9})) is None
        assert before_model(config, {}, spent(**{field: 10})) == ReachedLimit(kind, 10.0, 10.0)
        assert before_model(config, {kind: 1}, spent(**{field: 10})) is None
    assert before_model(config, {}, spent(tool_calls=10)) is None
    assert before_calls(config, {}, spent(tool_calls=9, iterations=10, tokens=10, cost=10)) is None
    assert before_calls(config, {}, spent(tool_calls=10)) == ReachedLimit(LimitKind.TOOL_CALLS, 10.0, 10.0)
    assert before_calls(config, {}, spent(seconds=10)) == ReachedLimit(LimitKind.TIME, 10.0, 10.0)
