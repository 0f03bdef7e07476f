"""Every known fault of model servers, with every kind of provider: the same code, whatever the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.anthropic import FakeAnthropic
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.scripted_http_server import Failure, FakeServer, Reply
from tests.llm.provider_requests import ask, collect, provider, reply_of, run

KINDS: dict[str, type[FakeServer]] = {
    "anthropic": FakeAnthropic,
    "responses": FakeResponses,
    "google": FakeGoogle,
    "mistral": FakeMistral,
    "openai": FakeOpenAI,
    "ollama": FakeOllama,
}
MODELS = {"anthropic": "claude-sonnet-4-5", "responses": "gpt-5.5", "google": "gemini-3.5-flash"}
PAGE = b"<!doctype html><title>Welcome</title>"


@pytest.fixture(params=KINDS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[FakeServer]:
    async with KINDS[request.param]() as made:
        made.kind = request.param  # type: ignore[attr-defined]
        yield made


@pytest.fixture
async def chat(server: Any, clock: ManualClock) -> AsyncIterator[Any]:
    made = provider(server.kind, getattr(server, "url", server.root), clock)
    yield made
    await made.aclose()


def asked(server: Any) -> Any:
    return ask(model=MODELS.get(server.kind, "test-model"), retry=False)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Failure(drop=True), "unreachable"),
        (Failure(401, {"error": {"message": "no such key"}}), "auth"),
        (Failure(401, {"detail": "Unauthorized"}), "auth"),
        (Failure(401, {"error": {"message": "API key expired"}}), "auth"),
        (Failure(402, {"error": {"message": "pay"}}), "quota"),
        (Failure(403, {"message": "forbidden"}), "auth"),
        (Failure(404, {"error": {"message": "model not found"}}), "not_found"),
        (Failure(404, {"error": "model 'x' not found, try pulling it first"}), "not_found"),
        (Failure(422, {"detail": [{"loc": ["body", "messages"], "msg": "no", "type": "t"}]}), "bad_request"),
        (Failure(429, {"message": "slow down"}, {"retry-after": "7"}), "rate_limited"),
        (Failure(429, {"error": {"message": "no", "code": "insufficient_quota"}}), "quota"),
        (Failure(500, {"error": {"code": 500, "message": "broken", "type": "server_error"}}), "server_error"),
        (Failure(502, PAGE), "server_error"),
        (Failure(503, {"error": {"message": "Loading model"}}), "loading"),
        (Failure(503, {"error": "busy"}), "overloaded"),
        (Failure(529, ""), "overloaded"),
        (Failure(400, {"error": {"message": "maximum context length is 4096 tokens"}}), "context_overflow"),
        (
            Failure(400, {"error": {"type": "exceed_context_size_error", "message": "no", "n_ctx": 4096}}),
            "context_overflow",
        ),
        (Failure(307, "", {"location": "http://127.0.0.1:1/"}), "bad_response"),
        (Reply(raw=PAGE, content_type="text/html"), "bad_response"),
        (Reply(raw=b""), "truncated"),
        (Reply(text="abcdefghij", cut_after=2), "truncated"),
        (Reply(text="abcdefghij", end_mark=False, finish=None), "truncated"),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{getattr(each, 'status', 'reply')}",
)
async def test_a_fault_has_its_code(server: Any, chat: Any, clock: ManualClock, fault: Any, code: str) -> None:
    server.script(*[fault] * 200)  # a model that is loading is waited for
    with raises_code(ProviderError, code) as caught:
        await run(clock, chat.stream(asked(server)))
    assert "{" not in str(caught.value)


@pytest.mark.parametrize("chunk_size", [1, 3])
async def test_characters_split_over_pieces_are_complete(server: Any, chat: Any, chunk_size: int) -> None:
    server.script(Reply(text="Où ça ? 😀", pieces=3, chunk_size=chunk_size))
    assert reply_of(await collect(chat.stream(asked(server)))).content == "Où ça ? 😀"


async def test_a_stopped_reply_closes_its_connection_at_once(server: Any, chat: Any) -> None:
    server.script(Reply(text="abcdefghij", hold_after=2, gate=asyncio.Event()))
    reading = asyncio.create_task(collect(chat.stream(asked(server))))
    await server.streaming.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await asyncio.wait_for(server.disconnected.wait(), 10)
