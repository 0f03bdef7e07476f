"""Estimate tokens and cost without a tokenizer, calibrated by the servers' counts."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from atelier_desk.domain.model_messages import ChatRequest, ToolCall, ToolSpec, Usage
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.domain.provider import ModelInfo

BYTES_PER_TOKEN = 3.2
"""UTF-8 bytes per token: on a French, English and code sample four characters per token was 13 to 23 % too low; this is
not.
"""
MESSAGE_TOKENS = 4
"""Tokens of a message besides its text: role and separators of the chat template."""
IMAGE_TOKENS = 1_000
"""Approximate tokens of an image; servers count between 85 and 1,600 for screen size."""


def estimate(text: str) -> int:
    """Return an estimate that is rather too high: ``ceil(utf8_bytes / 3.2)``."""
    return math.ceil(len(text.encode("utf-8", errors="replace")) / BYTES_PER_TOKEN)


def message_tokens(text: str, calls: Sequence[ToolCall] = (), data: ProviderData | None = None) -> int:
    """Return the tokens of one message: text, calls, data sent back with them, and frame; images are ``IMAGE_TOKENS``
    each.

    Servers ignore returned reasoning of replies without calls.
    """
    call_tokens = sum(estimate(call.name) + estimate(json.dumps(call.arguments, ensure_ascii=False)) for call in calls)
    returned = sum(each.size for each in attached(data, calls)) if calls else 0
    return MESSAGE_TOKENS + estimate(text) + call_tokens + math.ceil(returned / BYTES_PER_TOKEN)


def attached(data: ProviderData | None, calls: Sequence[ToolCall]) -> list[ProviderData]:
    """Return the data of a reply and its calls."""
    return [each for each in (data, *(call.provider_data for call in calls)) if each is not None]


def definition_tokens(tools: Sequence[ToolSpec]) -> int:
    """Return the tokens of tool definitions as sent."""
    sent = [tool.model_dump(include={"name", "description", "parameters"}) for tool in tools]
    return estimate(json.dumps(sent, ensure_ascii=False)) if sent else 0


def estimate_request(request: ChatRequest) -> int:
    """Return the uncalibrated prompt tokens of a request: messages, images and tool definitions."""
    messages = sum(message_tokens(each.content, each.tool_calls, each.provider_data) for each in request.messages)
    return (
        messages + IMAGE_TOKENS * sum(len(each.images) for each in request.messages) + definition_tokens(request.tools)
    )


class Calibration:
    """Ratio of a model's real counts to estimates: an exponential moving average.

    Attributes:
        factor: multiplier for estimates; 1.0 initially, always between 0.25 and 4.
    """

    WEIGHT = 0.3
    BOUNDS = (0.25, 4.0)

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = min(max(factor, self.BOUNDS[0]), self.BOUNDS[1])
        self._observed = False

    def observe(self, estimated: int, actual: int) -> None:
        """Add one request's estimate and the server's count; the first counts fully. Counts of 0 are ignored."""
        if estimated <= 0 or actual <= 0:
            return
        ratio = min(max(actual / estimated, self.BOUNDS[0]), self.BOUNDS[1])
        self.factor = ratio if not self._observed else self.factor + self.WEIGHT * (ratio - self.factor)
        self._observed = True

    def apply(self, estimated: int) -> int:
        """Return a calibrated estimate."""
        return math.ceil(estimated * self.factor)


def cost(usage: Usage, info: ModelInfo) -> float:
    """Return a reply's cost in US dollars: as reported or by the model's prices, whichever is higher; 0 if unknown."""
    return priced(usage, info).cost


def priced(usage: Usage, info: ModelInfo | None) -> Usage:
    """Return the usage with its cost.

    As reported or by the model's prices, whichever is higher: a server that reports too little must not disable a
    limit. Without both all its tokens are unpriced.
    """
    if usage.cost > 0 and (info is None or usage.cost >= _dollars(usage, info)):
        return usage
    if info is None or info.price_input is None or info.price_output is None:
        known = 0.0 if info is None else _dollars(usage, info)
        unpriced = usage.tokens_input + usage.tokens_output
        return usage.model_copy(update={**_cost(usage, known), "tokens_unpriced": unpriced})
    cost = _dollars(usage, info)
    uncached = usage.model_copy(update={"tokens_cached": 0, "tokens_stored": 0})
    return usage.model_copy(update={**_cost(usage, cost), "saved": round(_dollars(uncached, info) - cost, 12)})


def at_most(tokens_input: int, tokens_output: int, info: ModelInfo) -> Usage:
    """Return what a request may use of which nothing is known but what was sent and the allowed reply, in tokens."""
    usage = priced(Usage(tokens_input=tokens_input, tokens_output=tokens_output, estimated=True), info)
    dollars = (tokens_input * highest_input_price(info) + tokens_output * (info.price_output or 0.0)) / 1_000_000
    return usage.model_copy(update=_cost(usage, dollars))


def _cost(usage: Usage, dollars: float) -> dict[str, float]:
    return {"cost": dollars, "cost_estimated": dollars if usage.estimated else 0.0}


def highest_input_price(info: ModelInfo) -> float:
    """Return the maximum price per million input tokens, for reservations: all of them may be written to a cache."""
    return max(info.price_input or 0.0, info.price_cache_write or 0.0)


def _dollars(usage: Usage, info: ModelInfo) -> float:
    sent = info.price_input or 0.0
    read = sent if info.price_cache_read is None else info.price_cache_read
    stored = sent if info.price_cache_write is None else info.price_cache_write
    plain = usage.tokens_input - usage.tokens_cached - usage.tokens_stored
    dollars = (
        plain * sent
        + usage.tokens_cached * read
        + usage.tokens_stored * stored
        + usage.tokens_output * (info.price_output or 0.0)
    )
    return dollars / 1_000_000
