"""Requests and helpers that read streams, for the tests of providers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatMessage,
    ChatReply,
    ChatRequest,
    ReasoningDelta,
    ReplyDone,
    RetryDelta,
    Role,
    TextDelta,
    ToolCallDelta,
    ToolSpec,
)
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.http_provider import HttpProvider
from atelier_desk.llm.http_provider_factory import create_http_provider
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.manual_clock import ManualClock
from tests.helpers.tool_calls import tool_call

ADD = ToolSpec(
    name="CalculatorTool",
    description="Adds.",
    parameters={"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
)


NAMES = (
    *(
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "index",
        "id",
        "finish_reason",
        "usage",
    ),
    *(
        "prompt_tokens",
        "prompt_tokens_details",
        "cost",
        "timings",
        "predicted_n",
        "error",
        "code",
        "type",
        "text",
        "thinking",
        "reasoning",
    ),
    *(
        "object",
        "model",
        "done",
        "done_reason",
        "eval_count",
        "prompt_eval_count",
        "detail",
        "status",
        "loc",
        "msg",
        "n_ctx",
    ),
)


def provider(
    kind: str,
    url: str,
    clock: Clock,
    *,
    key: str = "",
    name: str = "Server",
    environ: dict[str, str] | None = None,
    **fields: Any,
) -> HttpProvider:
    """A provider for a fake server; its retry delays are exact. ``fields`` are more of its configuration."""
    vault = KeyVault(environ=environ or {})
    if key:
        vault.set(name, key)
    made = create_http_provider(ProviderConfig(name=name, kind=kind, base_url=url, **fields), vault, clock)
    made._rng = lambda: 0.0
    return made


def ask(*messages: ChatMessage | str, **fields: Any) -> ChatRequest:
    """A request; a plain text is a user message."""
    items = tuple(ChatMessage(role=Role.USER, content=m) if isinstance(m, str) else m for m in messages or ("Hello",))
    fields = {"temperature": 0.7, **fields}
    return ChatRequest(**{"model": "test-model", "messages": items, **fields})


def called(id: str, name: str = "CalculatorTool", content: str = "", **arguments: Any) -> ChatMessage:
    return ChatMessage(role=Role.ASSISTANT, content=content, tool_calls=(tool_call(name, id, **arguments),))


def result(id: str, content: str = "2", name: str = "CalculatorTool") -> ChatMessage:
    return ChatMessage(role=Role.TOOL, content=content, tool_call_id=id, name=name)


def said(reply: ChatReply) -> ChatMessage:
    """A reply as the engine puts it back, after storing and reading it."""
    stored = ChatReply.model_validate_json(reply.model_dump_json())
    return ChatMessage(
        role=Role.ASSISTANT, content=stored.content, tool_calls=stored.tool_calls, provider_data=stored.provider_data
    )


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 600)
    | st.floats()
    | st.sampled_from(["", "x", "stop", "length", "error", "null", "{", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
"""JSON made of field names of the protocol in the wrong positions."""


async def run(clock: ManualClock, stream: Any) -> list[Any]:
    """Read a stream to its end, moving the clock by exactly the delay that each retry announces."""
    deltas: list[Any] = []
    iterator = aiter(stream)
    pending: asyncio.Task[Any] = asyncio.ensure_future(anext(iterator))
    while True:
        try:
            delta = await pending
        except StopAsyncIteration:
            return deltas
        deltas.append(delta)
        pending = asyncio.ensure_future(anext(iterator))
        if isinstance(delta, RetryDelta):
            sleeping = clock.sleepers
            await clock.settle()
            assert clock.sleepers > sleeping or delta.delay_s == 0
            assert not pending.done()
            await clock.advance(delta.delay_s)


def parsed_deltas(parser: Any, pieces: Iterable[Any]) -> list[ChatDelta]:
    """All that a parser makes of a stream that came in these pieces."""
    deltas: list[ChatDelta] = [delta for piece in pieces for delta in parser.feed(piece)]
    return deltas + list(parser.close())


def cut_at(stream: bytes, cuts: set[int]) -> list[bytes]:
    """A stream in pieces."""
    return [stream[start:end] for start, end in itertools.pairwise(sorted(cuts | {0, len(stream)}))]


async def collect(stream: AsyncIterator[ChatDelta]) -> list[ChatDelta]:
    return [delta async for delta in stream]


async def send(provider: Any, *messages: ChatMessage | str, **fields: Any) -> list[ChatDelta]:
    """All deltas of the reply to a request as ``ask`` makes it."""
    return await collect(provider.stream(ask(*messages, **fields)))


async def answer(provider: Any, *messages: ChatMessage | str, **fields: Any) -> ChatReply:
    """The reply to a request as ``ask`` makes it."""
    return reply_of(await send(provider, *messages, **fields))


def reply_of(deltas: Sequence[ChatDelta]) -> ChatReply:
    """The reply of a stream, after checking that it comes last, only once, and agrees with the deltas."""
    assert [isinstance(delta, ReplyDone) for delta in deltas].count(True) == 1
    last = deltas[-1]
    assert isinstance(last, ReplyDone)
    assert joined(deltas) == (last.reply.content, last.reply.reasoning)
    return last.reply


def joined(deltas: Sequence[ChatDelta]) -> tuple[str, str]:
    """All text and all reasoning of a stream."""
    text = "".join(delta.content for delta in deltas if isinstance(delta, TextDelta))
    return text, "".join(delta.content for delta in deltas if isinstance(delta, ReasoningDelta))


def arguments(deltas: Sequence[ChatDelta]) -> dict[int, str]:
    """Argument text of each call, as its deltas gave it."""
    texts: dict[int, str] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            texts[delta.index] = texts.get(delta.index, "") + delta.arguments
    return texts


def retries(deltas: Sequence[ChatDelta]) -> list[tuple[int, float, str]]:
    return [(delta.attempt, delta.delay_s, delta.reason) for delta in deltas if isinstance(delta, RetryDelta)]
