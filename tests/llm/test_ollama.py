"""Ollama's API: objects as arguments, an explicit context length in every request, optional counts."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ContextOverflowError, ProviderError
from atelier_desk.domain.model_messages import ChatMessage, FinishReason, ImagePart, ReplyDone, Role, ToolCall, Usage
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.ollama import OllamaParser, OllamaProvider
from atelier_desk.llm.token_and_cost_estimates import estimate_request
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply
from tests.llm.provider_requests import (
    ADD,
    JSON,
    answer,
    ask,
    called,
    collect,
    joined,
    parsed_deltas,
    provider,
    result,
    send,
)


@pytest.fixture
def chat(ollama_server: FakeOllama, clock: ManualClock) -> Any:
    return provider("ollama", ollama_server.url, clock)


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("ids", [False, True])
async def test_a_reply_with_everything(ollama_server: FakeOllama, chat: Any, chunk_size: int | None, ids: bool) -> None:
    ollama_server.call_ids = ids
    calls = [
        Call("CalculatorTool", {"expression": "1+1"}, id="one"),
        Call("CalculatorTool", {"expression": "é"}, id="two"),
    ]
    ollama_server.script(Reply(text="Voilà", reasoning="réfléchir", calls=calls, chunk_size=chunk_size))
    reply = await answer(chat, tools=(ADD,))
    assert (reply.content, reply.reasoning) == ("Voilà", "réfléchir")
    assert [call.arguments for call in reply.tool_calls] == [{"expression": "1+1"}, {"expression": "é"}]
    assert ([call.id for call in reply.tool_calls] == ["one", "two"]) == ids
    assert len({call.id for call in reply.tool_calls}) == 2
    assert reply.usage == Usage(tokens_input=11, tokens_output=7)
    assert reply.finish_reason is FinishReason.TOOL_CALLS, "Ollama says stop"


async def test_the_request_body(ollama_server: FakeOllama, chat: Any) -> None:
    ollama_server.script(Reply(text="ok"))
    thought = called("call_1", expression="1+1").model_copy(
        update={"provider_data": ProviderData.pack("Server", "test-model", {"thinking": "because"})}
    )
    messages = (
        ChatMessage(role=Role.SYSTEM, content="s"),
        ChatMessage(role=Role.USER, content="Look", images=(ImagePart(media_type="image/png", data="aGk="),)),
        thought,
        result("call_1"),
    )
    request = ask(
        *messages,
        tools=(ADD,),
        temperature=0.0,
        max_tokens=300,
        stop=("END",),
        seed=4,
        context_window=16_384,
        grammar="x",
    )
    await collect(chat.stream(request))
    assert ollama_server.requests[0].json == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "Look", "images": ["aGk="]},
            {
                "role": "assistant",
                "content": "",
                "thinking": "because",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "function": {"index": 0, "name": "CalculatorTool", "arguments": {"expression": "1+1"}},
                    }
                ],
            },
            {"role": "tool", "content": "2", "tool_name": "CalculatorTool", "tool_call_id": "call_1"},
        ],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": 16_384, "num_predict": 300, "temperature": 0.0, "seed": 4, "stop": ["END"]},
        "tools": [
            {
                "type": "function",
                "function": {"name": "CalculatorTool", "description": "Adds.", "parameters": ADD.parameters},
            }
        ],
    }


async def test_effort_is_a_thinking_level_and_omitted_where_refused(ollama_server: FakeOllama, chat: Any) -> None:
    ollama_server.script(Reply(text="ok"), Reply(text="ok"), Reply(text="ok"))
    for options in ({"effort": "medium"}, {"effort": "medium", "enable_thinking": False}, {}):
        await send(chat, **options)
    # This model does not think: it refuses the level, is asked again without it, and does not get it again.
    assert [request.json.get("think") for request in ollama_server.of("/api/chat")] == ["medium", None, None, None]


async def test_defaults_schema_and_thinking_off(ollama_server: FakeOllama, chat: Any) -> None:
    ollama_server.script(Reply(text="{}"))
    broken = ChatMessage(role=Role.ASSISTANT, tool_calls=(ToolCall(id="1", name="a", raw="{x", error="bad"),))
    await send(chat, "u", broken, result("1"), response_schema={"type": "object"}, enable_thinking=False)
    body = ollama_server.requests[0].json
    assert (body["options"]["num_ctx"], body["format"], body["think"]) == (8192, {"type": "object"}, False)
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"invalid_json": "{x"}


async def test_with_tools_no_schema_is_sent_because_it_would_prevent_calls(
    ollama_server: FakeOllama, chat: Any
) -> None:
    ollama_server.script(Reply(text="{}"))
    await send(chat, response_schema={"type": "object"}, tools=(ADD,))
    assert "format" not in ollama_server.requests[0].json


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 3}, Usage(tokens_input=5, tokens_output=3)),
        ({"completion_tokens": 3}, Usage(tokens_input=estimate_request(ask()), tokens_output=3, estimated=True)),
        ({}, None),
    ],
)
async def test_counts_may_be_missing(
    ollama_server: FakeOllama, chat: Any, usage: dict[str, int], expected: Usage | None
) -> None:
    ollama_server.script(Reply(text="ok", usage=usage))
    assert (await answer(chat)).usage == expected


async def test_think_tags_of_old_servers(ollama_server: FakeOllama, chat: Any) -> None:
    ollama_server.script(Reply(text="<think>\nhm</think>\n\nHi", finish="length", pieces=2))
    reply = await answer(chat)
    assert (reply.content, reply.reasoning, reply.finish_reason) == ("Hi", "hm", FinishReason.LENGTH)


@pytest.mark.parametrize("reply", [Reply(text="Hello", end_mark=False), Reply(text="Hello there", cut_after=1)])
async def test_a_stream_without_done_is_truncated(ollama_server: FakeOllama, chat: Any, reply: Reply) -> None:
    ollama_server.script(reply)
    with raises_code(ProviderError, "truncated"):
        await send(chat)


@pytest.mark.parametrize(
    ("event", "code"),
    [({"error": "llama runner exited"}, "server_error"), ({"error": "busy", "status": 503}, "overloaded")],
)
async def test_an_error_in_the_middle(ollama_server: FakeOllama, chat: Any, event: dict[str, Any], code: str) -> None:
    ollama_server.script(Reply(text="abcdefghij", midway_error=event, error_after=1))
    with raises_code(ProviderError, code):
        await send(chat)


async def test_refusals(ollama_server: FakeOllama, chat: Any) -> None:
    with raises_code(ProviderError, "not_found") as caught:
        await send(chat, model="absent")
    assert "absent" in str(caught.value)
    with raises_code(ProviderError, "bad_request", match="does not support chat"):
        await send(chat, model="nomic-embed-text")
    ollama_server.script(Failure(400, {"error": "the input length exceeds the context length"}))
    with pytest.raises(ContextOverflowError):
        await send(chat)
    ollama_server.script(Reply(raw=b"not json\n"))
    with raises_code(ProviderError, "bad_response"):
        await send(chat)


async def test_an_old_server_without_the_think_field(ollama_server: FakeOllama, chat: Any) -> None:
    ollama_server.script(Failure(400, {"error": '"test-model" does not support thinking'}), Reply(text="ok"))
    assert (await answer(chat, enable_thinking=False)).content == "ok"
    assert ["think" in request.json for request in ollama_server.requests] == [True, False]


async def test_models(ollama_server: FakeOllama, chat: Any) -> None:
    ollama_server.installed = {
        "qwen3:4b": ["completion", "tools", "thinking"],
        "nomic-embed-text:latest": ["embedding"],
        "llama3.1:8b": None,
        "mystery:latest": None,
    }
    models = {info.name: info for info in await chat.list_models()}
    qwen = models["qwen3:4b"]
    assert (qwen.supports_tools, qwen.supports_thinking, qwen.supports_vision, qwen.source) == (
        True,
        True,
        False,
        "server",
    )
    assert (qwen.price_input, qwen.price_output, qwen.size_bytes) == (0.0, 0.0, 4_000_000_000)
    assert [name for name, info in models.items() if info.embedding] == ["nomic-embed-text:latest"]
    assert (models["llama3.1:8b"].supports_tools, models["llama3.1:8b"].source) == (True, "profile")
    assert models["mystery:latest"].supports_tools is None
    assert {info.label for info in models.values()} == {""}, "models are listed by name, not by size"
    shown = await chat.model_info("qwen3:4b")
    assert (shown.context_window, shown.supports_thinking, shown.source) == (131_072, True, "server")
    assert (await chat.model_info("llama3.1:8b")).context_window == 131_072
    with raises_code(ProviderError, "not_found"):
        await chat.model_info("absent")
    assert (await chat.test()).models == 4


@pytest.mark.parametrize(
    ("configured", "used"),
    [
        ("", "http://localhost:11434"),
        ("http://h:1/", "http://h:1"),
        ("http://h:1/v1", "http://h:1"),
        ("http://h:1/api", "http://h:1"),
        ("http://h:1/api/chat", "http://h:1"),
        ("https://h/ollama", "https://h/ollama"),
    ],
)
def test_base_urls(configured: str, used: str) -> None:
    assert OllamaProvider.base_url(configured) == used


STREAM = b"".join(
    FakeOllama().lines(Reply(text="<think>é</think>Où ? 🙂", reasoning="ô", calls=[Call("a", {"é": "🙂"})], pieces=2))
)


@given(st.sets(st.integers(0, len(STREAM)), max_size=40), st.booleans())
def test_every_chunking_gives_the_same(cuts: set[int], crlf: bool) -> None:
    def parsed(pieces: list[bytes]) -> Any:
        parser = OllamaParser(ask(), ErrorLocation("Ollama"))
        deltas = parsed_deltas(parser, pieces)
        last = deltas[-1]
        assert isinstance(last, ReplyDone)
        return joined(deltas), last.reply.usage, [(call.name, call.arguments) for call in last.reply.tool_calls]

    whole = parsed([STREAM])
    assert whole[0] == ("Où ? 🙂", "ôé")
    data = STREAM.replace(b"\n", b"\r\n") if crlf else STREAM
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    assert parsed([data[start:end] for start, end in itertools.pairwise(places)]) == whole


@given(st.lists(JSON, max_size=5))
def test_nonsense_is_an_answer_or_a_provider_error(values: list[Any]) -> None:
    lines = [{"message": value, "done": value} for value in values] + values
    parser = OllamaParser(ask(), ErrorLocation("Ollama"))
    try:
        deltas = [delta for line in lines for delta in parser.feed(f"{json.dumps(line)}\n".encode())] + parser.close()
    except ProviderError:
        return
    assert isinstance(deltas[-1], ReplyDone)
