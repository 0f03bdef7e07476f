"""Embeddings over HTTP: order, formats, batches, unit length, errors."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.errors import ContextOverflowError, ProviderError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.embedders.remote import RemoteEmbedder
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.fake_embeddings import vector_of
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Failure


async def embedder(
    kind: str, url: str, clock: ManualClock, model: str = "embedder", dimension: int | None = None
) -> RemoteEmbedder:
    config = ProviderConfig(name="Server", kind=kind, base_url=url)
    return await RemoteEmbedder.open(config, model, KeyVault(environ={}), clock, dimension=dimension)


def unit(text: str, dimension: int) -> np.ndarray:
    vector = np.asarray(vector_of(text, dimension))
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@pytest.mark.parametrize("packed", [False, True])
async def test_openai(openai_server: FakeOpenAI, clock: ManualClock, packed: bool) -> None:
    openai_server.base64_vectors = packed
    made = await embedder("openai", openai_server.url, clock)
    assert (made.id, made.dimension) == ("openai:embedder:8", 8)
    texts = [f"text {number}" for number in range(200)]
    vectors = await made.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((200, 8), np.dtype(np.float32))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(vectors[150], unit("text 150", 8), atol=1e-6)
    assert [len(request.json["input"]) for request in openai_server.of("/v1/embeddings")] == [1, 96, 96, 8]
    await made.aclose()


async def test_mistral(mistral_server: FakeMistral, clock: ManualClock) -> None:
    made = await embedder("mistral", mistral_server.url, clock, "mistral-embed", 16)
    assert (made.id, mistral_server.requests) == ("mistral:mistral-embed:16", [])
    np.testing.assert_allclose(await made.embed(["é"]), [unit("é", 16)], atol=1e-6)
    assert set(mistral_server.requests[0].json) == {"model", "input"}


async def test_ollama(ollama_server: FakeOllama, clock: ManualClock) -> None:
    made = await embedder("ollama", ollama_server.url, clock, "mxbai:latest")
    assert made.id == "ollama:mxbai:8"
    np.testing.assert_allclose((await made.embed(["a", "b"]))[1], unit("b", 8), atol=1e-6)


async def test_questions_and_passages_get_the_models_prefixes(ollama_server: FakeOllama, clock: ManualClock) -> None:
    made = await embedder("ollama", ollama_server.url, clock, "nomic-embed-text", 8)
    await made.embed(["x"])
    await made.embed(["x"], query=True)
    assert [request.json["input"] for request in ollama_server.requests] == [
        ["search_document: x"],
        ["search_query: x"],
    ]


async def test_shorter_vectors_are_requested_where_supported(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    made = await embedder("openai", openai_server.url, clock, "text-embedding-3-small", 4)
    assert (await made.embed(["x"])).shape == (1, 4)
    assert openai_server.requests[0].json["dimensions"] == 4


async def test_blank_long_and_no_texts(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    made = await embedder("openai", openai_server.url, clock, dimension=8)
    assert (await made.embed([])).shape == (0, 8)
    await made.embed([" ", "y" * 50_000])
    sent = openai_server.requests[0].json["input"]
    assert sent[0] == "(empty)"
    assert len(sent[1]) == 20_000


async def test_texts_longer_than_the_models_window_are_cut(ollama_server: FakeOllama, clock: ManualClock) -> None:
    ollama_server.embed_limit = 500
    made = await embedder("ollama", ollama_server.url, clock, dimension=8)
    vectors = await made.embed(["short", "z" * 3000, "last"])
    fitted = next(
        text
        for request in ollama_server.requests
        for text in request.json["input"]
        if text.startswith("z") and len(text) <= 500
    )
    assert 300 < len(fitted) <= 500
    np.testing.assert_allclose(vectors, [unit("short", 8), unit(fitted, 8), unit("last", 8)], atol=1e-6)
    ollama_server.embed_limit = 10
    with pytest.raises(ContextOverflowError):
        await made.embed(["z" * 300])


@pytest.mark.parametrize(
    "answer",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0] * 7}]},
        {"data": [{"index": 0, "embedding": "not base64!"}]},
        {"data": [{"index": 0, "embedding": [0.0] * 8}]},
        {"data": [{"index": 0, "embedding": [None] * 8}]},
        {"data": [{"index": 0, "embedding": ["x"] * 8}]},
        {"vectors": []},
        [],
    ],
)
async def test_invalid_vectors_are_a_bad_response(openai_server: FakeOpenAI, clock: ManualClock, answer: Any) -> None:
    made = await embedder("openai", openai_server.url, clock, dimension=8)
    openai_server.script(Failure(200, answer))
    with raises_code(ProviderError, "bad_response"):
        await made.embed(["x"])


async def test_errors_and_retries(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    openai_server.script(Failure(401, {"error": {"message": "no"}}))
    with raises_code(ProviderError, "auth"):
        await embedder("openai", openai_server.url, clock)
    made = await embedder("openai", openai_server.url, clock, dimension=8)
    openai_server.script(Failure(503, {"error": "loading"}))
    task = asyncio.create_task(made.embed(["x"]))
    while not clock.sleepers or len(openai_server.requests) < 2:
        await asyncio.sleep(0)
    while not task.done():
        await clock.advance(0.5)
    assert (await task).shape == (1, 8)
