"""The in-process index of all memories: rows, words and vectors, updated in place and searched from any thread."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.knowledge import hybrid_ranking
from atelier_desk.knowledge.bm25_ranking import Postings, Segment, WordScores
from atelier_desk.knowledge.memory_index_columns import LANGUAGES, MemoryRows, live_ids
from atelier_desk.knowledge.memory_vectors import REFINED, RowVectors
from atelier_desk.knowledge.query_vector import Question
from atelier_desk.storage.memory_index_entry import MemoryTerms
from atelier_desk.storage.search_terms import STOP_WORDS, words


class _Near(NamedTuple):
    """By row: whether it has a vector, its own cosine, and the cosine averaged with neighbouring turns."""

    has: np.ndarray
    own: np.ndarray
    averaged: np.ndarray


class MemoryIndex:
    """Memories by words and by one embedder's vectors.

    Changes come from the event loop, searches run in threads; a lock separates them, for a few milliseconds each.

    Attributes:
        rows, postings, vectors: its parts; ``vectors`` is None without an embedder.
        lock: must be held while reading the parts.
    """

    def __init__(self, vectors: RowVectors | None = None) -> None:
        self.rows = MemoryRows()
        self.postings = Postings()
        self.vectors = vectors
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, memory_id: object) -> bool:
        return memory_id in self.rows.row_of

    @property
    def wasteful(self) -> bool:
        """Whether most rows are abandoned, so that the index should be rebuilt."""
        return self.rows.count > 2 * len(self.rows) + 2_000

    def put(self, entry: MemoryTerms, vector: np.ndarray | None = None) -> None:
        """Add or replace a memory. Without ``vector`` it keeps its present one as long as its words are unchanged."""
        with self.lock:
            row, fresh = self.rows.put(entry, zlib.crc32(entry.terms))
            if fresh:
                self.postings.add(row, entry.terms)
            if self.vectors is not None and vector is not None:
                self.vectors.put(row, vector)

    def set_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Set the vector of a memory; unknown memories are ignored."""
        with self.lock:
            row = self.rows.row_of.get(memory_id)
            if row is not None and self.vectors is not None:
                self.vectors.put(row, vector)

    def load(self, entries: Iterable[MemoryTerms]) -> None:
        """Add many memories at once; known ones are newer and stay."""
        with self.lock:
            new = [entry for entry in entries if entry.id not in self.rows.row_of]
            start = self.rows.count
            self.rows.extend(new, [zlib.crc32(entry.terms) for entry in new])
            for number, entry in enumerate(new):
                self.postings.add(start + number, entry.terms)

    def load_vectors(self, vectors: RowVectors, ids: Sequence[str], matrix: np.ndarray) -> None:
        """Add a page of stored vectors to ``vectors``; memories that already have one there have a newer one."""
        with self.lock:
            found = [(number, self.rows.row_of.get(memory_id)) for number, memory_id in enumerate(ids)]
            has = vectors.has(self.rows.count)
            known = [(number, row) for number, row in found if row is not None and not has[row]]
            places = np.array([row for _number, row in known], dtype=np.int64)
            vectors.load(places, matrix[[number for number, _row in known]])

    def prepare(self) -> None:
        """Merge the word segments and build vector sketches if due.

        Call it in a thread; searches and changes continue.
        """
        if self.postings.crowded:
            with self.lock:
                rows, live = self.rows.count, self.rows.column("live").copy()
            merged = self.postings.merged(live)
            with self.lock:
                self.postings.adopt(merged, rows)
        if self.vectors is not None:
            with self.lock:
                self.vectors.prepare()

    def use(self, vectors: RowVectors | None) -> None:
        """Compare these vectors from now on."""
        with self.lock:
            self.vectors = vectors

    def remove(self, memory_ids: Iterable[str]) -> None:
        """Remove memories; unknown ids are ignored."""
        with self.lock:
            for memory_id in memory_ids:
                row = self.rows.row_of.get(memory_id)
                self.rows.remove(memory_id)
                if row is not None and self.vectors is not None:
                    self.vectors.remove(row)

    def used(self, memory_ids: Iterable[str]) -> None:
        """Count one more run that retrieved these memories."""
        with self.lock:
            rows = [row for memory_id in memory_ids if (row := self.rows.row_of.get(memory_id)) is not None]
            self.rows.column("uses")[rows] += 1

    def of_home(self, workflow_id: str | None) -> list[str]:
        """Return the ids of a workflow's memories, or for None of the general ones."""
        with self.lock:
            return self.rows.of_home(workflow_id)

    def matching(self, wanted: MemoryFilter, now: float) -> set[str]:
        """Return the ids of unexpired memories that a filter accepts."""
        with self.lock:
            return set(live_ids(self.rows, self.rows.accepted(wanted, self.rows.scope(wanted, now))))

    def search(
        self, question: Question, wanted: MemoryFilter, now: float, limit: int, least: float = 0.0
    ) -> list[hybrid_ranking.Ranked]:
        """Return the ``limit`` most relevant memories with at least the certainty ``least``, best first.

        ``now`` is in seconds since 1970.
        """
        with self.lock:
            return self._search(question, wanted, now, limit, least)

    def _search(
        self, question: Question, wanted: MemoryFilter, now: float, limit: int, least: float
    ) -> list[hybrid_ranking.Ranked]:
        rows, count = self.rows, self.rows.count
        scope = rows.scope(wanted, now)
        accepted = rows.accepted(wanted, scope)
        if not accepted.any():
            return []
        neighbours, around = rows.neighbours()
        told = self.postings.scores(question.stems, scope, rows.column("length"), neighbours, around)
        lexical = _together(told, count)
        if told is not None and question.words <= STOP_WORDS:
            lexical = np.where(told.all, lexical, 0)  # one stop word of several says nothing
        pool = accepted & (lexical > 0)
        near = None
        if question.vector is not None and self.vectors is not None:
            by_words = _best(lexical, pool, hybrid_ranking.POOL)
            near = self._near(question.vector, accepted, by_words, neighbours)
            pool = accepted & ((lexical > 0) | (near.averaged > 0))
        places = np.flatnonzero(pool)
        lexical, literal = lexical[places], told.all[places] if told is not None else np.zeros(len(places), dtype=bool)
        turns = rows.column("turn")[places]
        if near is not None:
            has, own, averaged = near.has[places], near.own[places], near.averaged[places]
            beyond = np.where(has, hybrid_ranking.beyond(near.averaged, accepted & near.has)[places], 0)
            relevance, lexical = hybrid_ranking.relevance(
                lexical, beyond, averaged, self._foreign(question.language, places) & has
            )
            certain = hybrid_ranking.certainty(lexical, own, turns)
        else:
            relevance, certain = lexical, hybrid_ranking.certainty_of_words(lexical)
        certain = np.where(literal, 1, certain)
        named = self._named(question.words)
        if named:
            relevance = np.where(
                turns & np.isin(rows.column("speaker")[places], named), hybrid_ranking.NAMED * relevance, relevance
            )
        importance = hybrid_ranking.weight_of(rows.column("importance")[places], rows.column("uses")[places])
        recency = np.clip(1 - (now - rows.column("created")[places]) / (hybrid_ranking.RECENCY_DAYS * 86_400), 0, 1)
        score = relevance + hybrid_ranking.TIE_BREAK * (importance + recency)
        order = score + hybrid_ranking.LITERAL * literal
        able = np.flatnonzero((relevance > 0) & (certain >= least))
        if len(able) > limit:
            able = able[np.argpartition(-order[able], limit - 1)[:limit]]
        ordered = sorted(able, key=lambda place: (-order[place], rows.ids[places[place]]))
        return [
            hybrid_ranking.Ranked(
                rows.ids[places[at]],
                float(score[at]),
                float(min(1.0, relevance[at])),
                float(min(1.0, lexical[at])),
                float(own[at]) if near is not None and has[at] else None,
                float(certain[at]),
                float(importance[at]),
                float(recency[at]),
            )
            for at in ordered
        ]

    def _near(self, query: np.ndarray, accepted: np.ndarray, by_words: np.ndarray, beside: np.ndarray) -> _Near:
        """Return cosines: exact for near rows and rows that share words, from the sketches for all others."""
        assert self.vectors is not None
        count = len(accepted)
        cosines, exact = self.vectors.cosines(query, count)
        has = self.vectors.has(count)
        turns = self.rows.column("turn")
        averaged = _averaged(cosines, has, turns, beside)
        if not exact:
            picked = np.union1d(_best(averaged, accepted & has, REFINED), by_words)
            if turns.any():
                there = beside[picked[turns[picked]], :2].ravel()
                picked = np.union1d(picked, there[there < count])
            picked = picked[has[picked]]
            # Rows not computed exactly rank behind the others, whatever their sketch says.
            rest = np.minimum(cosines, np.float32(0))
            rest[picked] = self.vectors.exact(query, picked)
            cosines, has_near = rest, np.zeros(count, dtype=bool)
            has_near[picked] = True
            averaged = _averaged(cosines, has_near, turns, beside)
        return _Near(has, np.clip(cosines, 0, 1), np.clip(averaged, 0, 1))

    def _foreign(self, language: str, places: np.ndarray) -> np.ndarray:
        spoken = self.rows.column("language")[places]
        if not language:
            return np.zeros(len(places), dtype=bool)
        found: np.ndarray = (spoken != 0) & (spoken != LANGUAGES.index(language))
        return found

    def _named(self, plain: frozenset[str]) -> list[int]:
        """Return the codes of the speakers that a query names."""
        if not plain:
            return []
        return [code for code, name in enumerate(self.rows.names["speaker"]) if name and plain.issuperset(words(name))]


def _together(told: WordScores | None, count: int) -> np.ndarray:
    if told is None:
        return np.zeros(count, dtype=np.float32)
    found: np.ndarray = told.own + hybrid_ranking.AROUND * told.around
    return found


def _best(values: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """Return the rows of the highest values, unordered."""
    places = np.flatnonzero(among)
    if len(places) > count:
        places = places[np.argpartition(-values[places], count - 1)[:count]]
    return places


def _averaged(cosines: np.ndarray, has: np.ndarray, turns: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """Return the cosines; those of conversation turns are averaged with the turns directly before and after them."""
    if not turns.any():
        return cosines
    rows = np.flatnonzero(turns & has)
    counted = np.append(turns & has, False)
    valued = np.append(np.where(turns & has, cosines, 0), 0)
    near = beside[rows, :2]
    found = cosines.copy()
    found[rows] = (cosines[rows] + hybrid_ranking.NEIGHBOUR * valued[near].sum(axis=1)) / (
        1 + hybrid_ranking.NEIGHBOUR * counted[near].sum(axis=1)
    )
    return found


def segment_of(index: MemoryIndex) -> Segment:
    """Return all words as one segment, for a file."""
    return index.postings.merged(index.rows.column("live"))
