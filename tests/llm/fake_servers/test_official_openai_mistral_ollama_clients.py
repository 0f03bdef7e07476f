"""The official clients work with the fake servers, streamed and not, so the fakes match the real servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import mistralai.client
import ollama
import openai
import pytest
from mistralai.client.errors import SDKError
from openai.types.chat import ChatCompletionFunctionToolParam

from tests.helpers.servers.fake_embeddings import vector_of
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply

USER: list[Any] = [{"role": "user", "content": "Hello"}]
TOOL: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}


@pytest.fixture
async def openai_client(openai_server: FakeOpenAI) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=openai_server.url, api_key="unused-key", max_retries=0) as client:
        yield client


@pytest.fixture
async def mistral_client(mistral_server: FakeMistral) -> AsyncIterator[Any]:
    async with mistralai.client.Mistral(api_key="unused-key", server_url=mistral_server.root) as client:
        yield client


@pytest.fixture
def ollama_client(ollama_server: FakeOllama) -> ollama.AsyncClient:
    return ollama.AsyncClient(host=ollama_server.url)


async def test_openai_reads_a_complete_reply_with_calls(
    openai_server: FakeOpenAI, openai_client: openai.AsyncOpenAI
) -> None:
    openai_server.script(Reply(text="Héllo", calls=[Call("add", {"a": 1})]))
    answer = await openai_client.chat.completions.create(model="test-model", messages=USER, tools=[TOOL])
    assert answer.choices[0].message.content == "Héllo"
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.choices[0].message.tool_calls is not None
    call = answer.choices[0].message.tool_calls[0]
    assert call.type == "function"
    assert (call.function.name, json.loads(call.function.arguments)) == ("add", {"a": 1})
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 11


@pytest.mark.parametrize("chunk_size", [None, 1, 7])
async def test_openai_streams(
    openai_server: FakeOpenAI, openai_client: openai.AsyncOpenAI, chunk_size: int | None
) -> None:
    openai_server.script(Reply(text="Où est-il ?", calls=[Call("add", {"a": 12})], chunk_size=chunk_size))
    text, arguments, usage = "", "", None
    stream = await openai_client.chat.completions.create(
        model="test-model", messages=USER, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                assert call.function is not None
                arguments += call.function.arguments or ""
    assert usage is not None
    assert (text, json.loads(arguments), usage.completion_tokens) == ("Où est-il ?", {"a": 12}, 7)


async def test_openai_lists_and_embeds(openai_server: FakeOpenAI, openai_client: openai.AsyncOpenAI) -> None:
    models = await openai_client.models.list()
    assert [model.id for model in models.data] == ["test-model"]
    answer = await openai_client.embeddings.create(model="embedder", input=["one", "two"])
    found = {item.index: item.embedding for item in answer.data}
    assert found[1] == pytest.approx(vector_of("two", 8), abs=1e-6)
    assert openai_server.of("/v1/embeddings")[0].json["encoding_format"] == "base64"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.APIError),
    ],
)
async def test_openai_raises(
    openai_server: FakeOpenAI, openai_client: openai.AsyncOpenAI, status: int, error: type[Exception]
) -> None:
    openai_server.script(Failure(status, {"error": {"message": "no", "type": "t", "param": None, "code": None}}))
    with pytest.raises(error):
        await openai_client.chat.completions.create(model="test-model", messages=USER)


async def test_mistral_reads_a_complete_reply_with_calls(mistral_server: FakeMistral, mistral_client: Any) -> None:
    mistral_server.script(Reply(text="Bonjour", calls=[Call("add", {"a": 1}, id="abcDEF123")]))
    answer = await mistral_client.chat.complete_async(model="mistral-test", messages=USER, tools=[TOOL])
    assert answer.choices[0].message.content == "Bonjour"
    call = answer.choices[0].message.tool_calls[0]
    assert (call.id, call.function.name, json.loads(call.function.arguments)) == ("abcDEF123", "add", {"a": 1})
    assert answer.usage.total_tokens == 18


@pytest.mark.parametrize("chunk_size", [None, 3])
@pytest.mark.parametrize("listed", [False, True])
async def test_mistral_streams(
    mistral_server: FakeMistral, mistral_client: Any, chunk_size: int | None, listed: bool
) -> None:
    mistral_server.listed_content = listed
    reply = Reply(text="Ça va", reasoning="hmm", calls=[Call("add", {"a": 1}, id="abcDEF123")], chunk_size=chunk_size)
    mistral_server.script(reply)
    text, thoughts, usage, calls = "", "", None, list[Any]()
    async for event in await mistral_client.chat.stream_async(model="mistral-test", messages=USER):
        delta = event.data.choices[0].delta
        if isinstance(delta.content, str):
            text += delta.content
        for part in delta.content if isinstance(delta.content, list) else ():
            text += part.text if part.type == "text" else ""
            thoughts += "".join(piece.text for piece in part.thinking) if part.type == "thinking" else ""
        calls += delta.tool_calls or []
        usage = event.data.usage or usage
    assert usage is not None
    assert (text, thoughts, usage.prompt_tokens) == ("Ça va", "hmm" if listed else "", 11)
    assert [call.function.name for call in calls] == ["add"]


async def test_mistral_lists_and_embeds(mistral_client: Any) -> None:
    models = await mistral_client.models.list_async()
    assert {model.id: model.capabilities.completion_chat for model in models.data} == {
        "mistral-test": True,
        "mistral-embed": False,
        "mistral-ocr": False,
    }
    answer = await mistral_client.embeddings.create_async(model="mistral-embed", inputs=["one", "two"])
    found = {item.index: item.embedding for item in answer.data}
    assert found[0] == pytest.approx(vector_of("one", 16))


async def test_mistral_refuses_what_the_real_one_refuses(mistral_client: Any) -> None:
    wrong_id: list[Any] = [
        *USER,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "function": {"name": "add", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "name": "add", "content": "1"},
    ]
    with pytest.raises(SDKError, match="length of 9"):
        await mistral_client.chat.complete_async(model="mistral-test", messages=wrong_id)


async def test_ollama_reads_a_complete_reply_with_calls(
    ollama_server: FakeOllama, ollama_client: ollama.AsyncClient
) -> None:
    ollama_server.script(Reply(text="Hi", reasoning="hm", calls=[Call("add", {"a": 1})]))
    answer = await ollama_client.chat(model="test-model", messages=USER, tools=[TOOL])
    assert (answer.message.content, answer.message.thinking) == ("Hi", "hm")
    assert answer.message.tool_calls is not None
    assert answer.message.tool_calls[0].function.arguments == {"a": 1}
    assert (answer.prompt_eval_count, answer.done_reason) == (11, "stop")


@pytest.mark.parametrize("chunk_size", [None, 1])
async def test_ollama_streams(
    ollama_server: FakeOllama, ollama_client: ollama.AsyncClient, chunk_size: int | None
) -> None:
    ollama_server.script(Reply(text="Été à Paris", calls=[Call("add", {"a": 1})], chunk_size=chunk_size))
    text, calls, last = "", list[ollama.Message.ToolCall](), None
    async for part in await ollama_client.chat(model="test-model", messages=USER, stream=True):
        text += part.message.content or ""
        calls += part.message.tool_calls or []
        last = part
    assert last is not None
    assert (text, calls[0].function.name, last.done, last.eval_count) == ("Été à Paris", "add", True, 7)


async def test_ollama_lists_shows_and_embeds(ollama_client: ollama.AsyncClient) -> None:
    assert [model.model for model in (await ollama_client.list()).models] == [
        "test-model:latest",
        "nomic-embed-text:latest",
    ]
    shown = await ollama_client.show("test-model")
    assert shown.capabilities == ["completion", "tools"]
    assert shown.modelinfo is not None
    assert shown.modelinfo["llama.context_length"] == 131_072
    answer = await ollama_client.embed(model="nomic-embed-text", input=["one", "two"])
    assert answer.embeddings[1] == pytest.approx(vector_of("two", 8))


async def test_ollama_raises(ollama_server: FakeOllama, ollama_client: ollama.AsyncClient) -> None:
    with pytest.raises(ollama.ResponseError, match="not found") as missing:
        await ollama_client.chat(model="absent", messages=USER)
    assert missing.value.status_code == 404
    ollama_server.script(Reply(text="abcdefghij", midway_error={"error": "out of memory"}, error_after=1))
    with pytest.raises(ollama.ResponseError, match="out of memory"):
        async for _ in await ollama_client.chat(model="test-model", messages=USER, stream=True):
            pass


async def test_a_fake_server_notices_a_disconnected_client(
    openai_server: FakeOpenAI, openai_client: openai.AsyncOpenAI
) -> None:
    openai_server.script(Reply(text="long answer", hold_after=2, gate=asyncio.Event()))
    stream = await openai_client.chat.completions.create(model="test-model", messages=USER, stream=True)
    await anext(aiter(stream))
    await stream.close()
    await asyncio.wait_for(openai_server.disconnected.wait(), 5)
