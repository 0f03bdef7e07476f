"""Process a reply before it is committed: finish reason, usage, and unique call ids. Pure."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    FinishReason,
    ReasoningDelta,
    ReplyDone,
    RetryDelta,
    RetryDue,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.usage import CheckAgain
from atelier_desk.llm.secrets import redact_reply
from atelier_desk.llm.token_and_cost_estimates import BYTES_PER_TOKEN, at_most, estimate, priced
from atelier_desk.support.i18n import N_

MANY_TIMES = 20
SLACK = 10_000
"""Counts are accepted up to ``MANY_TIMES`` our estimate plus ``SLACK`` tokens.

The estimate lacks templates, images and hidden reasoning, but real counts are never further off.
"""
LONGEST_TIMES = 3
"""Replies longer than this multiple of the allowed tokens, as estimated, are cut.

Exceeding it legitimately would need tokens of 10 bytes on average; prose has 4 to 5.
"""
MOST_COST = 1_000.0
"""US dollars; no single reply costs more."""


def judged(reply: ChatReply, model: str) -> ChatReply:
    """Correct the finish reason where the server reports anything as a stop, and name the requested model as people
    chose it where the server names its dated version: ``gpt-4o`` for ``gpt-4o-2024-08-06``.
    """
    base = model.removesuffix("-latest")
    if reply.model != model and reply.model.startswith(base) and _DATED.fullmatch(reply.model[len(base) :]):
        reply = reply.model_copy(update={"model": model})
    reason = reply.finish_reason
    if reply.tool_calls and reason is FinishReason.STOP:
        reason = FinishReason.TOOL_CALLS
    elif not reply.tool_calls and not reply.content.strip() and reason not in _STOPPED:
        reason = FinishReason.EMPTY
    return reply if reason is reply.finish_reason else reply.model_copy(update={"finish_reason": reason})


_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4}(\d{2}){0,2})")
_STOPPED = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.REPETITION)
"""Finish reasons that explain an empty reply."""


class Length:
    """Length of a reply. A server that ignores ``max_tokens`` must not write forever at the user's cost."""

    def __init__(self, max_tokens: int) -> None:
        self._left = LONGEST_TIMES * (max_tokens + 100) * BYTES_PER_TOKEN

    def over(self, delta: ChatDelta) -> bool:
        """Count one piece; return whether the reply is longer than ``max_tokens`` of any tokenizer."""
        if isinstance(delta, TextDelta | ReasoningDelta):
            self._left -= len(delta.content.encode("utf-8", errors="replace"))
        elif isinstance(delta, ToolCallDelta):
            self._left -= len(delta.arguments.encode("utf-8", errors="replace"))
        return self._left < 0


class ReceivedReply:
    """What came of a reply that nobody watches: it costs, also when its stream fails, is closed here or is cancelled.

    Attributes:
        cut: the stream was closed because the reply was too long.
    """

    def __init__(self, max_tokens: int) -> None:
        self.cut = False
        self._max_tokens = max_tokens
        self._length = Length(max_tokens)
        self._begun = False
        self._done: ChatReply | None = None
        self._content: list[str] = []
        self._reasoning: list[str] = []

    @property
    def reply(self) -> ChatReply:
        """The whole reply, or what came so far."""
        content = redact_reply("".join(self._content))
        if self._done is not None:
            return self._done if self._done.content else self._done.model_copy(update={"content": content})
        return ChatReply(content=content, reasoning=redact_reply("".join(self._reasoning)))

    @property
    def reasoned(self) -> bool:
        """Whether any reasoning came."""
        return bool(self._reasoning or (self._done is not None and self._done.reasoning))

    async def read(self, deltas: AsyncGenerator[ChatDelta, None], check_again: CheckAgain) -> None:
        """Read the reply to its end, or as far as its length is allowed. ``check_again`` is awaited before the provider
        sends the request once more, and raises if it must not.

        Raises:
            ProviderError: an attempt failed that may be charged for (room for one was reserved), or the stream did.
        """
        try:
            await self._read(deltas, check_again)
        except ProviderError as error:
            error.charged = error.charged or self._begun
            raise

    async def _read(self, deltas: AsyncGenerator[ChatDelta, None], check_again: CheckAgain) -> None:
        async with aclosing(deltas):
            async for delta in deltas:
                self._begun = self._begun or not isinstance(delta, RetryDelta | RetryDue)
                if self._length.over(delta):
                    self.cut = True
                    return
                if isinstance(delta, TextDelta):
                    self._content.append(delta.content)
                elif isinstance(delta, ReasoningDelta):
                    self._reasoning.append(delta.content)
                elif isinstance(delta, ReplyDone):
                    self._done = delta.reply
                elif isinstance(delta, RetryDue):
                    await check_again()
                elif isinstance(delta, RetryDelta) and delta.charged:
                    # Reserved was one request; the next would be a second one to pay for.
                    raise ProviderError(
                        N_("The model's answer ended unexpectedly."), code=delta.reason, recoverable=True, charged=True
                    )

    def charged(self, error: BaseException) -> bool:
        """Whether the server may charge for the request that ended with ``error``: not if it refused it, or was not
        reached.
        """
        refused = isinstance(error, AtelierError) and not (isinstance(error, ProviderError) and error.charged)
        return self._begun or not refused

    def usage(self, tokens_input: int, info: ModelInfo) -> Usage:
        """Return what the request used: if it broke off, its cost is the most that it may be.

        Args:
            tokens_input: our estimate of the request.
        """
        found = priced(counted(self.reply, tokens_input=tokens_input, most_output=self._max_tokens), info)
        if self._done is not None or self.cut:
            return found
        return unended(found, at_most(tokens_input, self._max_tokens, info))


def unended(usage: Usage, most: Usage) -> Usage:
    """Return the usage of a reply whose end did not come: what its server counted is not known, so its cost is the most
    that it may be.
    """
    cost = max(usage.cost, most.cost)
    return usage.model_copy(update={"cost": cost, "cost_estimated": cost, "saved": 0.0})


def counted(reply: ChatReply, *, tokens_input: int, most_output: int, called: str = "") -> Usage:
    """Return the reply's usage: the server's counts, with our estimate in place of missing or implausible ones.

    Args:
        tokens_input: our estimate of the request.
        most_output: allowed tokens of the reply.
        called: the received part of its calls, if they are not in it because its stream was closed.
    """
    called = "".join(str(call.arguments) for call in reply.tool_calls) or called
    written = estimate(reply.content + reply.reasoning + called)
    usage = reply.usage
    if usage is None:
        return Usage(tokens_input=tokens_input, tokens_output=written, estimated=True)
    # 0 is no count: a server that does not count must not disable a limit.
    usable_input = min(tokens_input, 1) <= usage.tokens_input <= MANY_TIMES * tokens_input + SLACK
    usable_output = min(written, 1) <= usage.tokens_output <= MANY_TIMES * max(written, 1) + max(most_output, SLACK)
    sent = usage.tokens_input if usable_input else tokens_input
    output = usage.tokens_output if usable_output else written
    cached = min(max(usage.tokens_cached, 0), sent) if usable_input else 0
    return Usage(
        tokens_input=sent,
        tokens_output=output,
        tokens_cached=cached,
        tokens_stored=min(max(usage.tokens_stored, 0), sent - cached) if usable_input else 0,
        tokens_reasoning=min(max(usage.tokens_reasoning, 0), output) if usable_output else 0,
        cost=usage.cost if 0 <= usage.cost <= MOST_COST else 0.0,
        estimated=usage.estimated or not (usable_input and usable_output),
    )


def unique_calls(reply: ChatReply, used: set[str]) -> ChatReply:
    """Make the call ids unique in the run: some servers number the calls of each reply from zero."""
    calls = []
    ids_in_use = set(used)
    for call in reply.tool_calls:
        name = call.id or "call"
        fresh, number = call.id or "call-1", 1
        while fresh in ids_in_use:
            number += 1
            fresh = f"{name}-{number}"
        ids_in_use.add(fresh)
        calls.append(call if fresh == call.id else call.model_copy(update={"id": fresh}))
    return reply.model_copy(update={"tool_calls": tuple(calls)})
