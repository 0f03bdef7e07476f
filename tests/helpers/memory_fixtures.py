"""Fixtures for memories: an empty database, an embedder with given similarities, a search over both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.knowledge.memory_search import MemorySearch
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.database_templates import PlaceDatabase
from tests.helpers.manual_clock import ManualClock

DIMENSION = 8


class WordEmbedder:
    """Vectors by meanings that the test defines: each word has a direction, shared by words of one group.

    Attributes:
        failing: raise instead of answering.
        asked: every embedded text.
    """

    dimension = DIMENSION

    def __init__(self, *groups: str, id: str = "words:8") -> None:
        self.id = id
        self._direction = {word: index for index, group in enumerate(groups) for word in group.split()}
        self.failing = False
        self.asked: list[str] = []
        self.closed = False

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        if self.failing:
            raise ProviderError("the embedder {what}", what="is out of order")
        self.asked.extend(texts)
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().replace("?", "").replace(".", "").split():
                vectors[row, self._direction.get(word, DIMENSION - 1)] += 1.0
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
async def repos(tmp_path: Path, clock: ManualClock, place_database: PlaceDatabase) -> AsyncIterator[Repositories]:
    datadir = DataDir(tmp_path).ensure()
    async with await Store.open(place_database(datadir.database), clock=clock, fsync=False) as store:
        yield Repositories(store, datadir)


@pytest.fixture
async def workflow(repos: Repositories) -> Workflow:
    created = Workflow(name="Test")
    await repos.workflows.create(created)
    return created


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder("cat chat feline", "car voiture automobile", "port harbour", "red rouge")


@pytest.fixture
def search(repos: Repositories, embedder: WordEmbedder, clock: ManualClock) -> MemorySearch:
    return MemorySearch(repos.memories, embedder, clock)
