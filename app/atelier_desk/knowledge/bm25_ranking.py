"""Rank memories by their words, in process: BM25 over English and French stems.

The database's own full-text index matches and stems, but its score visits every entry of a document at each query:
20–36 ms for 50 000 memories before any ranking, 130–420 ms for common words, and it cannot tell the best reachable
score. So each memory row stores its stems as bytes (``terms``), made by the database's analysers when it is saved.

A word counts once, by the better of its two stems, so that neither language is favoured. Word rarity and average length
are computed within the searched scope: memories of other workflows do not change the order. The neighbours of a memory
in its run are scored together as one text: an answer is found by the words of its question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from atelier_desk.storage.memory_index_entry import Stems, hashes

K1 = 0.9
B = 0.4
MERGE_AT = 2_000
"""Number of memories added since the large segment was built at which it is rebuilt."""


@dataclass(frozen=True)
class WordScores:
    """For each row the score of its own words and of those around it, 0–1: shares of the best that any text could
    reach; and whether all words of the query are its own."""

    own: np.ndarray
    around: np.ndarray
    all: np.ndarray


class Segment:
    """An immutable inverted index: for each stem hash, in order, the rows that contain it and how often.

    Attributes:
        keys, starts, rows, counts: the arrays stored in a file; ``starts`` has one element more than ``keys``.
    """

    def __init__(self, keys: np.ndarray, starts: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> None:
        self.keys, self.starts, self.rows, self.counts = keys, starts, rows, counts

    @classmethod
    def of_pairs(cls, keys: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> Segment:
        """Build a segment from postings in any order."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = (
            np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
            if len(keys)
            else np.zeros(0, dtype=np.int64)
        )
        return cls(keys[first], np.append(first, len(keys)).astype(np.int64), rows[order], counts[order])

    @classmethod
    def of_terms(cls, terms: Sequence[tuple[int, bytes]]) -> Segment:
        """Build a segment from the packed stems of each row; see ``atelier_desk.storage.memory_index_entry.pack``."""
        packed = [np.frombuffer(each, dtype="<u4") for _row, each in terms]
        pairs = np.concatenate([numbers[1:] for numbers in packed]) if packed else np.empty(0, dtype="<u4")
        sizes = [max(0, (len(numbers) - 1) // 2) for numbers in packed]
        rows = np.repeat(np.array([row for row, _each in terms], dtype=np.int32), sizes)
        return cls.of_pairs(pairs[0::2].copy(), rows, np.minimum(pairs[1::2], 65_535).astype(np.uint16))

    def postings(self, key: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that contain a stem, and how often."""
        # Same type as the keys: for any other, numpy converts all keys first.
        wanted = np.array(key, dtype=self.keys.dtype)
        place = int(np.searchsorted(self.keys, wanted))
        if place == len(self.keys) or self.keys[place] != wanted:
            return self.rows[:0], self.counts[:0]
        start, end = self.starts[place], self.starts[place + 1]
        return self.rows[start:end], self.counts[start:end]

    def joined(self, other: Segment, live: np.ndarray) -> Segment:
        """Return both segments as one, without abandoned rows."""
        keys = np.concatenate([np.repeat(each.keys, np.diff(each.starts)) for each in (self, other)])
        rows, counts = np.concatenate([self.rows, other.rows]), np.concatenate([self.counts, other.counts])
        matches = live[rows]
        return Segment.of_pairs(keys[matches], rows[matches], counts[matches])


class Postings:
    """The stems of all memories: a large segment, rebuilt occasionally, and a small one with later additions."""

    def __init__(self, large: Segment | None = None) -> None:
        self._large = large
        self._small: Segment | None = None
        self._recent: dict[int, bytes] = {}

    @property
    def crowded(self) -> bool:
        """Whether so many rows were added that it is time for ``merged``."""
        return len(self._recent) > MERGE_AT

    def add(self, row: int, terms: bytes) -> None:
        """Add the stems of a new row."""
        self._recent[row] = terms
        self._small = None

    def merged(self, live: np.ndarray) -> Segment:
        """Return one segment of the ``live`` rows. Changes nothing; pass the result to ``adopt``."""
        small = Segment.of_terms([(row, terms) for row, terms in list(self._recent.items()) if row < len(live)])
        return small if self._large is None else self._large.joined(small, live)

    def adopt(self, large: Segment, rows: int) -> None:
        """Use ``large``, which contains all rows below ``rows``, as the large segment."""
        self._large, self._small = large, None
        self._recent = {row: terms for row, terms in self._recent.items() if row >= rows}

    def scores(
        self,
        query: Stems,
        scope: np.ndarray,
        lengths: np.ndarray,
        beside: np.ndarray,
        around: np.ndarray,
        k1: float = K1,
        b: float = B,
        *,
        repeated: bool = False,
    ) -> WordScores | None:
        """Score how well each row, and its neighbours, match a query; None when no query word occurs in the scope.

        Args:
            query: stems of its words; a repeated word counts once, or with ``repeated`` 1 + ln 2 times.
            scope: boolean mask of rows; scores of other rows are meaningless.
            lengths: words of each row; ``around``: those of its neighbours, whose rows are in ``beside``.
            k1, b: BM25 parameters: saturation of frequent words and length normalisation.
        """
        words = Counter(hashes(pair) for pair in query)
        there = int(scope.sum())
        if not words or not there:
            return None
        segments = self._segments()
        count = len(scope)
        total, near = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
        linked = bool((around > 0).any())
        norm = _norm(lengths, scope, k1, b)
        far_norm = _norm(around, scope & (around > 0), k1, b) if linked else norm
        every = scope.copy()
        best = far_best = 0.0
        for keys, often_asked in words.items():
            share = 1 + math.log(often_asked) if repeated else 1.0
            own, other = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
            weights, far_weights = [], []
            for key in keys:
                found = [segment.postings(key) for segment in segments]
                rows = np.concatenate([each[0] for each in found]) if found else np.zeros(0, dtype=np.int32)
                counts = (
                    np.concatenate([each[1] for each in found]).astype(np.float32)
                    if found
                    else np.zeros(0, dtype=np.float32)
                )
                inside = scope[rows]
                rows, counts = rows[inside], counts[inside]
                if not len(rows):
                    continue
                weights.append(_idf(len(rows), there))
                own[rows] = np.maximum(own[rows], weights[-1] * (counts * (k1 + 1)) / (counts + norm[rows]))
                if linked:
                    beside_it = beside[rows].ravel()
                    often = np.bincount(beside_it, weights=np.repeat(counts, beside.shape[1]), minlength=count + 1)[
                        :count
                    ]
                    places = np.flatnonzero(often)
                    often = often[places].astype(np.float32)
                    far_weights.append(_idf(len(places), there))
                    scored = far_weights[-1] * (often * (k1 + 1)) / (often + far_norm[places])
                    other[places] = np.maximum(other[places], scored)
            total += share * own
            every &= own > 0
            best += share * max(weights, default=_idf(0, there)) * (k1 + 1)
            if linked:
                near += share * other
                far_best += share * max(far_weights, default=_idf(0, there)) * (k1 + 1)
        return WordScores(total / best, near / far_best if far_best else near, every)

    def _segments(self) -> list[Segment]:
        if self._recent and self._small is None:
            self._small = Segment.of_terms(list(self._recent.items()))
        return [segment for segment in (self._large, self._small if self._recent else None) if segment is not None]


def _norm(lengths: np.ndarray, scope: np.ndarray, k1: float, b: float) -> np.ndarray:
    average = max(1.0, float(lengths[scope].mean())) if scope.any() else 1.0
    norm: np.ndarray = k1 * (1 - b + b * lengths / average)
    return norm


def _idf(documents: int, there: int) -> float:
    """Return Robertson's IDF weight, kept positive by adding 1 (as Lucene does)."""
    return math.log(1 + (there - min(documents, there) + 0.5) / (documents + 0.5))
