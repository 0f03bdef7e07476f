"""Mistral's API: only documented fields, valid ids, a valid order, thinking chunks."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import (
    MistralRequestValidatorV5,
    MistralRequestValidatorV11,
    MistralRequestValidatorV13,
    ValidationMode,
)
from mistralai.client.models import AssistantMessage

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, FinishReason, ImagePart, ReplyDone, Role, Usage
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.mistral import MistralProvider
from atelier_desk.llm.replies.chat_completion_parser import ChatCompletionParser
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.mistral import FIELDS, FakeMistral
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply
from tests.llm.irregular_conversations import ANY, SHAPES, conversation
from tests.llm.provider_requests import ADD, answer, ask, called, collect, joined, parsed_deltas, provider, result, send

KEY = "mistral-test-key-1"
THINKING = {"thinking_parts": [{"type": "thinking", "thinking": [{"type": "text", "text": "because"}], "closed": True}]}


def thought(model: str) -> ChatMessage:
    """A reply with the thinking that its server needs back."""
    data = ProviderData.pack("Server", model, THINKING)
    return ChatMessage(role=Role.ASSISTANT, content="a", provider_data=data)


@pytest.fixture
def chat(mistral_server: FakeMistral, clock: ManualClock) -> Any:
    mistral_server.api_key = KEY
    return provider("mistral", mistral_server.url, clock, key=KEY)


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("objects", [False, True])
async def test_a_reply_with_everything(
    mistral_server: FakeMistral, chat: Any, chunk_size: int | None, listed: bool, objects: bool
) -> None:
    mistral_server.listed_content, mistral_server.object_arguments = listed, objects
    calls = [
        Call("CalculatorTool", {"expression": "1+1"}, id="abcDEF123"),
        Call("CalculatorTool", {"expression": "2"}, id=None),
    ]
    mistral_server.script(Reply(text="Ça va", reasoning="réfléchir", calls=calls, chunk_size=chunk_size))
    reply = await answer(chat, tools=(ADD,))
    assert (reply.content, reply.reasoning) == ("Ça va", "réfléchir" if listed else "")
    assert [call.arguments for call in reply.tool_calls] == [{"expression": "1+1"}, {"expression": "2"}]
    assert reply.tool_calls[0].id == "abcDEF123"
    assert reply.tool_calls[1].id not in ("", "null", "abcDEF123")
    assert reply.usage == Usage(tokens_input=11, tokens_output=7)
    assert reply.finish_reason is FinishReason.TOOL_CALLS


async def test_foreign_ids_are_mapped_and_own_ones_unchanged(mistral_server: FakeMistral, chat: Any) -> None:
    mistral_server.script(Reply(text="ok"))
    messages: list[ChatMessage | str] = [
        "hi",
        called("call_0001"),
        result("call_0001"),
        called("abcDEF123"),
        result("abcDEF123"),
        called("x"),
        result("x"),
    ]
    await send(chat, *messages)
    sent = mistral_server.of("/v1/chat/completions")[0].json["messages"]
    made = [message["tool_calls"][0]["id"] for message in sent if message["role"] == "assistant"]
    answered = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert made == answered
    assert made[1] == "abcDEF123"
    assert len(set(made)) == 3


async def test_the_request_body(mistral_server: FakeMistral, chat: Any) -> None:
    mistral_server.script(Reply(text="ok"))
    image = ImagePart(media_type="image/png", data="aGk=")
    schema = {"type": "object", "properties": {}}
    request = ask(
        ChatMessage(role=Role.USER, content="Look", images=(image,)),
        model="mistral-large-latest",
        tools=(ADD,),
        temperature=2.0,
        stop=("END",),
        seed=4,
        response_schema=schema,
        grammar="root ::= x",
    )
    await collect(chat.stream(request))
    body = mistral_server.of("/v1/chat/completions")[0].json
    assert set(body) == {
        "model",
        "messages",
        "stream",
        "temperature",
        "max_tokens",
        "stop",
        "random_seed",
        "response_format",
        "tools",
    }
    assert (body["temperature"], body["random_seed"]) == (1.5, 4)
    assert body["messages"][0]["content"][1] == {"type": "image_url", "image_url": "data:image/png;base64,aGk="}


async def test_effort_is_sent_to_models_that_support_it(mistral_server: FakeMistral, chat: Any) -> None:
    mistral_server.script(Reply(text="ok"), Reply(text="ok"), Reply(text="ok"))
    for model, thinking in (
        ("mistral-medium-latest", True),
        ("mistral-medium-latest", False),
        ("mistral-large-latest", True),
    ):
        await send(chat, model=model, effort="low", enable_thinking=thinking)
    sent = [request.json.get("reasoning_effort") for request in mistral_server.of("/v1/chat/completions")]
    assert sent == ["low", "none", None]


@pytest.mark.parametrize(("thinking", "effort"), [(True, "high"), (False, "none")])
async def test_reasoning_is_switched_and_sent_back_where_supported(
    mistral_server: FakeMistral, chat: Any, thinking: bool, effort: str
) -> None:
    mistral_server.script(Reply(text="ok"), Reply(text="ok"))
    before = thought("mistral-medium-latest")
    for model in ("mistral-medium-latest", "mistral-large-latest"):
        await send(chat, "u", before, "v", model=model, enable_thinking=thinking)
    first, second = (request.json for request in mistral_server.of("/v1/chat/completions"))
    assert first["reasoning_effort"] == effort
    assert first["messages"][1]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "because"}], "closed": True},
        {"type": "text", "text": "a"},
    ]
    assert "reasoning_effort" not in second
    assert second["messages"][1]["content"] == "a"


async def test_a_refused_effort_is_dropped(mistral_server: FakeMistral, chat: Any) -> None:
    body = {
        "object": "error",
        "message": "reasoning_effort is not supported for this model",
        "type": "invalid_request",
        "code": "3051",
    }
    mistral_server.script(Failure(400, body), Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model="mistral-small-latest")
    sent = [request.json for request in mistral_server.of("/v1/chat/completions")]
    assert ["reasoning_effort" in body for body in sent] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, {"detail": "Unauthorized"}, "auth"),
        (401, {"message": "Your monthly quota is used up", "request_id": "1"}, "quota"),
        (422, {"object": "error", "message": {"detail": [{"loc": ["body", "messages"], "msg": "bad"}]}}, "bad_request"),
        (400, {"object": "error", "message": "Invalid model: x", "type": "invalid_model", "code": "1500"}, "not_found"),
    ],
)
async def test_refusals(mistral_server: FakeMistral, chat: Any, status: int, body: Any, code: str) -> None:
    mistral_server.script(Failure(status, body))
    with raises_code(ProviderError, code):
        await send(chat)


async def test_models(chat: Any) -> None:
    models = {info.name: info for info in await chat.list_models()}
    assert set(models) == {"mistral-test", "mistral-embed"}, "models that neither chat nor embed are left out"
    assert (
        models["mistral-test"].context_window,
        models["mistral-test"].supports_tools,
        models["mistral-test"].embedding,
    ) == (
        32768,
        True,
        False,
    )
    assert models["mistral-embed"].embedding
    assert (await chat.test()).models == 2


async def test_seventy_conversations_are_accepted(mistral_server: FakeMistral, chat: Any) -> None:
    mistral_server.script(*[Reply(text="ok")] * len(SHAPES))
    for kinds in SHAPES:
        messages = conversation(kinds, "mistral-medium-latest", THINKING)
        assert (await answer(chat, *messages, model="mistral-medium-latest", tools=(ADD,))).content == "ok", kinds


@given(ANY)
def test_every_conversation_passes_mistrals_own_validators(kinds: list[str]) -> None:
    """The validators of mistral-common, as its tokenizers of versions 5, 11 and 13 use them before serving."""
    messages = conversation(kinds, "mistral-medium-latest", THINKING)
    request = ask(*messages, model="mistral-large-latest", tools=(ADD,))
    body = MistralProvider.payload(MISTRAL, request, frozenset())
    assert set(body) <= FIELDS
    fields = {name: value for name, value in body.items() if name not in ("stream", "stop")}
    for validator in (MistralRequestValidatorV5, MistralRequestValidatorV11, MistralRequestValidatorV13):
        validator(mode=ValidationMode.serving).validate_request(ChatCompletionRequest(**json.loads(json.dumps(fields))))


MISTRAL: Any = provider("mistral", "http://127.0.0.1:9", ManualClock())


def test_thinking_is_sent_back_in_the_format_of_the_official_client() -> None:
    before = thought("magistral-medium-latest")
    body = MistralProvider.payload(
        MISTRAL, ask("u", before, "v", model="mistral-medium-latest"), frozenset({"reasoning_effort"})
    )
    assert body["messages"][1]["content"] == "a"
    body = MistralProvider.payload(MISTRAL, ask("u", before, "v", model="magistral-medium-latest"), frozenset())
    content = AssistantMessage.model_validate(body["messages"][1]).content
    assert isinstance(content, list)
    assert [type(part).__name__ for part in content] == ["ThinkChunk", "TextChunk"]


def stream_bytes() -> bytes:
    server = FakeMistral()
    server.listed_content = True
    reply = Reply(text="Où ? 3 € 🙂", reasoning="d'abord", calls=[Call("a", {"é": 1}, id="abcDEF123")], pieces=2)
    return b"".join(server.events(reply, with_usage=False))


STREAM = stream_bytes()


@given(st.sets(st.integers(0, len(STREAM)), max_size=40))
def test_every_chunking_gives_the_same(cuts: set[int]) -> None:
    def parsed(pieces: list[bytes]) -> Any:
        parser = ChatCompletionParser(ask(), ErrorLocation("Mistral"))
        deltas = parsed_deltas(parser, pieces)
        assert isinstance(deltas[-1], ReplyDone)
        return joined(deltas), deltas[-1].reply

    whole = parsed([STREAM])
    assert whole[0] == ("Où ? 3 € 🙂", "d'abord")
    places = sorted(cuts | {0, len(STREAM)})
    assert parsed([STREAM[start:end] for start, end in itertools.pairwise(places)]) == whole
