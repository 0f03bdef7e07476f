"""Maintain the index of the memories: load it from its file or the database, follow changes, write the file."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atelier_desk.domain.memory import Memory, MemoryFilter
from atelier_desk.knowledge import memory_index_file
from atelier_desk.knowledge.memory_index import MemoryIndex
from atelier_desk.knowledge.memory_vectors import RowVectors
from atelier_desk.knowledge.similar_memory_pairs import near_pairs
from atelier_desk.storage.memory_index_entry import MemoryTerms
from atelier_desk.support import background_tasks
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.repositories import MemoryRepository

log = logging.getLogger(__name__)

FILE_FROM = 1_000
"""Number of memories from which a file is written: fewer are read from the database just as fast."""


class IndexKeeper:
    """The index of one repository, for one embedder at a time."""

    def __init__(self, memories: MemoryRepository, file: Path | None) -> None:
        self._memories = memories
        self._file = file
        self._embedder: Embedder | None = None
        self._index: MemoryIndex | None = None
        self._coming: MemoryIndex | None = None
        """The index being loaded: changes go into it too."""
        self._gone: set[str] = set()
        self._touched: set[str] = set()
        self._given: dict[str, tuple[str, np.ndarray]] = {}
        self._loading = asyncio.Lock()
        self._merging: asyncio.Task[None] | None = None
        self._saved_state = ""
        """The stamp of the file, if known."""
        memories.follow(self)

    def use(self, embedder: Embedder | None) -> None:
        """Use this embedder's vectors from the next load on."""
        self._embedder = embedder
        self.invalidate()

    def invalidate(self) -> None:
        """Reload everything at the next search."""
        self._index = self._coming = None

    @contextlib.contextmanager
    def expecting(self, embedder: str, vectors: Mapping[str, np.ndarray]) -> Iterator[None]:
        """Announce the vectors of the memories that the block saves."""
        self._given.update({memory_id: (embedder, vector) for memory_id, vector in vectors.items()})
        try:
            yield
        finally:
            for memory_id in vectors:
                self._given.pop(memory_id, None)

    def embedding(self, memories: Sequence[Memory]) -> None:
        """Announce that these memories are about to be embedded in their present form."""
        self._touched.difference_update(memory.id for memory in memories)

    def embedded(self, embedder: str, memories: Sequence[Memory], vectors: np.ndarray) -> None:
        """Set the vectors of those memories that have not changed since ``embedding``."""
        for index in self._all():
            if index.vectors is not None and index.vectors.embedder == embedder:
                for memory, vector in zip(memories, vectors, strict=True):
                    if memory.id not in self._touched:
                        index.set_vector(memory.id, vector)

    def used(self, memory_ids: Sequence[str]) -> None:
        """Count one more run that retrieved these memories."""
        for index in self._all():
            index.used(memory_ids)

    def saved(self, entry: MemoryTerms) -> None:
        embedder, vector = self._given.get(entry.id, ("", None))
        self._touched.add(entry.id)
        for index in self._all():
            index.put(entry, vector if index.vectors is not None and index.vectors.embedder == embedder else None)

    def deleted(self, memory_ids: Sequence[str]) -> None:
        self._gone.update(memory_ids)
        for index in self._all():
            index.remove(memory_ids)

    def workflow_deleted(self, workflow_id: str) -> None:
        for index in self._all():
            index.remove(index.of_home(workflow_id))
        if self._coming is not None:
            # Its rows may have been read already or not, so the load is repeated.
            self._coming = None

    async def loaded(self) -> MemoryIndex:
        """Return the index; the first call loads it."""
        async with self._loading:
            if self._index is not None and self._index.wasteful:
                self._index = None
            while self._index is None:
                found = await self._from_file() or await self._from_rows()
                if found is not None:
                    await in_tool_thread(found.prepare)
            if self._index.postings.crowded and (self._merging is None or self._merging.done()):
                # searches continue meanwhile
                self._merging = background_tasks.start(in_tool_thread(self._index.prepare), "merge of the index")
            return self._index

    async def near_pairs(self, wanted: MemoryFilter, now: float, most: int) -> list[tuple[str, str, float]]:
        """See ``similar_memory_pairs.near_pairs``."""
        return await in_tool_thread(near_pairs, await self.loaded(), wanted, now, most)

    async def save(self) -> None:
        """Write the file, unless it is up to date, the index is small, or a change is in progress."""
        index = self._index
        if self._file is None or index is None or len(index) < FILE_FROM:
            return
        async with self._memories.still() as still:
            stamp = await self._memories.stamp()
            if not still or not stamp or stamp == self._saved_state or index is not self._index:
                return
            parts = await in_tool_thread(memory_index_file.parts, index)
        try:
            await in_tool_thread(memory_index_file.write, self._file, parts, stamp)
            self._saved_state = stamp
        except OSError as error:
            log.warning("the index of the memories is not kept: %s", error)

    async def load_vectors(self, embedder: Embedder) -> None:
        """Read this embedder's vectors and compare them from now on."""
        index = await self.loaded()
        self._embedder = embedder
        vectors = await self._vectors(index, embedder)
        await in_tool_thread(vectors.prepare)
        index.use(vectors)

    async def _from_file(self) -> MemoryIndex | None:
        if self._file is None or not self._file.exists():
            return None
        embedder = self._embedder
        async with self._memories.still():  # pending writes are reported afterwards, to the index loaded now
            stamp = await self._memories.stamp()
            wanted = (embedder.id, embedder.dimension) if embedder is not None else None
            found = await in_tool_thread(memory_index_file.read, self._file, stamp, wanted) if stamp else None
            if found is not None and embedder is self._embedder:
                self._index, self._saved_state = found, stamp
                return found
        return None

    async def _from_rows(self) -> MemoryIndex | None:
        """Load the index from the database; None when it has to be repeated."""
        embedder = self._embedder
        vectors = None if embedder is None else RowVectors(embedder.id, embedder.dimension)
        index = self._coming = MemoryIndex(vectors)
        self._gone = set()
        after = ""
        while page := await self._memories.entries(after=after):
            after = page[-1].id
            await in_tool_thread(index.load, [entry for entry in page if entry.id not in self._gone])
        if embedder is not None and vectors is not None:
            await self._vectors(index, embedder, vectors)
        if self._coming is not index:
            return None
        self._index, self._coming = index, None
        return index

    async def _vectors(self, index: MemoryIndex, embedder: Embedder, vectors: RowVectors | None = None) -> RowVectors:
        vectors = vectors if vectors is not None else RowVectors(embedder.id, embedder.dimension)
        after = ""
        while True:
            ids, matrix = await self._memories.vectors(embedder.id, after=after)
            if not ids:
                return vectors
            after = ids[-1]
            await in_tool_thread(index.load_vectors, vectors, ids, matrix)

    def _all(self) -> list[MemoryIndex]:
        return [index for index in (self._index, self._coming) if index is not None]
