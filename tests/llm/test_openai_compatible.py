"""OpenAI-compatible servers in all their variety, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, FinishReason, ImagePart, ReplyDone, Role, TextDelta, Usage
from atelier_desk.llm.openai_compatible import OpenAICompatibleProvider, json_schema_format
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply
from tests.llm.provider_requests import (
    ADD,
    answer,
    arguments,
    ask,
    called,
    collect,
    joined,
    provider,
    reply_of,
    result,
    send,
)


@pytest.fixture
def chat(openai_server: FakeOpenAI, clock: ManualClock) -> Any:
    return provider("openai", openai_server.url, clock)


@pytest.mark.parametrize("chunk_size", [None, 1, 3])
@pytest.mark.parametrize("dialect", ["plain", "quirky"])
async def test_a_reply_with_everything(
    openai_server: FakeOpenAI, chat: Any, chunk_size: int | None, dialect: str
) -> None:
    if dialect == "quirky":
        openai_server.newline, openai_server.space, openai_server.comments = "\r\n", "", True
        openai_server.reasoning_field = "reasoning"
    calls = [
        Call("CalculatorTool", {"expression": "1+1 é"}, id="a"),
        Call("CalculatorTool", {"expression": "2"}, id="b", whole=True),
    ]
    openai_server.script(Reply(text="Voilà 🙂", reasoning="réfléchir", calls=calls, chunk_size=chunk_size))
    deltas = await send(chat, tools=(ADD,))
    reply = reply_of(deltas)
    assert (reply.content, reply.reasoning) == ("Voilà 🙂", "réfléchir")
    assert [(call.id, call.arguments) for call in reply.tool_calls] == [
        ("a", {"expression": "1+1 é"}),
        ("b", {"expression": "2"}),
    ]
    assert arguments(deltas) == {0: '{"expression": "1+1 \\u00e9"}', 1: '{"expression": "2"}'}
    assert (reply.finish_reason, reply.model) == (FinishReason.TOOL_CALLS, "test-model")
    assert reply.usage == Usage(tokens_input=11, tokens_output=7)


async def test_the_request_body(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="ok"))
    image = ImagePart(media_type="image/png", data="aGk=")
    messages = (
        ChatMessage(role=Role.SYSTEM, content="Be brief."),
        ChatMessage(role=Role.USER, content="Look", images=(image,)),
        called("call_1", expression="1+1"),
        result("call_1"),
    )
    request = ask(
        *messages, tools=(ADD,), temperature=0.0, max_tokens=300, stop=("END",), seed=4, enable_thinking=False
    )
    await collect(chat.stream(request))
    body = openai_server.of("/v1/chat/completions")[0].json
    assert body == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "CalculatorTool", "arguments": '{"expression": "1+1"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "2"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
        "max_tokens": 300,
        "stop": ["END"],
        "seed": 4,
        "chat_template_kwargs": {"enable_thinking": False},
        "tools": [
            {
                "type": "function",
                "function": {"name": "CalculatorTool", "description": "Adds.", "parameters": ADD.parameters},
            }
        ],
    }
    assert "authorization" not in openai_server.requests[0].headers


async def test_effort_is_sent_and_omitted_where_refused(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="ok"), Reply(text="ok"), Reply(text="ok"))
    await send(chat, effort="low")
    await send(chat, effort="low", enable_thinking=False)
    await send(chat)
    sent = [request.json.get("reasoning_effort") for request in openai_server.of("/v1/chat/completions")]
    assert sent == ["low", None, None]


async def test_schema_and_grammar(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="{}"), Reply(text="x"))
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    await send(chat, response_schema=schema)
    await send(chat, grammar='root ::= "x"', tools=(ADD,))
    first, second = (request.json for request in openai_server.requests)
    assert first["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": schema, "strict": False},
    }
    assert second["grammar"] == 'root ::= "x"'
    assert "tools" not in second, "llama.cpp refuses a grammar together with tools"


@pytest.mark.parametrize(
    ("refusals", "kinds"),
    [
        (["This response_format type is unavailable now"], ["json_schema", "json_object"]),
        (
            ["response_format.type json_schema is not supported", "Unknown field response_format"],
            ["json_schema", "json_object", None],
        ),
    ],
)
async def test_a_server_without_schemas_is_asked_for_json_and_then_by_the_prompt(
    openai_server: FakeOpenAI, chat: Any, refusals: list[str], kinds: list[str | None]
) -> None:
    openai_server.script(
        *[Failure(400, {"error": {"message": said}}) for said in refusals], Reply(text="{}"), Reply(text="{}")
    )
    for _ in range(2):
        await send(chat, response_schema={"type": "object"})
    sent = [request.json.get("response_format", {}).get("type") for request in openai_server.requests]
    assert sent == [*kinds, kinds[-1]]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "Jinja Exception: System role not supported"),
        (400, "System role not supported"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    ],
)
@pytest.mark.parametrize("first", ["user", "call"])
async def test_a_model_without_system_messages_gets_them_as_a_user_message(
    openai_server: FakeOpenAI, chat: Any, status: int, said: str, first: str
) -> None:
    openai_server.script(Failure(status, {"error": {"message": said}}), Reply(text="ok"), Reply(text="ok"))
    begun = ["Hello"] if first == "user" else [called("c1", expression="1"), result("c1"), "Hello"]
    for _ in range(2):
        await send(chat, ChatMessage(role=Role.SYSTEM, content="Be short."), *begun)
    refused, again, later = (request.json["messages"] for request in openai_server.requests)
    assert refused[0] == {"role": "system", "content": "Be short."}
    assert again == later
    assert [each["role"] for each in again].count("system") == 0
    assert again[0]["role"] == "user"
    assert again[0]["content"].startswith("Be short.")


async def test_only_openais_own_servers_get_a_schema_with_tools(
    openai_server: FakeOpenAI, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.script(Reply(text="{}"), Reply(text="{}"))
    asked = ask(response_schema={"type": "object"}, tools=(ADD,))
    await collect(chat.stream(asked))
    monkeypatch.setattr("atelier_desk.llm.openai_compatible.OpenAICompatibleProvider._is_openai", lambda self: True)
    await collect(chat.stream(asked))
    assert ["response_format" in request.json for request in openai_server.requests] == [False, True]


def test_strict_schemas_are_marked() -> None:
    inner = {
        "type": "object",
        "properties": {"b": {"type": "number"}},
        "required": ["b"],
        "additionalProperties": False,
    }
    outer = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": inner}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert json_schema_format(outer)["json_schema"]["strict"] is True
    assert (
        json_schema_format({**outer, "properties": {"a": {**inner, "required": []}}})["json_schema"]["strict"] is False
    )


@pytest.mark.parametrize(
    ("field", "message", "instead"),
    [
        ("stream_options", "stream_options is not a thing here", None),
        ("seed", "Unrecognized request argument supplied: seed", None),
        ("temperature", "Unsupported value: 'temperature' does not support 0.7 with this model.", None),
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model.",
            "max_completion_tokens",
        ),
    ],
)
async def test_a_refused_field_is_omitted_and_remembered(
    openai_server: FakeOpenAI, chat: Any, field: str, message: str, instead: str | None
) -> None:
    openai_server.refused = {field: message}
    openai_server.script(Reply(text="one"), Reply(text="two"))
    for text in ("one", "two"):
        reply = await answer(chat, seed=1)
        assert reply.content == text
        assert (reply.usage is None) == (field == "stream_options")
    bodies = [request.json for request in openai_server.requests]
    assert [field in body for body in bodies] == [True, False, False]
    assert instead is None or bodies[2][instead] == 4096


async def test_a_refusal_of_something_else_is_an_error(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.refused = {"messages": "messages is unknown"}
    with raises_code(ProviderError, "bad_request"):
        await send(chat)
    assert len(openai_server.requests) == 1


async def test_a_server_without_streaming(openai_server: FakeOpenAI, chat: Any) -> None:
    body = {
        "choices": [
            {
                "message": {
                    "content": "<think>hm</think>Hi",
                    "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}],
                }
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}},
    }
    openai_server.script(Reply(raw=json.dumps(body).encode(), content_type="application/json", chunk_size=9))
    reply = await answer(chat)
    assert (reply.content, reply.reasoning, reply.tool_calls[0].arguments) == ("Hi", "hm", {"a": 1})
    assert reply.tool_calls[0].id
    assert reply.usage == Usage(tokens_input=1, tokens_output=2, tokens_reasoning=1)


async def test_an_event_stream_declared_as_json(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="Hello", content_type="application/json", chunk_size=3))
    assert (await answer(chat)).content == "Hello"


async def test_json_declared_as_an_event_stream(openai_server: FakeOpenAI, chat: Any) -> None:
    body = b"\n " + json.dumps({"choices": [{"message": {"content": "Hi"}}]}).encode()
    openai_server.script(Reply(raw=body, chunk_size=1))
    assert (await answer(chat)).content == "Hi"


async def test_empty_events_are_ignored(openai_server: FakeOpenAI, chat: Any) -> None:
    chunk = json.dumps({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    openai_server.script(Reply(raw=f"data:\n\ndata: \n\ndata: {chunk}\n\ndata:\n\ndata: [DONE]\n\n".encode()))
    assert (await answer(chat)).content == "Hi"


async def test_reasoning_with_only_an_end_tag(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="12 times 7\nis 84.\n</think>\n\nIt is 84."), Reply(text="</think>\n\nIt is 84."))
    deltas = await send(chat)
    assert isinstance(deltas[-1], ReplyDone)
    assert (deltas[-1].reply.reasoning, deltas[-1].reply.content) == ("12 times 7\nis 84.", "It is 84.")
    assert (await answer(chat)).content == "It is 84."


async def test_missing_ids_are_generated(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(calls=[Call("a", id=None), Call("b", id=None)]))
    reply = await answer(chat)
    assert [call.name for call in reply.tool_calls] == ["a", "b"]
    assert len({call.id for call in reply.tool_calls}) == 2
    assert all(call.id.startswith("call_") for call in reply.tool_calls)


async def test_deltas_arrive_while_the_server_still_writes(openai_server: FakeOpenAI, chat: Any) -> None:
    gate = asyncio.Event()
    openai_server.script(Reply(text="Hello there", hold_after=2, gate=gate))
    stream = chat.stream(ask())
    assert await anext(stream) == TextDelta(content="Hello")
    gate.set()
    assert reply_of([TextDelta(content="Hello"), *await collect(stream)]).content == "Hello there"


async def test_the_end_mark_may_be_missing_after_the_finish_reason(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(
        Reply(text="done", end_mark=False), Reply(text="done", finish=None), Reply(text="cut off", finish="length")
    )
    assert (await answer(chat)).content == "done"
    assert (await answer(chat)).finish_reason is FinishReason.STOP
    assert (await answer(chat)).finish_reason is FinishReason.LENGTH


async def test_a_server_that_stays_silent_after_the_finish_reason(
    openai_server: FakeOpenAI, chat: Any, clock: ManualClock
) -> None:
    openai_server.script(Reply(text="done", end_mark=False, usage=None, tail_open=True))
    stream = chat.stream(ask())
    assert await anext(stream) == TextDelta(content="done")
    rest = asyncio.create_task(collect(stream))
    while not rest.done():
        await clock.advance(1)
    assert reply_of([TextDelta(content="done"), *await rest]).content == "done"
    assert clock.monotonic() <= 60


@pytest.mark.parametrize("reply", [Reply(text="Hello", end_mark=False, finish=None), Reply(text="Hello", cut_after=2)])
async def test_a_stream_without_its_end_is_truncated(openai_server: FakeOpenAI, chat: Any, reply: Reply) -> None:
    openai_server.script(reply)
    shown = []
    with pytest.raises(ProviderError) as caught:
        async for delta in chat.stream(ask()):
            shown.append(delta)
    assert (caught.value.code, caught.value.recoverable) == ("truncated", True)
    assert joined(shown)[0] == "Hello"


async def test_a_cut_after_the_finish_reason_loses_nothing(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.script(Reply(text="Hello", cut_after=3))
    assert (await answer(chat)).content == "Hello"


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({"error": {"code": 502, "message": "Provider returned error"}}, "server_error"),
        ({"error": {"code": 429, "message": "slow"}, "choices": []}, "rate_limited"),
        ({"object": "error", "message": "gone", "code": 400}, "bad_request"),
        ({"error": {"type": "exceed_context_size_error", "message": "m", "n_ctx": 64}}, "context_overflow"),
        ({"choices": [{"delta": {}, "finish_reason": "error"}]}, "server_error"),
    ],
)
async def test_an_error_in_the_middle(openai_server: FakeOpenAI, chat: Any, event: dict[str, Any], code: str) -> None:
    openai_server.script(Reply(text="abcdefghij", midway_error=event, error_after=2))
    shown = []
    with raises_code(ProviderError, code):
        async for delta in chat.stream(ask()):
            shown.append(delta)
    assert joined(shown) == ("abcde", "")
    assert len(openai_server.requests) == 1, "never sent again once something was shown"


@pytest.mark.parametrize("raw", [b"data: {broken\n\n", b"data: [1]\n\n"])
async def test_nonsense_is_a_bad_response(openai_server: FakeOpenAI, chat: Any, raw: bytes) -> None:
    openai_server.script(Reply(raw=raw))
    with raises_code(ProviderError, "bad_response"):
        await send(chat)


@pytest.mark.parametrize(
    ("configured", "used"),
    [
        ("", "https://api.openai.com/v1"),
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("http://localhost:1234/", "http://localhost:1234/v1"),
        ("https://host/api/v1/", "https://host/api/v1"),
        ("https://host/v1/chat/completions", "https://host/v1"),
    ],
)
def test_base_urls(configured: str, used: str) -> None:
    assert OpenAICompatibleProvider.base_url(configured) == used


async def test_models(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.models = [
        {
            "id": "vendor/gpt-4o-mini",
            "context_length": 128000,
            "pricing": {"prompt": "0.00000015", "completion": "0.0000006"},
        },
        {"id": "/models/Qwen3-4B-Q4_K_M.gguf", "owned_by": "llamacpp"},
        {"id": "nomic-embed-text-v1.5"},
        {"id": "odd", "max_model_len": -1, "pricing": {"prompt": "-1"}, "supported_parameters": ["temperature"]},
        {"no": "id"},
    ]
    models = {info.name: info for info in await chat.list_models()}
    mini = models["vendor/gpt-4o-mini"]
    assert (mini.context_window, mini.price_input, mini.price_output, mini.supports_tools, mini.source) == (
        128000,
        0.15,
        0.6,
        True,
        "server",
    )
    qwen = models["/models/Qwen3-4B-Q4_K_M.gguf"]
    assert (qwen.label, qwen.supports_tools, qwen.supports_thinking, qwen.source) == (
        "Qwen3-4B-Q4_K_M",
        True,
        True,
        "profile",
    )
    assert models["nomic-embed-text-v1.5"].embedding
    assert (models["odd"].context_window, models["odd"].price_input, models["odd"].supports_tools) == (
        None,
        None,
        False,
    )


async def test_the_actual_context_length_of_local_servers(openai_server: FakeOpenAI, chat: Any) -> None:
    openai_server.extra["/props"] = {"default_generation_settings": {"n_ctx": 4096}}
    info = await chat.model_info("test-model")
    assert (info.context_window, info.source) == (4096, "server")
    openai_server.extra = {
        "/api/v0/models/test-model": {"id": "test-model", "max_context_length": 32768, "loaded_context_length": 8192}
    }
    assert (await chat.model_info("test-model")).context_window == 8192
    openai_server.extra = {}
    assert (await chat.model_info("never-listed")).context_window is None


async def test_a_health_check_does_not_wait_for_retries(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    async with FakeOpenAI() as gone:
        url = gone.url
    health = await provider("openai", url, clock).test()
    assert (health.ok, health.code, health.models) == (False, "unreachable", 0)


async def test_health(openai_server: FakeOpenAI, chat: Any, clock: ManualClock) -> None:
    health = await chat.test()
    assert (health.ok, health.models, health.code) == (True, 1, "")
    openai_server.api_key = "needed-key"
    health = await chat.test()
    assert (health.ok, health.code) == (False, "auth")
    assert "Server" in health.message
