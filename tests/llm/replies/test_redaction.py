"""A server that repeats the key it was sent: it is in nothing that is shown or stored."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, ReasoningDelta, ReplyDone, TextDelta, ToolCallDelta
from atelier_desk.llm.replies.redaction import REPEATED_KEY, without_secrets
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


async def test_a_call_with_a_key_in_its_arguments_is_not_made_with_others(
    openai_server: FakeOpenAI, clock: ManualClock
) -> None:
    openai_server.script(Reply(calls=[Call("write_file", f'{{"path": "a", "content": "{KEY}"}}')]))
    (call,) = reply_of(await collect(provider("openai", openai_server.url, clock, key=KEY).stream(ask()))).tool_calls
    assert call.error == REPEATED_KEY
    assert KEY not in str(call)


@pytest.mark.parametrize("word", ["lm-studio", "not-needed", "postgres", "a passphrase of words"])
async def test_words_that_are_also_keys_stay_in_calls_and_text(
    openai_server: FakeOpenAI, clock: ManualClock, word: str
) -> None:
    remember(word)
    arguments = {"path": f"/srv/{word}/x", "content": f"api_key='{word}'"}
    openai_server.script(Reply(text=f"Use {word}.", calls=[Call("write_file", json.dumps(arguments))], pieces=3))
    reply = reply_of(await collect(provider("openai", openai_server.url, clock, key=KEY).stream(ask())))
    assert (reply.content, reply.tool_calls[0].arguments, reply.tool_calls[0].error) == (
        f"Use {word}.",
        arguments,
        None,
    )


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
