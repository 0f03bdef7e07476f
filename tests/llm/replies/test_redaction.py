"""A server that repeats the key it was sent: it is in nothing that is shown or stored."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, ReasoningDelta, ReplyDone, TextDelta, ToolCallDelta
from atelier_desk.llm.replies.redaction import without_secrets
from atelier_desk.llm.secrets import remember
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply
from tests.llm.provider_requests import ask, collect, provider, reply_of

KEY = "zq-Echo-9f8e7d6c5b4a39281706fedcba"


@pytest.fixture(autouse=True)
def known() -> None:
    remember(KEY)


@pytest.mark.parametrize("pieces", [1, 3, 7, 500])
@pytest.mark.parametrize("whole", [False, True])
async def test_a_key_that_the_server_repeats_is_hidden(
    openai_server: FakeOpenAI, clock: ManualClock, pieces: int, whole: bool
) -> None:
    escaped = "".join(f"\\u{ord(char):04x}" for char in KEY)
    call = Call(KEY, f'{{"{KEY}": ["key={KEY}", "{escaped}"]}}', id=f"id-{KEY}", whole=whole)
    openai_server.script(
        Reply(text=f"Your key is {KEY} ok z", reasoning=f"think {KEY}", calls=[call], pieces=pieces, model=KEY)
    )
    deltas = await collect(provider("openai", openai_server.url, clock, key=KEY).stream(ask()))
    reply = reply_of(deltas)
    assert (reply.content, reply.reasoning) == ("Your key is [redacted] ok z", "think [redacted]")
    assert (reply.tool_calls[0].name, reply.tool_calls[0].id) == ("[redacted]", "id-[redacted]")
    assert (reply.tool_calls[0].raw or str(reply.tool_calls[0].arguments)).count("[redacted]") == 3
    shown = "".join(each.content for each in deltas if isinstance(each, TextDelta | ReasoningDelta))
    assert KEY not in shown + str([each for each in deltas if not isinstance(each, ToolCallDelta)])


async def test_an_encoded_key_is_hidden_in_the_whole_reply(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    encoded = base64.b64encode(f"Bearer {KEY}".encode()).decode()
    openai_server.script(Reply(text=f"It is {encoded}.", pieces=500))
    deltas = await collect(provider("openai", openai_server.url, clock, key=KEY).stream(ask()))
    assert reply_of(deltas).content == "It is [redacted]."


async def streamed(*deltas: ChatDelta, error: ProviderError | None = None) -> AsyncGenerator[ChatDelta, None]:
    for delta in deltas:
        yield delta
    if error is not None:
        raise error


async def test_what_only_looks_like_the_start_of_a_key_is_shown() -> None:
    """In order, with the kind it came in, and also if the stream breaks off then."""
    parts = (
        TextDelta(content="a zq-Ec"),
        ReasoningDelta(content="zq", all_before=True),
        TextDelta(content="z"),
        TextDelta(content="q-zq-E"),
        TextDelta(content="nd zq"),
    )
    seen: list[tuple[str, str]] = []
    with pytest.raises(ProviderError):
        async for delta in without_secrets(streamed(*parts, error=ProviderError("lost", code="truncated"))):
            assert isinstance(delta, TextDelta | ReasoningDelta)
            seen.append((delta.kind, delta.content))
    assert seen == [
        ("text", "a "),
        ("text", "zq-Ec"),
        ("reasoning", ""),
        ("reasoning", "zq"),
        ("text", "zq-"),
        ("text", "zq-End "),
        ("text", "zq"),
    ]


async def test_a_text_without_secrets_passes_unchanged() -> None:
    parts = [TextDelta(content=each) for each in ("Hello", " wor", "ld")]
    assert [delta async for delta in without_secrets(streamed(*parts))] == parts
    assert not [delta async for delta in without_secrets(streamed()) if isinstance(delta, ReplyDone)]
