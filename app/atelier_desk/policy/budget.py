"""Budget: which limit a run has reached, and what its next request may cost. Pure arithmetic.

Parallel replies cannot exceed a limit, because everything is reserved before it is spent. A sub-agent's share is
deducted from its parent's limits in the parent's journal when it starts, so sub-agents never share one pool. A run
sends one request at a time, limited to what is left (``reserve``). That reservation needs no record: it ends with the
request, and after a kill there is no request; the next one is computed from the journal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.events.run import LimitKind

FIELDS = {
    LimitKind.COST: "max_cost",
    LimitKind.TOKENS: "max_tokens",
    LimitKind.TIME: "max_seconds",
    LimitKind.TOOL_CALLS: "max_tool_calls",
}
"""By kind of limit: its field of ``Budget``. Iterations are limited by the agent itself."""


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """Usage counted against a run's limits, including sub-agents (except ``iterations``).

    ``seconds`` is working time without waiting.
    """

    iterations: int
    tool_calls: int
    tokens: int
    cost: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that is used up or too low for a request.

    ``needed`` is the least that the request may take, ``left`` the remainder, in the limit's unit (tokens, US dollars);
    both 0 if the limit is used up, and for other limits.
    """

    limit: LimitKind
    value: float
    cap: float
    needed: float = 0.0
    left: float = 0.0


@dataclass(frozen=True, slots=True)
class Needed:
    """Cost in US dollars of the smallest request worth sending."""

    cost: float


def caps(agent: AgentConfig, raised: dict[LimitKind, float]) -> dict[LimitKind, float]:
    """Return all limits in force: the agent's, its budget's, and what the user added during the run."""
    own = {
        LimitKind.ITERATIONS: agent.max_tool_iterations,
        **{kind: getattr(agent.budget, field) for kind, field in FIELDS.items()},
    }
    return {kind: cap + raised.get(kind, 0) for kind, cap in own.items() if cap is not None}


def before_model(agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse) -> ReachedLimit | None:
    """Return the first limit that forbids another model request."""
    used = {
        LimitKind.ITERATIONS: spent.iterations,
        LimitKind.TOKENS: spent.tokens,
        LimitKind.COST: spent.cost,
        LimitKind.TIME: spent.seconds,
    }
    return _first(used, caps(agent, raised))


def before_calls(agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse) -> ReachedLimit | None:
    """Return the first limit that forbids another tool call."""
    used = {LimitKind.TOOL_CALLS: spent.tool_calls, LimitKind.TIME: spent.seconds}
    return _first(used, caps(agent, raised))


LEAST_REPLY = limits.MAX_TOKENS[0]
"""Tokens of the shortest reply worth requesting: with less left, the run pauses instead of getting half a sentence."""


def reserve(
    agent: AgentConfig,
    raised: dict[LimitKind, float],
    spent: BudgetUse,
    *,
    prompt_tokens: int,
    reply_tokens: int,
    prices: tuple[float, float] = (0.0, 0.0),
) -> int | ReachedLimit:
    """Return the maximum tokens of the next reply, so that request and reply stay within the token and cost limits.

    If there is no room for the prompt and ``LEAST_REPLY`` tokens (or ``reply_tokens``, if less), return the limit
    concerned.

    Args:
        prompt_tokens: estimated size of the request.
        reply_tokens: what the agent would like.
        prices: US dollars per million tokens of prompt and reply; 0 where unknown, which disables the cost limit.
    """
    allowed = caps(agent, raised)
    room = reply_tokens
    least = min(LEAST_REPLY, reply_tokens)
    tokens, cost = allowed.get(LimitKind.TOKENS), allowed.get(LimitKind.COST)
    if tokens is not None:
        left = tokens - spent.tokens
        room = min(room, math.floor(left - prompt_tokens))
        if room < least:
            needed = float(prompt_tokens + least)
            return ReachedLimit(
                LimitKind.TOKENS, float(spent.tokens), float(tokens), needed=needed, left=max(0.0, float(left))
            )
    if cost is not None and any(prices):
        found = affordable(cost - spent.cost, prompt_tokens, room, prices)
        if isinstance(found, Needed):
            return ReachedLimit(LimitKind.COST, spent.cost, cost, needed=found.cost, left=max(0.0, cost - spent.cost))
        room = found
    return room


def affordable(left: float, prompt_tokens: int, reply_tokens: int, prices: tuple[float, float]) -> int | Needed:
    """Return the maximum reply tokens that ``left`` US dollars pay for beside the prompt, or the cost needed if too
    little.
    """
    least = min(LEAST_REPLY, reply_tokens)
    price_in, price_out = (price / 1_000_000 for price in prices)
    rest = left - prompt_tokens * price_in
    if rest < least * price_out or rest <= 0:
        return Needed(cost_of(prompt_tokens, least, prices))
    return min(reply_tokens, math.floor(rest / price_out)) if price_out else reply_tokens


def cost_of(prompt_tokens: int, reply_tokens: int, prices: tuple[float, float]) -> float:
    """Return US dollars; ``prices`` are per million tokens of prompt and reply."""
    return (prompt_tokens * prices[0] + reply_tokens * prices[1]) / 1_000_000


def seconds_left(agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse) -> float | None:
    """Return the remaining working seconds, None without a time limit."""
    cap = caps(agent, raised).get(LimitKind.TIME)
    return None if cap is None else max(0.0, cap - spent.seconds)


def share(
    agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse, parts: int, wanted: Budget
) -> Budget | LimitKind:
    """Return a sub-agent's share when the remainder is divided into ``parts``, or what it wants, if less.

    A limit that the parent does not have stays unset. Returns the kind of limit of which nothing is left.
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
        # Without tool calls a sub-agent can still answer; without tokens, money or time it cannot do anything.
        if left < 0 or (left == 0 and kind is not LimitKind.TOOL_CALLS):
            return kind
        given[field] = left if want is None else min(want, left)
    return Budget.model_validate(given)


def _first(used: dict[LimitKind, float], allowed: dict[LimitKind, float]) -> ReachedLimit | None:
    for kind, value in used.items():
        cap = allowed.get(kind)
        if cap is not None and value >= cap:
            return ReachedLimit(kind, float(value), float(cap))
    return None
