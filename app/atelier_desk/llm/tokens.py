"""Tokens and money, without a tokenizer: an estimate that is calibrated against what the servers count."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from atelier_desk.domain.model_messages import ChatRequest, ToolCall, ToolSpec, Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.provider_data import ProviderData

BYTES_PER_TOKEN = 3.2
"""UTF-8 bytes of a token: on a French, English and code sample four characters a token was 13 to 23 % too few; this is not."""
MESSAGE_TOKENS = 4
"""What a message costs besides its text: role and separators of the chat template."""
IMAGE_TOKENS = 1_000
"""What an image costs, roughly; servers count between 85 and 1,600 for one of screen size."""


def estimate(text: str) -> int:
    """Tokens of a text, rather too many than too few: ``ceil(utf8_bytes / 3.2)``."""
    return math.ceil(len(text.encode("utf-8", errors="replace")) / BYTES_PER_TOKEN)


def message_tokens(text: str, calls: Sequence[ToolCall] = (), data: ProviderData | None = None) -> int:
    """Tokens of one message: its text, its calls, what goes back to the server with them, and its frame; images are ``IMAGE_TOKENS`` each.

    Of the thoughts that go back with a reply servers leave out those of one that called nothing.
    """
    said = sum(estimate(call.name) + estimate(json.dumps(call.arguments, ensure_ascii=False)) for call in calls)
    returned = sum(each.size for each in attached(data, calls)) if calls else 0
    return MESSAGE_TOKENS + estimate(text) + said + math.ceil(returned / BYTES_PER_TOKEN)


def attached(data: ProviderData | None, calls: Sequence[ToolCall]) -> list[ProviderData]:
    """What came with a reply and with its calls."""
    return [each for each in (data, *(call.provider_data for call in calls)) if each is not None]


def definition_tokens(tools: Sequence[ToolSpec]) -> int:
    """Tokens of the tools' definitions as a server sees them."""
    sent = [tool.model_dump(include={"name", "description", "parameters"}) for tool in tools]
    return estimate(json.dumps(sent, ensure_ascii=False)) if sent else 0


def estimate_request(request: ChatRequest) -> int:
    """Prompt tokens of a whole request: messages, images and tool definitions. Uncalibrated."""
    messages = sum(message_tokens(each.content, each.tool_calls, each.provider_data) for each in request.messages)
    return messages + IMAGE_TOKENS * sum(len(each.images) for each in request.messages) + definition_tokens(request.tools)


class Calibration:
    """How far one model's real counts are from the estimate: an exponential moving average of actual / estimated.

    Attributes:
        factor: multiply an estimate by this; 1.0 before anything was observed, always between 0.25 and 4.
    """

    WEIGHT = 0.3
    BOUNDS = (0.25, 4.0)

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = min(max(factor, self.BOUNDS[0]), self.BOUNDS[1])
        self._observed = False

    def observe(self, estimated: int, actual: int) -> None:
        """Take in one request's estimate and the server's own count; the first counts fully. Counts of 0 say nothing."""
        if estimated <= 0 or actual <= 0:
            return
        ratio = min(max(actual / estimated, self.BOUNDS[0]), self.BOUNDS[1])
        self.factor = ratio if not self._observed else self.factor + self.WEIGHT * (ratio - self.factor)
        self._observed = True

    def apply(self, estimated: int) -> int:
        """A calibrated estimate."""
        return math.ceil(estimated * self.factor)


def cost(usage: Usage, info: ModelInfo) -> float:
    """US dollars of a reply: what the server said it cost, else by the model's prices; 0 where they are unknown."""
    return priced(usage, info).cost


def priced(usage: Usage, info: ModelInfo | None) -> Usage:
    """The usage of a reply with its cost: what the server said, else by the model's prices. Without those all its tokens are unpriced."""
    if usage.cost > 0:
        return usage
    if info is None or info.price_input is None or info.price_output is None:
        known = 0.0 if info is None else _dollars(usage, info)
        return usage.model_copy(update={"cost": known, "tokens_unpriced": usage.tokens_input + usage.tokens_output})
    cost = _dollars(usage, info)
    uncached = usage.model_copy(update={"tokens_cached": 0, "tokens_stored": 0})
    return usage.model_copy(update={"cost": cost, "saved": round(_dollars(uncached, info) - cost, 12)})


def dearest_input(info: ModelInfo) -> float:
    """The most that a million tokens sent to a model may cost, for what is set aside before they are: all of them may go into a cache."""
    return max(info.price_input or 0.0, info.price_cache_write or 0.0)


def _dollars(usage: Usage, info: ModelInfo) -> float:
    sent = info.price_input or 0.0
    read = sent if info.price_cache_read is None else info.price_cache_read
    stored = sent if info.price_cache_write is None else info.price_cache_write
    plain = usage.tokens_input - usage.tokens_cached - usage.tokens_stored
    dollars = plain * sent + usage.tokens_cached * read + usage.tokens_stored * stored + usage.tokens_output * (info.price_output or 0.0)
    return dollars / 1_000_000
