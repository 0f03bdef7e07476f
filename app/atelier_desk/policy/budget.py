"""Budget: which cap a run has reached, and what a request may still cost. Pure arithmetic over what was used and what its owner allowed.

No cap is overshot by a reply, whoever works beside whom, because everything is reserved before it is spent. A sub-agent's share is taken
out of its parent's caps in the parent's journal when it starts, so sub-agents never draw on one pot. A run sends one request at a time,
which gets no more than what is left of the run's own caps (``reserve``). That reservation needs no record: it is over with the request, and
after a kill there is no request; the next one is reckoned from the journal again.
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
"""By kind of limit the field of ``Budget`` that caps it; iterations are capped by the agent itself."""


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """What counts against a run's caps, sub-agents included but for ``iterations``; ``seconds`` is working time, not waiting."""

    iterations: int
    tool_calls: int
    tokens: int
    cost: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A cap that is used up, or has no room for a request: ``needed`` is the least that it may cost, ``left`` what there is, in US dollars;
    both 0 for other caps."""

    limit: LimitKind
    value: float
    cap: float
    needed: float = 0.0
    left: float = 0.0


@dataclass(frozen=True, slots=True)
class Needed:
    """US dollars that the smallest request worth sending may cost."""

    cost: float


def caps(agent: AgentConfig, raised: dict[LimitKind, float]) -> dict[LimitKind, float]:
    """Every cap in force: the agent's own and its budget's, plus what the owner added on the way."""
    own = {LimitKind.ITERATIONS: agent.max_tool_iterations, **{kind: getattr(agent.budget, field) for kind, field in FIELDS.items()}}
    return {kind: cap + raised.get(kind, 0) for kind, cap in own.items() if cap is not None}


def before_model(agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse) -> ReachedLimit | None:
    """The first cap that forbids another request to the model."""
    used = {
        LimitKind.ITERATIONS: spent.iterations,
        LimitKind.TOKENS: spent.tokens,
        LimitKind.COST: spent.cost,
        LimitKind.TIME: spent.seconds,
    }
    return _first(used, caps(agent, raised))


def before_calls(agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse) -> ReachedLimit | None:
    """The first cap that forbids another tool call."""
    used = {LimitKind.TOOL_CALLS: spent.tool_calls, LimitKind.TIME: spent.seconds}
    return _first(used, caps(agent, raised))


LEAST_REPLY = limits.MAX_TOKENS[0]
"""Tokens of the shortest reply worth asking for: with less left the run pauses at its limit instead of getting half a sentence."""


def reserve(
    agent: AgentConfig,
    raised: dict[LimitKind, float],
    spent: BudgetUse,
    *,
    prompt_tokens: int,
    reply_tokens: int,
    prices: tuple[float, float] = (0.0, 0.0),
) -> int | ReachedLimit:
    """Most tokens the reply to the next request may have, so that request and reply together stay within the caps on tokens and cost.

    Args:
        prompt_tokens: what the request is estimated to send.
        reply_tokens: what the agent would like.
        prices: US dollars for a million tokens of the prompt and of the reply; 0 where unknown, and then the cap on cost says nothing.

    Returns the cap that has no room for the prompt and a reply of ``LEAST_REPLY`` tokens (or of ``reply_tokens``, when that is less).
    """
    allowed = caps(agent, raised)
    room = reply_tokens
    least = min(LEAST_REPLY, reply_tokens)
    tokens, cost = allowed.get(LimitKind.TOKENS), allowed.get(LimitKind.COST)
    if tokens is not None:
        room = min(room, math.floor(tokens - spent.tokens - prompt_tokens))
        if room < least:
            return ReachedLimit(LimitKind.TOKENS, float(spent.tokens), float(tokens))
    if cost is not None and any(prices):
        found = affordable(cost - spent.cost, prompt_tokens, room, prices)
        if isinstance(found, Needed):
            return ReachedLimit(LimitKind.COST, spent.cost, cost, needed=found.cost, left=max(0.0, cost - spent.cost))
        room = found
    return room


def affordable(left: float, prompt_tokens: int, reply_tokens: int, prices: tuple[float, float]) -> int | Needed:
    """Most tokens of a reply that ``left`` US dollars pay for beside the prompt; what is needed where that is too little."""
    least = min(LEAST_REPLY, reply_tokens)
    price_in, price_out = (price / 1_000_000 for price in prices)
    rest = left - prompt_tokens * price_in
    if rest < least * price_out or rest <= 0:
        return Needed(cost_of(prompt_tokens, least, prices))
    return min(reply_tokens, math.floor(rest / price_out)) if price_out else reply_tokens


def cost_of(prompt_tokens: int, reply_tokens: int, prices: tuple[float, float]) -> float:
    """US dollars; ``prices`` are for a million tokens of prompt and reply."""
    return (prompt_tokens * prices[0] + reply_tokens * prices[1]) / 1_000_000


def seconds_left(agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse) -> float | None:
    """Working seconds that remain, None when time is not capped."""
    cap = caps(agent, raised).get(LimitKind.TIME)
    return None if cap is None else max(0.0, cap - spent.seconds)


def share(agent: AgentConfig, raised: dict[LimitKind, float], spent: BudgetUse, parts: int, wanted: Budget) -> Budget | LimitKind:
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


def _first(used: dict[LimitKind, float], allowed: dict[LimitKind, float]) -> ReachedLimit | None:
    for kind, value in used.items():
        cap = allowed.get(kind)
        if cap is not None and value >= cap:
            return ReachedLimit(kind, float(value), float(cap))
    return None
