"""The protocol with the child process, with a tiny module in place of sentence-transformers."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.embedders.sentence_transformers_embedder import SentenceTransformersEmbedder
from tests.helpers.error_codes import raises_code

FAKE = Path(__file__).with_name("fake_sentence_transformers.py")


@pytest.fixture
def fake_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FAKE, tmp_path / "sentence_transformers.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.fixture
async def embedder(fake_library: None) -> AsyncIterator[SentenceTransformersEmbedder]:
    made = SentenceTransformersEmbedder("some-model")
    yield made
    await made.aclose()


async def test_vectors_are_unit_float32_in_order_across_batches(embedder: SentenceTransformersEmbedder) -> None:
    texts = ["a" * (index + 1) for index in range(150)]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (150, 4)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert np.allclose(vectors[:, 0] / vectors[:, 2], range(1, 151), atol=1e-3)


async def test_the_model_determines_name_and_dimension(embedder: SentenceTransformersEmbedder) -> None:
    assert embedder.id == "sentence-transformers:some-model"
    assert (await embedder.embed([])).shape == (0, 4)
    assert embedder.dimension == 4


async def test_queries_get_the_models_query_prompt(embedder: SentenceTransformersEmbedder) -> None:
    passage, query = (await embedder.embed(["x"]))[0], (await embedder.embed(["x"], query=True))[0]
    assert passage[1] == 0
    assert query[1] > 0


async def test_parallel_calls_get_their_own_answers(embedder: SentenceTransformersEmbedder) -> None:
    results = await asyncio.gather(*(embedder.embed(["a" * size]) for size in (1, 5, 9)))
    assert [round(float(vectors[0, 0] / vectors[0, 2])) for vectors in results] == [1, 5, 9]


async def test_texts_that_cannot_be_embedded_are_an_error_and_the_next_call_works(
    embedder: SentenceTransformersEmbedder,
) -> None:
    with raises_code(ProviderError, "embedder_failed") as caught:
        await embedder.embed(["fail"])
    assert "cannot embed this" in str(caught.value)
    assert (await embedder.embed(["fine"])).shape == (1, 4)


async def test_a_process_that_dies_is_an_error_and_is_restarted(embedder: SentenceTransformersEmbedder) -> None:
    with raises_code(ProviderError, "embedder_gone") as caught:
        await embedder.embed(["die"])
    assert caught.value.recoverable
    assert (await embedder.embed(["fine"])).shape == (1, 4)


async def test_a_cancelled_call_does_not_disturb_the_next(embedder: SentenceTransformersEmbedder) -> None:
    await embedder.embed(["warm"])
    task = asyncio.create_task(embedder.embed(["abc"]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    vectors = await embedder.embed(["ab"])
    assert round(float(vectors[0, 0] / vectors[0, 2])) == 2


async def test_a_model_that_cannot_be_loaded_is_reported_with_the_reason(
    fake_library: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    embedder = SentenceTransformersEmbedder("wrong")
    with raises_code(ProviderError, "embedder_model") as caught:
        await embedder.embed(["x"])
    assert "offline=1" in str(caught.value)
    await embedder.aclose()


async def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sentence_transformers.py").write_text("raise ImportError('no such library')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    embedder = SentenceTransformersEmbedder("some-model")
    with raises_code(ProviderError, "embedder_missing") as caught:
        await embedder.embed(["x"])
    assert "EXTRAS=sentence-transformers" in str(caught.value)


async def test_closing_ends_the_process(embedder: SentenceTransformersEmbedder) -> None:
    await embedder.embed(["x"])
    assert embedder._worker is not None
    child = psutil.Process(embedder._worker.pid)
    await embedder.aclose()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
