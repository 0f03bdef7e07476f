"""Ranking of memories by their words, in process: BM25 over stems in English and French.

The database's own full text index matches and stems, but its score walks one entry a document at every query: 20–36 ms at 50 000
memories before anything is ranked, 130–420 ms for common words, and it cannot say what the best reachable score is. So each memory row
keeps its stems as bytes (``terms``), made by the database's analyzers when it is saved, and they are ranked here.

A word counts once, by the better of its two stems, so that neither language is favoured. BM25 with k1 = 1.2 and b = 0.75.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.storage.stems import Entry, Stems, hashes

if TYPE_CHECKING:
    import numpy as np

K1 = 1.2
B = 0.75
MERGE_AT = 2_000
"""Entries added since the large segment was built that make it worth building again."""


@dataclass(frozen=True)
class LexicalResult:
    """Ids and raw scores, best first, and the best score that any text could reach for the query: ``score / best`` is 0–1."""

    hits: list[tuple[str, float]] = field(default_factory=list)
    best: float = 0.0


class _Segment:
    """An immutable inverted index of some entries: postings sorted by stem hash."""

    def __init__(self, entries: list[Entry]) -> None:
        import numpy as np

        self.entries = entries
        packed = [np.frombuffer(entry.terms, dtype="<u4") for entry in entries]
        self.lengths = np.array([numbers[0] if len(numbers) else 0 for numbers in packed], dtype=np.float32)
        pairs = np.concatenate([numbers[1:] for numbers in packed]) if packed else np.empty(0, dtype="<u4")
        owners = np.repeat(np.arange(len(entries), dtype=np.int32), [max(0, (len(numbers) - 1) // 2) for numbers in packed])
        order = np.argsort(pairs[0::2], kind="stable")
        self._keys = pairs[0::2][order]
        self._counts = np.minimum(pairs[1::2][order], 65_535).astype(np.uint16)
        self._owners = owners[order]
        homes = {home: code for code, home in enumerate(dict.fromkeys(entry.workflow_id for entry in entries))}
        types = {kind: code for code, kind in enumerate(dict.fromkeys(entry.type for entry in entries))}
        self.homes, self.types = homes, types
        self.home = np.array([homes[entry.workflow_id] for entry in entries], dtype=np.int32)
        self.type = np.array([types[entry.type] for entry in entries], dtype=np.int16)
        self.expires = np.array([entry.expires for entry in entries], dtype=np.float64)
        self.live = np.ones(len(entries), dtype=bool)
        self.position = {entry.id: index for index, entry in enumerate(entries)}

    def postings(self, key: int) -> tuple[np.ndarray, np.ndarray]:
        """Documents that have a stem, and how often."""
        import numpy as np

        # A key of the keys' own type: for any other, numpy converts all keys first (0.7 ms a stem at 50 000 memories).
        wanted = np.array(key, dtype=self._keys.dtype)
        start, end = np.searchsorted(self._keys, wanted, "left"), np.searchsorted(self._keys, wanted, "right")
        return self._owners[start:end], self._counts[start:end]

    def allowed(self, wanted: MemoryFilter, now: float) -> np.ndarray:
        """Which entries a search may return, as booleans."""
        import numpy as np

        mask: np.ndarray = self.live & (self.expires > now)
        if wanted.scope is not None:
            mask &= np.isin(self.home, [code for home, code in self.homes.items() if wanted.accepts_home(home)])
        if wanted.type is not None:
            mask &= self.type == self.types.get(wanted.type.value, -1)
        if wanted.tags:
            tags = frozenset(wanted.tags)
            for index in np.flatnonzero(mask):
                mask[index] = tags <= self.entries[index].tags
        return mask


class LexicalIndex:
    """All memories' stems: a large segment, rebuilt now and then, and a small one with what came since."""

    def __init__(self) -> None:
        self._large: _Segment | None = None  # with no memory there is no need of numpy, which takes 11 MB
        self._small: _Segment | None = None
        self._recent: dict[str, Entry] = {}
        self._live = 0
        self._words = 0

    def __len__(self) -> int:
        return self._live

    def load(self, entries: Iterable[Entry]) -> None:
        """Add many entries at once; those whose id is known already are left as they are."""
        new = [entry for entry in entries if entry.id not in self]
        self._merge([*self._alive(), *new])

    def add(self, entry: Entry) -> None:
        """Add or replace one."""
        self.remove(entry.id)
        self._recent[entry.id] = entry
        self._small = None
        self._live += 1
        self._words += _length(entry)
        if len(self._recent) > MERGE_AT:
            self._merge(list(self._alive()))

    def remove(self, memory_id: str) -> None:
        """Forget one; an unknown id does nothing."""
        recent = self._recent.pop(memory_id, None)
        if recent is not None:
            self._small = None
            self._count_out(recent)
            return
        large = self._large
        index = large.position.get(memory_id) if large is not None else None
        if large is not None and index is not None and large.live[index]:
            large.live[index] = False
            self._count_out(large.entries[index])

    def __contains__(self, memory_id: object) -> bool:
        if memory_id in self._recent:
            return True
        large = self._large
        index = large.position.get(str(memory_id)) if large is not None else None
        return large is not None and index is not None and bool(large.live[index])

    def remove_of(self, workflow_id: str | None) -> None:
        """Forget all memories of a workflow (None: the general ones)."""
        gone = [entry.id for entry in self._alive() if entry.workflow_id == workflow_id]
        for each in gone:
            self.remove(each)

    def ids(self, wanted: MemoryFilter, now: float) -> set[str]:
        """Ids of all memories that a filter accepts and that have not expired."""
        found: set[str] = set()
        for segment in self._segments():
            mask = segment.allowed(wanted, now)
            found.update(segment.entries[index].id for index in mask.nonzero()[0])
        return found

    def search(self, query: Stems, limit: int, wanted: MemoryFilter, now: float) -> LexicalResult:
        """The best ``limit`` memories that share a word with the query.

        Args:
            query: stems of its words; a word that comes twice counts once.
            now: seconds since 1970; what has expired by then is left out.
        """
        words = {hashes(pair): None for pair in query}
        if not words or not self._live:
            return LexicalResult()
        segments = self._segments()
        found = [[[segment.postings(key) for key in keys] for keys in words] for segment in segments]
        weights = [[self._idf(sum(len(rows[word][stem][0]) for rows in found)) for stem in (0, 1)] for word in range(len(words))]
        best = sum(max(pair) for pair in weights) * (K1 + 1)
        scored: list[tuple[str, float]] = []
        for segment, rows in zip(segments, found, strict=True):
            scored += self._score(segment, rows, weights, limit, wanted, now)
        scored.sort(key=lambda hit: (-hit[1], hit[0]))
        return LexicalResult(scored[:limit], best)

    def _score(
        self, segment: _Segment, rows: list[list[Any]], weights: list[list[float]], limit: int, wanted: MemoryFilter, now: float
    ) -> list[tuple[str, float]]:
        import numpy as np

        count = len(segment.entries)
        total = np.zeros(count, dtype=np.float32)
        average = max(1.0, self._words / self._live)
        norm = K1 * (1 - B + B * segment.lengths / average)
        for stems, pair in zip(rows, weights, strict=True):
            word = np.zeros(count, dtype=np.float32)
            for (owners, counts), weight in zip(stems, pair, strict=True):
                score = weight * (counts * (K1 + 1)) / (counts + norm[owners])
                word[owners] = np.maximum(word[owners], score)
            total += word
        total[~segment.allowed(wanted, now)] = 0
        hits = np.flatnonzero(total)
        if len(hits) > limit:
            hits = hits[np.argpartition(-total[hits], limit - 1)[:limit]]
        return [(segment.entries[index].id, float(total[index])) for index in hits]

    def _idf(self, documents: int) -> float:
        """Robertson's weight, kept positive by the 1 (as Lucene does)."""
        return math.log(1 + (self._live - min(documents, self._live) + 0.5) / (documents + 0.5))

    def _segments(self) -> list[_Segment]:
        if self._recent and self._small is None:
            self._small = _Segment(list(self._recent.values()))
        return [segment for segment in (self._large, self._small if self._recent else None) if segment is not None and segment.entries]

    def _alive(self) -> Iterable[Entry]:
        if self._large is not None:
            for entry, live in zip(self._large.entries, self._large.live, strict=True):
                if live:
                    yield entry
        yield from list(self._recent.values())

    def _merge(self, entries: list[Entry]) -> None:
        self._recent = {}
        self._small = None
        self._large = _Segment(entries) if entries else None
        self._live = len(entries)
        self._words = sum(_length(entry) for entry in entries)

    def _count_out(self, entry: Entry) -> None:
        self._live -= 1
        self._words -= _length(entry)


def _length(entry: Entry) -> int:
    return int.from_bytes(entry.terms[:4], "little")
