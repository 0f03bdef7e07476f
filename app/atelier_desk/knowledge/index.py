"""The index of all memories in process: rows, words and vectors, changed in place and searched from any thread."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.knowledge import ranking
from atelier_desk.knowledge.lexical import Postings, Segment, WordScores
from atelier_desk.knowledge.rows import LANGUAGES, MemoryRows, live_ids
from atelier_desk.knowledge.vectors import REFINED, RowVectors
from atelier_desk.storage.memory_terms import MemoryTerms, Stems
from atelier_desk.storage.search_terms import STOP_WORDS, words

if TYPE_CHECKING:
    import numpy as np


class Question(NamedTuple):
    """What is looked for: the stems of its words, its vector if there is one, its language and the plain words (speakers are named in
    them)."""

    stems: Stems
    vector: np.ndarray | None = None
    language: str = ""
    words: frozenset[str] = frozenset()


class _Near(NamedTuple):
    """Of each row: whether it has a vector, its own cosine, and the one that the turns beside it are averaged into."""

    has: np.ndarray
    own: np.ndarray
    averaged: np.ndarray


class MemoryIndex:
    """Memories by words and by one embedder's vectors.

    Changes come from the event loop, searches run in threads: a lock keeps them apart, for a few milliseconds each.

    Attributes:
        rows, postings, vectors: its parts; ``vectors`` None without an embedder.
        lock: whoever looks at the parts holds it.
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
        """Whether most rows were given up, so that it should be read anew."""
        return self.rows.count > 2 * len(self.rows) + 2_000

    def put(self, entry: MemoryTerms, vector: np.ndarray | None = None) -> None:
        """Add or replace a memory with its vector; without one it keeps what it had as long as its words are the same."""
        with self.lock:
            row, fresh = self.rows.put(entry, zlib.crc32(entry.terms))
            if fresh:
                self.postings.add(row, entry.terms)
            if self.vectors is not None and vector is not None:
                self.vectors.put(row, vector)

    def set_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Give a memory its vector; an unknown memory is left alone."""
        with self.lock:
            row = self.rows.row_of.get(memory_id)
            if row is not None and self.vectors is not None:
                self.vectors.put(row, vector)

    def load(self, entries: Iterable[MemoryTerms]) -> None:
        """Add many at once; those that are known already are newer and stay."""
        with self.lock:
            new = [entry for entry in entries if entry.id not in self.rows.row_of]
            start = self.rows.count
            self.rows.extend(new, [zlib.crc32(entry.terms) for entry in new])
            for number, entry in enumerate(new):
                self.postings.add(start + number, entry.terms)

    def load_vectors(self, vectors: RowVectors, ids: Sequence[str], matrix: np.ndarray) -> None:
        """Add a page of stored vectors to ``vectors``; memories that have one there already have a newer one."""
        import numpy as np

        with self.lock:
            found = [(number, self.rows.row_of.get(memory_id)) for number, memory_id in enumerate(ids)]
            has = vectors.has(self.rows.count)
            known = [(number, row) for number, row in found if row is not None and not has[row]]
            places = np.array([row for _number, row in known], dtype=np.int64)
            vectors.load(places, matrix[[number for number, _row in known]])

    def prepare(self) -> None:
        """Merge the words and make the short forms where it is time. Meant for a thread; searches and changes go on meanwhile."""
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
        """Forget memories; unknown ids are left alone."""
        with self.lock:
            for memory_id in memory_ids:
                row = self.rows.row_of.get(memory_id)
                self.rows.remove(memory_id)
                if row is not None and self.vectors is not None:
                    self.vectors.remove(row)

    def used(self, memory_ids: Iterable[str]) -> None:
        """One more run found these memories."""
        with self.lock:
            rows = [row for memory_id in memory_ids if (row := self.rows.row_of.get(memory_id)) is not None]
            self.rows.column("uses")[rows] += 1

    def of_home(self, workflow_id: str | None) -> list[str]:
        """Ids of the memories of a workflow, or for None of the general ones."""
        with self.lock:
            return self.rows.of_home(workflow_id)

    def matching(self, wanted: MemoryFilter, now: float) -> set[str]:
        """Ids of the memories a filter accepts that have not expired."""
        with self.lock:
            return set(live_ids(self.rows, self.rows.accepted(wanted, self.rows.scope(wanted, now))))

    def search(self, question: Question, wanted: MemoryFilter, now: float, limit: int, least: float = 0.0) -> list[ranking.Ranked]:
        """The ``limit`` most relevant memories, best first, of which each is at least so certain; ``now`` is seconds since 1970."""
        with self.lock:
            return self._search(question, wanted, now, limit, least)

    def _search(self, question: Question, wanted: MemoryFilter, now: float, limit: int, least: float) -> list[ranking.Ranked]:
        import numpy as np

        rows, count = self.rows, self.rows.count
        scope = rows.scope(wanted, now)
        accepted = rows.accepted(wanted, scope)
        if not accepted.any():
            return []
        beside, around = rows.beside()
        told = self.postings.scores(question.stems, scope, rows.column("length"), beside, around)
        lexical = _together(told, count)
        if told is not None and question.words <= STOP_WORDS:
            lexical = np.where(told.all, lexical, 0)  # one stop word of several says nothing
        pool = accepted & (lexical > 0)
        near = None
        if question.vector is not None and self.vectors is not None:
            by_words = _best(lexical, pool, ranking.POOL)
            near = self._near(question.vector, accepted, by_words, beside)
            pool = accepted & ((lexical > 0) | (near.averaged > 0))
        places = np.flatnonzero(pool)
        lexical, literal = lexical[places], told.all[places] if told is not None else np.zeros(len(places), dtype=bool)
        turns = rows.column("turn")[places]
        if near is not None:
            has, own, averaged = near.has[places], near.own[places], near.averaged[places]
            beyond = np.where(has, ranking.beyond(near.averaged, accepted & near.has)[places], 0)
            relevance, lexical = ranking.relevance(lexical, beyond, averaged, self._foreign(question.language, places) & has)
            certain = ranking.certainty(lexical, own, turns)
        else:
            relevance, certain = lexical, ranking.certainty_of_words(lexical)
        certain = np.where(literal, 1, certain)
        named = self._named(question.words)
        if named:
            relevance = np.where(turns & np.isin(rows.column("speaker")[places], named), ranking.NAMED * relevance, relevance)
        importance = ranking.weight_of(rows.column("importance")[places], rows.column("uses")[places])
        recency = np.clip(1 - (now - rows.column("created")[places]) / (ranking.RECENCY_DAYS * 86_400), 0, 1)
        score = relevance + ranking.TIE_BREAK * (importance + recency)
        order = score + ranking.LITERAL * literal
        able = np.flatnonzero((relevance > 0) & (certain >= least))
        if len(able) > limit:
            able = able[np.argpartition(-order[able], limit - 1)[:limit]]
        ordered = sorted(able, key=lambda place: (-order[place], rows.ids[places[place]]))
        return [
            ranking.Ranked(
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
        """Cosines, exact for what is near or shares the words, from the short forms for all else."""
        import numpy as np

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
            # What was not looked at exactly is behind what was, whatever its short form says.
            rest = np.minimum(cosines, np.float32(0))
            rest[picked] = self.vectors.exact(query, picked)
            cosines, has_near = rest, np.zeros(count, dtype=bool)
            has_near[picked] = True
            averaged = _averaged(cosines, has_near, turns, beside)
        return _Near(has, np.clip(cosines, 0, 1), np.clip(averaged, 0, 1))

    def _foreign(self, language: str, places: np.ndarray) -> np.ndarray:
        import numpy as np

        spoken = self.rows.column("language")[places]
        if not language:
            return np.zeros(len(places), dtype=bool)
        found: np.ndarray = (spoken != 0) & (spoken != LANGUAGES.index(language))
        return found

    def _named(self, plain: frozenset[str]) -> list[int]:
        """Codes of the speakers that a question names."""
        if not plain:
            return []
        return [code for code, name in enumerate(self.rows.names["speaker"]) if name and plain.issuperset(words(name))]


def _together(told: WordScores | None, count: int) -> np.ndarray:
    import numpy as np

    if told is None:
        return np.zeros(count, dtype=np.float32)
    found: np.ndarray = told.own + ranking.AROUND * told.around
    return found


def _best(values: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """The rows of the highest values, in no order."""
    import numpy as np

    places = np.flatnonzero(among)
    if len(places) > count:
        places = places[np.argpartition(-values[places], count - 1)[:count]]
    return places


def _averaged(cosines: np.ndarray, has: np.ndarray, turns: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """The cosines, those of conversational turns averaged with those of the turns right before and after them."""
    import numpy as np

    if not turns.any():
        return cosines
    rows = np.flatnonzero(turns & has)
    counted = np.append(turns & has, False)
    valued = np.append(np.where(turns & has, cosines, 0), 0)
    near = beside[rows, :2]
    found = cosines.copy()
    found[rows] = (cosines[rows] + ranking.NEIGHBOUR * valued[near].sum(axis=1)) / (1 + ranking.NEIGHBOUR * counted[near].sum(axis=1))
    return found


def segment_of(index: MemoryIndex) -> Segment:
    """All its words as one segment, for a file."""
    return index.postings.merged(index.rows.column("live"))
