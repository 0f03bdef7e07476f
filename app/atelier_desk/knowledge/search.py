"""Search in memories: exact vectors in process, full text by stems, fused by weighted scores."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from atelier_desk.domain import limits
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError, NotFoundError, UsageError
from atelier_desk.domain.memory import Memory, MemoryFilter, MemoryHit, MemoryScope, MemoryType
from atelier_desk.i18n import N_
from atelier_desk.knowledge import ranking
from atelier_desk.knowledge.language import language
from atelier_desk.knowledge.vectors import VectorIndex, accepts
from atelier_desk.knowledge.words import MemoryWords
from atelier_desk.threads import in_tool_thread

if TYPE_CHECKING:
    import numpy as np

    from atelier_desk.llm.base import Embedder
    from atelier_desk.storage.repositories import MemoryRepository

log = logging.getLogger(__name__)

EMBEDDED_CHARS = 4_000
"""Characters of a memory that its vector stands for: sentence encoders average a longer text away, and each thousand costs 20 ms."""
EMBED_WAIT_S = 10.0
"""Seconds a search waits for its query's vector before it goes on with full text alone."""
REEMBED_BATCH = 32

Filters = MemoryFilter
"""Which memories a search looks at, as the repository takes it."""
Progress = Callable[[int, int], None]
"""Called with how many memories are done, and how many there are to do."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found. ``note`` says why it was text alone, or that memories are still being embedded; empty otherwise."""

    hits: list[MemoryHit] = field(default_factory=list)
    search_type: Literal["hybrid", "text"] = "text"
    note: str = ""


def _no_cosine(memory_id: str) -> float | None:
    return None


@dataclass(frozen=True, slots=True)
class _Near:
    """What the vectors say: the nearest memories, the cosine of any, and whether vectors were compared at all."""

    nearest: list[tuple[str, float]] = field(default_factory=list)
    cosine: Callable[[str], float | None] = _no_cosine
    compared: bool = False
    note: str = ""


class MemorySearch:
    """Keeps memories findable and finds them.

    All changes of memories go through ``index``, ``remove`` and ``clear``, which write the database and follow in process. The vectors
    are loaded at the first search. Without an embedder, or when it fails, full text alone is searched and the result says so.

    Attributes:
        ANY: the filter that accepts every memory there is.
    """

    ANY = MemoryFilter(scope=None)

    def __init__(self, memories: MemoryRepository, embedder: Embedder | None, clock: Clock) -> None:
        self._memories = memories
        self._words = MemoryWords(memories, clock)
        self._embedder = embedder
        self._clock = clock
        self._vectors: VectorIndex | None = None
        self._loading: VectorIndex | None = None
        self._load_lock = asyncio.Lock()
        self._touched: set[str] = set()
        self._languages: dict[str, str] = {}
        self._reembed_lock = asyncio.Lock()
        self._reembedding: tuple[int, int] | None = None

    @property
    def embedder(self) -> Embedder | None:
        return self._embedder

    def use(self, embedder: Embedder | None) -> None:
        """Search with another embedder from now on. Memories it has not embedded yet are found by their words; see ``reembed``."""
        self._embedder = embedder
        self._vectors = self._loading = None

    def forget_loaded(self) -> None:
        """Read words and vectors again at the next search: rows were written by another way (import, restore)."""
        self._words.forget_loaded()
        self._vectors = self._loading = None

    async def warm(self) -> None:
        """Load words and vectors now, so that the first search does not wait for them; nothing where there is no memory yet."""
        if await self._words.warm() and self._embedder is not None:
            await self._loaded(self._embedder)

    async def vectors(self) -> VectorIndex | None:
        """The loaded vectors of the embedder in use, None without one."""
        return None if self._embedder is None else await self._loaded(self._embedder)

    async def index(self, memory: Memory) -> Memory:
        """Save a memory, new or changed, with its vector, and make it findable. Returns it as it was stored.

        When the embedder fails the memory is saved without a vector: it is found by its words, and ``reembed`` makes up for it.

        Raises:
            NotFoundError: its workflow is gone.
        """
        vector = await self._vector_of(memory)
        embedder = self._embedder
        if vector is None or embedder is None:
            stored = await self._memories.save(memory.model_copy(update={"embedder": ""}), None)
        else:
            stored = await self._memories.save(memory.model_copy(update={"embedder": embedder.id}), vector)
        self._touched.add(stored.id)
        self._languages[stored.id] = language(stored.content)
        for vectors in self._all_vectors():
            if vector is not None and stored.embedder == vectors.embedder:
                vectors.put(stored, vector)
            elif not stored.embedder:
                vectors.remove((stored.id,))
        return stored

    async def remove(self, memory_ids: Iterable[str]) -> None:
        """Forget memories that were deleted from the database."""
        gone = list(memory_ids)
        self._touched.update(gone)
        for memory_id in gone:
            self._languages.pop(memory_id, None)
        for vectors in self._all_vectors():
            vectors.remove(gone)

    async def clear(self, type: MemoryType, workflow_id: str | None) -> int:
        """Delete all memories of a type in a workflow, or for None the general ones. Returns how many there were."""
        scope = MemoryScope.GENERAL if workflow_id is None else MemoryScope.WORKFLOW
        ids = await self._words.matching(MemoryFilter(workflow_id, scope, type))
        deleted = await self._memories.clear(type, workflow_id)
        await self.remove(ids)
        return deleted

    async def search(
        self, query: str, *, filters: MemoryFilter | None = None, limit: int = limits.MEMORY_LIST_DEFAULT, threshold: float = 0.7
    ) -> Found:
        """The memories most relevant to a query, best first, none that has expired.

        Args:
            filters: whose memories of which type with which tags; every memory there is when left out.
            limit: 1 to ``limits.MEMORY_LIST_MAX``.
            threshold: 0 to 1, how close to a full match a memory must come; see ``ranking.least_relevance``.

        Raises:
            UsageError: a limit or threshold out of range.
        """
        if not 1 <= limit <= limits.MEMORY_LIST_MAX or not 0.0 <= threshold <= 1.0:
            raise UsageError(
                N_("limit must be 1 to {most} and threshold 0 to 1; given: {limit} and {threshold}."),
                most=limits.MEMORY_LIST_MAX,
                limit=limit,
                threshold=threshold,
            )
        wanted = filters if filters is not None else self.ANY
        near, words = await asyncio.gather(self._near(query, wanted), self._share(query, wanted))
        least = ranking.least_relevance(threshold, hybrid=near.compared)
        spoken = language(query)
        pool = ranking.promising(
            ranking.candidates(words, near.nearest, near.cosine),
            least,
            lambda candidate: ranking.at_most(candidate, spoken, self._languages.get(candidate.id)),
        )
        hits = await self._read(pool, spoken, wanted, limit)
        return Found(ranking.chosen(hits, least=least, limit=limit), "hybrid" if near.compared else "text", near.note)

    async def reembed(self, progress: Progress | None = None) -> int:
        """Give every memory a vector of the embedder in use, then delete those of others. Returns how many were embedded.

        Searches work meanwhile: what is not embedded yet is found by its words. Cancelling the task stops it between two batches; a later
        call goes on where it stopped. One at a time: a second call waits for the first to end.

        Raises:
            UsageError: there is no embedder.
            ProviderError: the embedder failed.
        """
        async with self._reembed_lock:
            embedder = self._embedder
            if embedder is None:
                raise UsageError(N_("There is no embedder to embed memories with. Choose one in the memory settings."))
            try:
                return await self._reembed(embedder, progress)
            finally:
                self._reembedding = None

    async def _reembed(self, embedder: Embedder, progress: Progress | None) -> int:
        vectors = await self._loaded(embedder)
        done, total = 0, max(0, await self._memories.count() - len(vectors))
        self._reembedding = (done, total)
        after = ""
        while self._embedder is embedder and (batch := await self._memories.without_vector(embedder.id, REEMBED_BATCH, after=after)):
            after = batch[-1].id
            await self._embed_batch(embedder, batch)
            done += len(batch)
            total = max(total, done)
            self._reembedding = (done, total)
            if progress is not None:
                progress(done, total)
        if self._embedder is embedder:
            await self._memories.drop_vectors(embedder.id)
        return done

    async def _embed_batch(self, embedder: Embedder, batch: list[Memory]) -> None:
        """Embed memories that no one changed meanwhile; whoever changes one embeds it too."""
        self._touched.difference_update(memory.id for memory in batch)
        made = await embedder.embed([_text(memory) for memory in batch])
        unchanged = [(memory, vector) for memory, vector in zip(batch, made, strict=True) if memory.id not in self._touched]
        saved = await asyncio.gather(
            *(self._memories.set_vector(memory.id, embedder.id, vector) for memory, vector in unchanged), return_exceptions=True
        )
        for (memory, vector), outcome in zip(unchanged, saved, strict=True):
            if isinstance(outcome, BaseException):
                if not isinstance(outcome, NotFoundError):
                    raise outcome
                continue
            for vectors in self._all_vectors():
                if vectors.embedder == embedder.id and memory.id not in self._touched:
                    vectors.put(memory, vector)

    async def _near(self, query: str, wanted: MemoryFilter) -> _Near:
        """The memories nearest to the query; none, with a note, when there is no vector to compare with."""
        embedder = self._embedder
        if embedder is None:
            return _Near(note="No embedder is set: full text alone was searched.")
        try:
            async with asyncio.timeout(EMBED_WAIT_S):
                made = await embedder.embed([query[:EMBEDDED_CHARS]], query=True)
        except (AtelierError, TimeoutError) as error:
            log.warning("the query was not embedded: %s", error)
            return _Near(note=f"The embedder failed ({str(error) or 'no answer in time'}): full text alone was searched.")
        vectors = await self._loaded(embedder)
        mask = vectors.mask(wanted)
        if mask is None:
            mask = vectors.set_mask(wanted, await self._words.matching(wanted))
        nearest, cosine = await in_tool_thread(vectors.nearest, made[0], mask, ranking.POOL)
        if self._reembedding is None:
            return _Near(nearest, cosine, True)
        done, total = self._reembedding
        note = f"Memories are being embedded again ({done} of {total}): the others were searched by their words alone."
        return _Near(nearest, cosine, True, note)

    async def _share(self, query: str, wanted: MemoryFilter) -> list[tuple[str, float]]:
        """Word scores as shares of the best the query could reach."""
        result = await self._words.search(query, ranking.POOL, wanted)
        return [(memory_id, score / result.best) for memory_id, score in result.hits] if result.best > 0 else []

    async def _read(self, pool: Sequence[ranking.Candidate], spoken: str, wanted: MemoryFilter, limit: int) -> list[MemoryHit]:
        """Hits of the most promising candidates, some more than are wanted.

        What was deleted behind our back is forgotten, and others take its place.
        """
        now = self._clock.now()
        hits: list[MemoryHit] = []
        start = 0
        while start < len(pool) and (missing := limit + ranking.READ_AHEAD - len(hits)) > 0:
            batch = {each.id: each for each in pool[start : start + missing]}
            start += len(batch)
            memories = await self._memories.get_many(list(batch))
            await self.remove(batch.keys() - {memory.id for memory in memories})
            for memory in memories:
                tongue = self._languages[memory.id] = language(memory.content)
                if accepts(wanted, memory) and (memory.expires_at is None or memory.expires_at > now):
                    hits.append(ranking.hit(memory, batch[memory.id], spoken, tongue, now))
        return hits

    async def _vector_of(self, memory: Memory) -> np.ndarray | None:
        if self._embedder is None:
            return None
        try:
            vectors = await self._embedder.embed([_text(memory)])
        except AtelierError as error:
            log.warning("a memory is kept without a vector: %s", error)
            return None
        first: np.ndarray = vectors[0]
        return first

    async def _loaded(self, embedder: Embedder) -> VectorIndex:
        """The embedder's vectors; read from the database at the first call, a page at a time."""
        async with self._load_lock:
            if self._vectors is not None and self._vectors.embedder == embedder.id:
                return self._vectors
            self._touched.clear()
            vectors = self._loading = VectorIndex(embedder.id, embedder.dimension)
            after = ""
            while True:
                ids, matrix = await self._memories.vectors(embedder.id, after=after)
                if not ids:
                    break
                after = ids[-1]
                fresh = [index for index, memory_id in enumerate(ids) if memory_id not in self._touched]
                await in_tool_thread(vectors.load, [ids[index] for index in fresh], matrix[fresh])
            await in_tool_thread(vectors.prepare)
            if self._embedder is embedder:
                self._vectors = vectors
            self._loading = None
            return vectors

    def _all_vectors(self) -> list[VectorIndex]:
        return [vectors for vectors in (self._vectors, self._loading) if vectors is not None]


def _text(memory: Memory) -> str:
    return memory.content[:EMBEDDED_CHARS]
