"""The index by words of all memories: loaded at the first search, then kept up with every change of the repository."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.knowledge.lexical import LexicalIndex, LexicalResult
from atelier_desk.storage.repositories.memories import MemoryRepository
from atelier_desk.storage.stems import Entry


class MemoryWords:
    """Finds memories by their words. What has expired is never found."""

    def __init__(self, memories: MemoryRepository, clock: Clock) -> None:
        self._memories = memories
        self._clock = clock
        self._index: LexicalIndex | None = None
        self._loading = asyncio.Lock()
        self._deleted_meanwhile: set[str] = set()
        memories.follow(self)

    async def search(self, query: str, limit: int = 200, filters: MemoryFilter | None = None) -> LexicalResult:
        """The memories that share words with a text, best first, with the best score the text could reach."""
        stems = await self._memories.stems(query)
        index = await self._loaded()
        return index.search(stems, limit, filters or MemoryFilter(scope=None), self._clock.now().timestamp())

    async def matching(self, filters: MemoryFilter) -> set[str]:
        """Ids of all memories that a filter accepts and that have not expired."""
        return (await self._loaded()).ids(filters, self._clock.now().timestamp())

    async def warm(self) -> int:
        """Load the words of all memories now instead of at the first search (about 30 ms a thousand). Gives how many memories there are."""
        return len(await self._loaded())

    def forget_loaded(self) -> None:
        """Read the words again at the next search: rows were written by another way than the repository."""
        self._index = None

    # -- what the repository tells -------------------------------------------------------------------------------------------------

    def saved(self, entry: Entry) -> None:
        if self._index is not None:
            self._index.add(entry)

    def deleted(self, memory_ids: Sequence[str]) -> None:
        self._deleted_meanwhile.update(memory_ids)
        if self._index is not None:
            for each in memory_ids:
                self._index.remove(each)

    def workflow_deleted(self, workflow_id: str) -> None:
        if self._index is not None:
            self._index.remove_of(workflow_id)

    async def _loaded(self) -> LexicalIndex:
        async with self._loading:
            if self._index is None:
                self._deleted_meanwhile = set()
                self._index = LexicalIndex()  # saves go into it while the older rows are read
                try:
                    entries = await self._entries()
                except BaseException:
                    self._index = None
                    raise
                self._index.load(entry for entry in entries if entry.id not in self._deleted_meanwhile)
            return self._index

    async def _entries(self) -> list[Entry]:
        entries: list[Entry] = []
        while page := await self._memories.entries(after=entries[-1].id if entries else ""):
            entries += page
        return entries
