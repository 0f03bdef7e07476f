"""Connection test of a model: one short request through the same path as real work."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role
from atelier_desk.engine.run.request.reply_processing import ReceivedReply
from atelier_desk.llm.network.inactivity_timeout import watched
from atelier_desk.llm.token_and_cost_estimates import estimate, highest_input_price
from atelier_desk.policy import budget
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ModelInfo
    from atelier_desk.domain.usage import CheckAgain
    from atelier_desk.llm.interfaces import ChatModel

PROMPT = "Say hello in one short sentence."
MAX_TOKENS = 48
"""Maximum reply tokens; reasoning models need some room before they answer."""
SILENCE_S = 60.0
"""Inactivity limit in seconds, shorter than the connection's own."""
SILENT = N_("The model did not respond for {seconds} seconds. Try again, or choose another one.")


@dataclass(frozen=True, slots=True)
class Trial:
    """A model's answer, and its duration."""

    text: str
    ms: int


def cost_of(info: ModelInfo) -> float | None:
    """US dollars that the test may cost; None where no price is known."""
    if not info.priced:
        return None
    return budget.cost_of(estimate(PROMPT) + 20, MAX_TOKENS, (highest_input_price(info), info.price_output or 0.0))


async def try_model(server: ChatModel, model: str, clock: Clock, check_again: CheckAgain) -> Trial:
    """Ask the model for a sentence; ``check_again`` is awaited before each further attempt.

    Raises:
        ProviderError: it cannot be reached, refused, answered nothing, or was silent for ``SILENCE_S``.
    """
    began = time.monotonic()
    messages = (ChatMessage(role=Role.USER, content=PROMPT),)
    request = ChatRequest(model=model, messages=messages, max_tokens=MAX_TOKENS, enable_thinking=False)
    received = ReceivedReply(MAX_TOKENS)
    await received.read(watched(server.stream(request), clock, SILENCE_S, SILENT), check_again)
    text = " ".join(received.reply.content.split())
    if not text and not received.reasoned:
        raise ProviderError(N_("The model did not answer; try another one."), code="empty_reply")
    return Trial(text or "…", round((time.monotonic() - began) * 1000))
