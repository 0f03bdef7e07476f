"""Messages that are kept as they were sent: the same bytes as without, no longer than the messages, within a limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.model_messages import ChatMessage, ImagePart, Role
from atelier_desk.llm import encoded_message_cache
from atelier_desk.llm.anthropic.provider import AnthropicProvider
from atelier_desk.llm.encoded_message_cache import EncodedMessage, EncodedMessages, encoded_object
from atelier_desk.llm.google.provider import SCHEMA_WITH_TOOLS, GoogleProvider
from atelier_desk.llm.http_provider import HttpProvider
from atelier_desk.llm.mistral import MistralProvider
from atelier_desk.llm.ollama import OllamaProvider
from atelier_desk.llm.openai_compatible import (
    EMPTY_REASONING,
    MESSAGE_FIELDS,
    SYSTEM_MESSAGES,
    OpenAICompatibleProvider,
)
from atelier_desk.llm.openai_responses.provider import ResponsesProvider
from tests.helpers.manual_clock import ManualClock
from tests.llm.irregular_conversations import ANY, conversation
from tests.llm.provider_requests import ADD, ask, provider

THOUGHT = {
    "reasoning_content": "r",
    "thinking": "t",
    "thinking_parts": [{"type": "thinking", "thinking": []}],
    "blocks": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "length": 1}],
    "parts": [{"type": "text", "length": 1, "thoughtSignature": "s"}],
    "items": [{"type": "reasoning", "id": "rs_1"}, {"type": "text", "length": 1, "phase": "final"}],
}
MODELS: dict[type[HttpProvider], tuple[str, ...]] = {
    AnthropicProvider: ("claude-sonnet-4-5", "claude-2"),
    GoogleProvider: ("gemini-3.5-flash", "gemma-3"),
    MistralProvider: ("magistral-medium-latest", "mistral-large-latest"),
    OllamaProvider: ("qwen3",),
    OpenAICompatibleProvider: ("test-model",),
    ResponsesProvider: ("gpt-5.5",),
}
ASKED = [(made, model) for made, models in MODELS.items() for model in models]
REFUSED = (
    *("thinking", "enabled", "cache_control", "systemInstruction", SCHEMA_WITH_TOOLS, "reasoning_effort"),
    *(*MESSAGE_FIELDS, EMPTY_REASONING, SYSTEM_MESSAGES),
)
TEXTS = st.sampled_from(["a", "  ", 'Où ?\n"\\', "\ud800😀", "\u2028"])


def again(messages: list[ChatMessage]) -> list[ChatMessage]:
    """The same messages as other objects, of which nothing is kept."""
    return [message.model_copy(deep=True) for message in messages]


@pytest.mark.parametrize(("made", "model"), ASKED, ids=lambda each: each if isinstance(each, str) else each.kind)
@given(
    kinds=ANY,
    more=ANY,
    texts=st.lists(TEXTS, min_size=20, max_size=20),
    refused=st.lists(st.sets(st.sampled_from(REFUSED), max_size=3), min_size=3, max_size=3),
    tools=st.booleans(),
)
def test_every_request_has_the_bytes_that_it_has_when_nothing_is_kept(
    made: type[HttpProvider],
    model: str,
    kinds: list[str],
    more: list[str],
    texts: list[str],
    refused: list[set[str]],
    tools: bool,
) -> None:
    server = provider(made.kind, "http://127.0.0.1:9/v1", ManualClock())
    messages = [
        message.model_copy(update={"content": text})
        if message.content and message.provider_data is None and message.role is not Role.SYSTEM
        else message
        for message, text in zip(conversation([*kinds, *more], model, THOUGHT), texts, strict=False)
    ]

    def sent(messages: list[ChatMessage], missing: set[str]) -> dict[str, Any]:
        return server.payload(ask(*messages, model=model, tools=(ADD,) if tools else ()), frozenset(missing))

    for length, missing in zip((len(kinds), len(messages), len(messages)), refused, strict=True):
        asked = messages[:length] or [ChatMessage(role=Role.USER, content="u")]
        plain = json.dumps(sent(again(asked), missing), ensure_ascii=False, allow_nan=False)
        assert encoded_object(sent(asked, missing)) == plain


@pytest.fixture
def converted() -> Iterator[list[ChatMessage]]:
    before = EncodedMessages._bytes
    yield []
    assert EncodedMessages._bytes == before


def form(seen: list[ChatMessage]) -> EncodedMessages:
    def convert(message: ChatMessage) -> dict[str, Any]:
        seen.append(message.model_copy())
        return {"content": message.content}

    return EncodedMessages(convert)


def user(content: str, **more: Any) -> ChatMessage:
    return ChatMessage(role=Role.USER, content=content, **more)


def test_a_message_is_converted_once_as_long_as_it_lives(converted: list[ChatMessage]) -> None:
    messages, kept = [user("a"), user("a"), user("b")], form(converted)
    first = kept.all(messages)
    assert [id(each) for each in kept.all(messages)] == [id(each) for each in first]
    assert kept.one(messages[0]) is first[0]
    assert len(converted) == 3
    messages[0] = messages[0].model_copy(update={"content": "c"})
    assert kept.all(messages)[0] == {"content": "c"}
    del messages
    assert kept._cached == {}


def test_nothing_is_kept_beyond_the_limit(converted: list[ChatMessage], monkeypatch: pytest.MonkeyPatch) -> None:
    message = user("a" * 1000)
    monkeypatch.setattr(encoded_message_cache, "MOST_BYTES", EncodedMessages._bytes + 2000)
    kept = form(converted)
    assert kept.one(message) == kept.one(message) == {"content": message.content}
    assert len(converted) == 2
    assert encoded_object({"messages": [kept.one(message)]}) == json.dumps({"messages": [{"content": message.content}]})


def test_pictures_are_not_kept(converted: list[ChatMessage]) -> None:
    message, kept = user("a", images=(ImagePart(media_type="image/png", data="aGk="),)), form(converted)
    assert not isinstance(kept.one(message), EncodedMessage)
    assert kept._cached == {}


def test_what_is_no_json_is_refused_when_it_is_sent() -> None:
    message = user("a")
    kept = EncodedMessages(lambda _message: {"number": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        encoded_object({"messages": kept.all([message])})
