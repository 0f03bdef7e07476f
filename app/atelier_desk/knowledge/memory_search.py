"""Search in memories.

In-process vectors and words, combined by weighted scores; see ``atelier_desk.knowledge.hybrid_ranking``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from atelier_desk.domain import limits
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.memory import Memory, MemoryFilter, MemoryHit
from atelier_desk.knowledge.query_vector import EMBEDDED_CHARS, Question, query_vector
from atelier_desk.llm.embedders.single_threaded_blas import limit_to_one_thread
from atelier_desk.storage.language_detection import language
from atelier_desk.storage.search_terms import words
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    import numpy as np

    from atelier_desk.knowledge.memory_index_cache import IndexKeeper
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.repositories import MemoryRepository

log = logging.getLogger(__name__)

BATCH = 64
"""Memories embedded and written together."""

Progress = Callable[[int, int], None]
"""Called with the number of finished memories and the total."""


@dataclass(frozen=True, slots=True)
class MemoryMatch:
    """Result of a search.

    ``note`` says why only text was searched, or that memories are still being embedded; otherwise empty.
    """

    hits: list[MemoryHit] = field(default_factory=list)
    search_type: Literal["hybrid", "text"] = "text"
    note: str = ""


class MemorySearch:
    """Keeps memories searchable, and searches them.

    Memories are written by ``index`` and ``index_many``, which also embed them; deletions go through the repository and
    are followed. The index is loaded at the first search. Without an embedder, or when it fails, only full text is
    searched, and the result says so.

    Attributes:
        ANY: the filter that accepts every memory.
        memories: the repository.
        coming: the embedder whose vectors are being made while searches still use the old one; else None.
    """

    ANY = MemoryFilter(scope=None)

    def __init__(
        self, memories: MemoryRepository, embedder: Embedder | None, clock: Clock, file: Path | None = None
    ) -> None:
        """``file`` stores the index between starts; without it, it is read from the database each time."""
        self.memories = memories
        self._embedder = embedder
        self._clock = clock
        self._file = file
        self.coming: Embedder | None = None
        self._reembed_lock = asyncio.Lock()
        self._reembedding: tuple[int, int] | None = None
        self._found: dict[str, dict[str, None]] = {}
        self._noting: asyncio.Task[None] | None = None

    @cached_property
    def index_cache(self) -> IndexKeeper:
        """The index, which loads numpy: made at the first search or vector."""
        limit_to_one_thread()
        from atelier_desk.knowledge.memory_index_cache import IndexKeeper

        made = IndexKeeper(self.memories, self._file)
        made.use(self._embedder)
        return made

    @property
    def embedder(self) -> Embedder | None:
        """The embedder whose vectors are compared."""
        return self._embedder

    def use(self, embedder: Embedder | None) -> None:
        """Search with another embedder from now on.

        Memories without its vectors are found by words; see ``reembed``.
        """
        self._embedder, self.coming = embedder, None
        if "index_cache" in vars(self):
            self.index_cache.use(embedder)

    def change_to(self, embedder: Embedder) -> None:
        """Search with the present embedder until ``reembed`` has made all vectors of this one."""
        if self._embedder is None:
            self.use(embedder)
        else:
            self.coming = None if embedder.id == self._embedder.id else embedder

    async def warm(self) -> None:
        """Load the index now so that the first search need not wait, and write its file if missing.

        Without memories nothing is loaded, not even numpy.
        """
        if await self.memories.count():
            await self.index_cache.loaded()
            await self.index_cache.save()

    async def aclose(self) -> None:
        """Finish pending writes, and store the index for the next start."""
        await self.settle()
        if "index_cache" in vars(self):
            await self.index_cache.save()

    async def index(self, memory: Memory) -> Memory:
        """Save and embed a new or changed memory and make it searchable; return it as stored.

        When the embedder fails, the memory is saved without a vector: it is found by words, and ``reembed`` adds the
        vector later.

        Raises:
            NotFoundError: its workflow is gone.
        """
        embedder = self._embedder
        made = await self._vectors_of([memory])
        if made is None or embedder is None:
            return await self.memories.save(memory.model_copy(update={"embedder": ""}), None)
        with self.index_cache.expecting(embedder.id, {memory.id: made[0]}):
            return await self.memories.save(memory.model_copy(update={"embedder": embedder.id}), made[0])

    async def index_many(self, memories: Sequence[Memory], progress: Progress | None = None) -> list[Memory]:
        """Like ``index`` for many new or changed memories, in batches that are each written atomically.

        Raises:
            NotFoundError: a workflow is gone; its batch and later ones are not written.
        """
        stored: list[Memory] = []
        for start in range(0, len(memories), BATCH):
            batch = list(memories[start : start + BATCH])
            embedder = self._embedder
            made = await self._vectors_of(batch)
            if made is None or embedder is None:
                stored += await self.memories.save_many(
                    [(each.model_copy(update={"embedder": ""}), None) for each in batch]
                )
            else:
                with self.index_cache.expecting(
                    embedder.id, {each.id: vector for each, vector in zip(batch, made, strict=True)}
                ):
                    named = [each.model_copy(update={"embedder": embedder.id}) for each in batch]
                    stored += await self.memories.save_many(list(zip(named, made, strict=True)))
            if progress is not None:
                progress(len(stored), len(memories))
        return stored

    async def search(
        self,
        query: str,
        *,
        filters: MemoryFilter | None = None,
        limit: int = limits.MEMORY_LIST_DEFAULT,
        threshold: float = 0.7,
    ) -> MemoryMatch:
        """Return the unexpired memories most relevant to a query, best first.

        Args:
            filters: workflow, type and tags; every memory when omitted.
            limit: 1 to ``limits.MEMORY_LIST_MAX``.
            threshold: 0 to 1, the minimum certainty that a memory is about the query; see ``ranking.certainty``.
        """
        if not 1 <= limit <= limits.MEMORY_LIST_MAX or not 0.0 <= threshold <= 1.0:
            raise UsageError(
                N_(
                    "The limit must be between 1 and {most} and the threshold between 0 and 1, not {limit} and "
                    "{threshold}."
                ),
                most=limits.MEMORY_LIST_MAX,
                limit=limit,
                threshold=threshold,
            )
        wanted = filters if filters is not None else self.ANY
        (vector, note), stems, index = await asyncio.gather(
            self._vector(query), self.memories.stems(query), self.index_cache.loaded()
        )
        question = Question(stems, vector, language(query), frozenset(words(query)))
        hits: list[MemoryHit] = []
        while True:
            # Memories deleted meanwhile are dropped, and others take their place.
            now = self._clock.now()
            ranked = await in_tool_thread(index.search, question, wanted, now.timestamp(), limit, threshold)
            known = {memory.id: memory for memory in await self.memories.get_many([each.id for each in ranked])}
            hits = [each.hit(known[each.id]) for each in ranked if each.id in known]
            if len(hits) == len(ranked):
                break
            self.index_cache.deleted([each.id for each in ranked if each.id not in known])
        return MemoryMatch(hits, "hybrid" if vector is not None else "text", note)

    def note_found(self, memory_ids: Sequence[str], run_id: str) -> None:
        """Record in the background that a run retrieved these memories: no search waits for it; ``settle`` does."""
        self.index_cache.used(memory_ids)
        self._found.setdefault(run_id, {}).update(dict.fromkeys(memory_ids))
        if memory_ids and (self._noting is None or self._noting.done()):
            self._noting = background_tasks.start(self._note(), "count of memories found")

    async def settle(self) -> None:
        """Wait until retrievals are recorded."""
        while self._noting is not None and not self._noting.done():
            await asyncio.wait([self._noting])

    async def _note(self) -> None:
        while self._found:
            found, self._found = self._found, {}
            try:
                await self.memories.mark_retrieved({run_id: list(ids) for run_id, ids in found.items()})
            except AtelierError as error:
                log.warning("it is not noted which memories were found: %s", error)

    async def to_embed(self) -> int:
        """Return the number of memories without a vector of the target embedder."""
        embedder = self.coming or self._embedder
        return await self.memories.count_without(embedder.id) if embedder is not None else 0

    async def reembed(self, progress: Progress | None = None) -> int:
        """Embed every memory with the embedder in use, or the one to follow it; then search with that, and delete other
        vectors.

        Returns the number embedded. Searches continue meanwhile, with the old embedder until the new vectors are
        complete. Cancelling stops between two batches; a later call, also after a kill, continues there. A second call
        waits for the first.

        Raises:
            UsageError: there is no embedder.
            ProviderError: the embedder failed.
        """
        async with self._reembed_lock:
            embedder = self.coming or self._embedder
            if embedder is None:
                raise UsageError(N_("There is no embedder for memories. Choose one in the memory settings."))
            try:
                return await self._reembed(embedder, progress)
            finally:
                self._reembedding = None

    async def _reembed(self, embedder: Embedder, progress: Progress | None) -> int:
        done, total = 0, await self.memories.count_without(embedder.id)
        self._reembedding = (done, total)
        while True:
            after, before = "", done
            while batch := await self.memories.without_vector(embedder.id, BATCH, after=after):
                if embedder is not (self.coming or self._embedder):
                    return done  # another embedder was chosen meanwhile
                after = batch[-1].id
                self.index_cache.embedding(batch)
                made = await embedder.embed([embedded_text(memory) for memory in batch])
                await self.memories.set_vectors(embedder.id, list(zip(batch, made, strict=True)))
                if embedder is self._embedder:
                    self.index_cache.embedded(embedder.id, batch, made)
                done += len(batch)
                total = max(total, done)
                self._reembedding = (done, total)
                if progress is not None:
                    progress(done, total)
            if embedder is self.coming:
                # memories saved while it read the vectors have an old one; the next round fixes that
                await self._switch(embedder)
            elif done == before:
                break
        await self.memories.drop_vectors(embedder.id)
        return done

    async def _switch(self, embedder: Embedder) -> None:
        """Compare this embedder's vectors from now on."""
        await self.index_cache.load_vectors(embedder)
        self._embedder, self.coming = embedder, None

    async def _vector(self, query: str) -> tuple[np.ndarray | None, str]:
        """Return the query's vector, or None with a note."""
        vector, note = await query_vector(self._embedder, query)
        if vector is None or self._reembedding is None or self.coming is not None:
            return vector, note
        done, total = self._reembedding
        return (
            vector,
            f"Memories are being embedded again ({done} of {total}): the others were searched by their words alone.",
        )

    async def _vectors_of(self, memories: Sequence[Memory]) -> np.ndarray | None:
        if self._embedder is None:
            return None
        try:
            return await self._embedder.embed([embedded_text(memory) for memory in memories])
        except AtelierError as error:
            log.warning("memories are kept without a vector: %s", error)
            return None


def embedded_text(memory: Memory) -> str:
    """Return the text to embed for a memory; for a turn it includes the speaker."""
    text = f"{memory.agent_source}: {memory.content}" if memory.turn else memory.content
    return text[:EMBEDDED_CHARS]
