"""The in-process index of one project: entities by words and vectors, and the graph.

Changed from the event loop, searched from threads.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from atelier_desk.domain.project import Direction, EntityKind, RelationKind
from atelier_desk.knowledge.bm25_ranking import Postings
from atelier_desk.knowledge.memory_vectors import REFINED, RowVectors
from atelier_desk.knowledge.projects.graph import CODE, COLUMNS, Edges
from atelier_desk.knowledge.projects.name_and_test_ranking import QueryTerms
from atelier_desk.storage.memory_index_entry import CURRENT, Stems
from atelier_desk.storage.project_graph_rows import FILE_DIGITS, PROJECT_DIGITS, Edge, LightRow

FILE_KEY = PROJECT_DIGITS + FILE_DIGITS
POOL = 200
WORDS = 0.6
"""Weight of words against vectors.

The cosine is used as it is: counted from the tenth best on, as for memories, recall was slightly lower (.70 against .73
for 150 functions of Python's standard library, searched by their descriptions).
"""
LONG, LONG_WORDS = 12, 0.7
"""From this number of distinct words a query is specific enough by itself, and words weigh more."""
K1, B = 2.0, 0.8
"""BM25 parameters.

Bodies of code differ in length far more than memories, and long ones contain every word; code repeats the words it is
about, so that repetitions count for longer.
"""
LEAST = 0.005
"""Minimum score: a result shown to a person as 0 is no hit."""
MEANT = 0.25
"""Minimum cosine of results without any query word.

Questions about things not in the project matched fifty places by vectors alone, few of them above this value; the same
meaning in other words or another language is above.
"""
SEARCHED = frozenset(
    {EntityKind.FILE, EntityKind.SCOPE, EntityKind.DOCUMENT, EntityKind.SECTION, EntityKind.PAGE, EntityKind.IMAGE}
)
"""Kinds searched by default: imports and packages are only names."""
_NAMED = 0.15
"""Bonus when the query equals the name."""
NAMES = {code: kind for kind, code in CODE.items()}
_DIGEST = LightRow._fields.index("digest")
_KIND = LightRow._fields.index("kind")
_KIND_CODE = {kind.value: code for code, kind in enumerate(EntityKind)}


class Ranked(NamedTuple):
    """A search result: its id and the parts of its score, 0–1."""

    id: str
    score: float
    lexical: float
    cosine: float | None


class ReachedEntity(NamedTuple):
    """A reached entity: its distance and the edge used."""

    id: str
    depth: int
    by: Edge


class ProjectIndex:
    """The entities of one project.

    Attributes:
        entries: by row, its entity (``LightRow`` without words), None for an abandoned row. ``row_of`` finds the row of
            an id. Plain tuples, which the garbage collector skips: with 100 000 named tuples, each full collection took
            longer than a search.
        live, length: by row, whether it is in use, and its number of words.
        vectors: None without an embedder.
    """

    def __init__(self, vectors: RowVectors | None = None) -> None:
        self.entries: list[tuple[Any, ...] | None] = []
        self.row_of: dict[str, int] = {}
        self.by_file: dict[str, set[int]] = {}
        self._by_name: dict[str, int | list[int]] = {}
        self.edges = Edges()
        self.postings = Postings()
        self.vectors = vectors
        self.lock = threading.Lock()
        self.live: np.ndarray = np.zeros(0, dtype=bool)
        self._kind: np.ndarray = np.zeros(0, dtype=np.uint8)
        self.length: np.ndarray = np.zeros(0, dtype=np.float32)

    def __len__(self) -> int:
        return len(self.row_of)

    @property
    def wasteful(self) -> bool:
        """Whether most rows are abandoned, so that the index should be rebuilt."""
        return len(self.entries) > 2 * len(self.row_of) + 2_000

    def load(self, entities: Sequence[LightRow]) -> None:
        """Add entities read from the database; known ones are newer and stay."""
        with self.lock:
            self._add([each for each in entities if each.id not in self.row_of])

    def put(self, entities: Sequence[LightRow]) -> None:
        """Add or replace entities; incoming relations stay. Their containers must be known or among them."""
        with self.lock:
            before = {each.id: self.row_of[each.id] for each in entities if each.id in self.row_of}
            texts = {each: entry[_DIGEST] for each, row in before.items() if (entry := self.entries[row]) is not None}
            vectors = {
                each: self.vectors.matrix[row]
                for each, row in before.items()
                if self.vectors is not None and self._has(row)
            }
            self._remove_rows(list(before), edges=False)
            self._add(entities)
            if before and len(self.edges):
                new_row = np.arange(len(self.entries), dtype=np.int32)
                new_row[list(before.values())] = [self.row_of[each] for each in before]
                self.edges = Edges(self.edges.renumbered(new_row))
            if self.vectors is not None:
                for each in entities:
                    if each.id in vectors and texts[each.id] == each.digest:
                        self.vectors.put(self.row_of[each.id], vectors[each.id].astype(np.float32))
            if len(self.edges):
                inside = np.zeros(len(self.entries), dtype=bool)
                inside[[self.row_of[each.id] for each in entities]] = True
                self.edges.drop(inside[self.edges.columns["target"]] & (self.edges.columns["kind"] == CODE["contains"]))
            self._contain(entities)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove entities and their incoming relations; unknown ids are ignored."""
        with self.lock:
            self._remove_rows([each for each in ids if each in self.row_of], edges=True)

    def of_file(self, key: str) -> list[str]:
        """Return the ids of the entities in a file."""
        with self.lock:
            return [self._id(row) for row in self.by_file.get(key, ())]

    def unreached(self, key: str) -> list[str]:
        """Return the ids of the entities in a file without incoming relations."""
        with self.lock:
            reached = set(np.unique(self.edges.columns["target"]).tolist()) if len(self.edges) else set()
            return [self._id(row) for row in self.by_file.get(key, ()) if row not in reached]

    def relate(self, files: Iterable[str], edges: Sequence[Edge]) -> None:
        """Replace the outgoing edges of these files (given by key)."""
        with self.lock:
            inside = np.zeros(len(self.entries), dtype=bool)
            for key in files:
                inside[list(self.by_file.get(key, ()))] = True
            if len(self.edges):
                self.edges.drop(inside[self.edges.columns["source"]] & (self.edges.columns["kind"] != CODE["contains"]))
            self._add_edges(edges)

    def add_edges(self, edges: Sequence[Edge]) -> None:
        """Add edges read from the database."""
        with self.lock:
            self._add_edges(edges)

    def without_vector(self, kinds: Sequence[EntityKind] = (), *, also_with: bool = False) -> dict[str, list[int]]:
        """Return, by digest, the rows of texts without a vector (``also_with``: all rows), of these kinds or all."""
        with self.lock:
            found: dict[str, list[int]] = {}
            if self.vectors is not None:
                has = self.vectors.has(len(self.entries))
                for row, entry in enumerate(self.entries):
                    if (
                        entry is not None
                        and entry[_DIGEST]
                        and (also_with or not has[row])
                        and (not kinds or entry[_KIND] in kinds)
                    ):
                        found.setdefault(entry[_DIGEST], []).append(row)
            return found

    def set_vectors(
        self, embedder: str, rows: Sequence[Sequence[int]], digests: Sequence[str], matrix: np.ndarray
    ) -> None:
        """Store an embedder's vectors in the rows returned by ``without_vector``; rows whose text changed are skipped.

        Ignored if the embedder is no longer in use.
        """
        with self.lock:
            if self.vectors is None or self.vectors.embedder != embedder:
                return
            for places, digest, vector in zip(rows, digests, matrix, strict=True):
                for row in places:
                    entry = self.entries[row]
                    if entry is not None and entry[_DIGEST] == digest:
                        self.vectors.put(row, vector)

    def set_stored_vectors(self, embedder: str, rows: Mapping[str, Sequence[int]], stored: Mapping[str, bytes]) -> None:
        """``set_vectors`` as the database stores them; both mappings are by digest."""
        if stored:
            matrix = np.frombuffer(b"".join(stored.values()), dtype="<f2").reshape(len(stored), -1)
            self.set_vectors(embedder, [rows[each] for each in stored], list(stored), matrix)

    def use(self, vectors: RowVectors | None) -> None:
        """Compare these vectors from now on."""
        with self.lock:
            self.vectors = vectors

    def prepare(self) -> None:
        """Merge word segments, sort edges and build vector sketches if due. Call it in a thread."""
        with self.lock:
            if self.postings.crowded:
                self.postings.adopt(self.postings.merged(self.live), len(self.entries))
            self.edges.prepare(len(self.entries))
            if self.vectors is not None:
                self.vectors.prepare()

    def restore(self, entities: Sequence[LightRow], lengths: np.ndarray, edges: Edges) -> None:
        """Restore the content of a file, except the words."""
        with self.lock:
            self._add(entities)
            self.length = lengths
            self.edges = edges

    def get(self, entity_id: str) -> LightRow | None:
        with self.lock:
            row = self.row_of.get(entity_id)
            return self.at(row) if row is not None else None

    def at(self, row: int) -> LightRow | None:
        """Return the entity of a row, without its words."""
        entry = self.entries[row]
        return LightRow._make(entry) if entry is not None else None

    def all(self) -> list[LightRow]:
        with self.lock:
            return [LightRow._make(entry) for entry in self.entries if entry is not None]

    def texts(self) -> tuple[int, int]:
        """Return the number of texts, and of those with a vector."""
        with self.lock:
            has = self.vectors.has(len(self.entries)) if self.vectors is not None else None
            rows = [row for row, entry in enumerate(self.entries) if entry is not None and entry[_DIGEST]]
            return len(rows), int(has[rows].sum()) if has is not None and rows else 0

    def search(
        self,
        query: Stems,
        vector: np.ndarray | None,
        kinds: Iterable[EntityKind],
        limit: int,
        threshold: float,
        words: str = "",
    ) -> list[Ranked]:
        """Return the ``limit`` best results, best first; ``words`` is the query as typed, for exact names."""
        with self.lock:
            return self._search(query, vector, kinds, limit, threshold, words)

    def explore(
        self, entity_id: str, relations: Sequence[RelationKind], direction: Direction, depth: int, limit: int
    ) -> tuple[list[ReachedEntity], list[Edge], bool]:
        """Return the surroundings of an entity, the edges among them, and whether there is more.

        An unknown id gives nothing.
        """
        with self.lock:
            start = self.row_of.get(entity_id)
            if start is None:
                return [], [], False
            steps, cut = self.edges.explore(start, len(self.entries), relations, direction, depth, limit)
            among = self.edges.among([start, *(step.row for step in steps)], len(self.entries))
            if relations:
                among = among[np.isin(self.edges.columns["kind"][among], [CODE[kind] for kind in relations])]
            edges = self._edges(among)
            by = dict(zip(among.tolist(), edges, strict=True))  # both ends of each edge used are among the reached rows
            return [ReachedEntity(self._id(step.row), step.depth, by[step.edge]) for step in steps], edges, cut

    def among(self, ids: Sequence[str], touching: Container[str] = ()) -> list[Edge]:
        """Return the edges with both ends among these entities; with ``touching``, only those with an end in it."""
        with self.lock:
            rows = [self.row_of[each] for each in ids if each in self.row_of]
            edges = self._edges(self.edges.among(rows, len(self.entries))) if rows else []
        return [each for each in edges if not touching or each.source in touching or each.target in touching]

    def _add(self, entities: Sequence[LightRow]) -> None:
        start = len(self.entries)
        self.entries += [(*each[:-1], b"") for each in entities]
        for row, entry in enumerate(entities, start):
            self.row_of[entry.id] = row
            self.by_file.setdefault(entry.id[:FILE_KEY], set()).add(row)
            name = entry.name.casefold()
            alike = self._by_name.setdefault(name, row)
            if isinstance(alike, list):
                alike.append(row)
            elif alike != row:
                self._by_name[name] = [alike, row]
            if entry.terms:
                self.postings.add(row, entry.terms)
        self.live = np.concatenate([self.live, np.ones(len(entities), dtype=bool)])
        self._kind = np.concatenate(
            [self._kind, np.array([_KIND_CODE[each.kind] for each in entities], dtype=np.uint8)]
        )
        lengths = [int.from_bytes(each.terms[:4], "little") & ~CURRENT for each in entities]
        self.length = np.concatenate([self.length, np.array(lengths, dtype=np.float32)])

    def contain(self) -> None:
        """Add the edges from containers to their entities, after everything is loaded."""
        with self.lock:
            self._contain([LightRow._make(entry) for entry in self.entries if entry is not None])

    def _has(self, row: int) -> bool:
        return self.vectors is not None and row < len(self.vectors.there) and bool(self.vectors.there[row])

    def _contain(self, entities: Sequence[LightRow]) -> None:
        self._add_edges(
            [Edge(each.parent, each.id, "contains", 1.0, each.start_line) for each in entities if each.parent]
        )

    def _add_edges(self, edges: Sequence[Edge]) -> None:
        known = [each for each in edges if each.source in self.row_of and each.target in self.row_of]
        if known:
            columns = {
                "source": [self.row_of[each.source] for each in known],
                "target": [self.row_of[each.target] for each in known],
                "kind": [CODE[each.kind] for each in known],
                "confidence": [each.confidence for each in known],
                "line": [each.line for each in known],
            }
            self.edges.add({name: np.array(values, dtype=COLUMNS[name]) for name, values in columns.items()})

    def _remove_rows(self, ids: Sequence[str], *, edges: bool) -> None:
        rows = [self.row_of.pop(each) for each in ids]
        for row, each in zip(rows, ids, strict=True):
            self.entries[row] = None
            self.by_file[each[:FILE_KEY]].discard(row)
            if self.vectors is not None:
                self.vectors.remove(row)
        if rows:
            self.live[rows] = False
            if edges and len(self.edges):
                gone = np.zeros(len(self.entries), dtype=bool)
                gone[rows] = True
                self.edges.drop(gone[self.edges.columns["source"]] | gone[self.edges.columns["target"]])

    def _id(self, row: int) -> str:
        entry = self.entries[row]
        return str(entry[0]) if entry is not None else ""

    def _edges(self, places: Sequence[int] | np.ndarray) -> list[Edge]:
        columns = [
            self.edges.columns[name][places].tolist() for name in ("source", "target", "kind", "confidence", "line")
        ]
        return [
            Edge(self._id(source), self._id(target), NAMES[kind], confidence, line)
            for source, target, kind, confidence, line in zip(*columns, strict=True)
        ]

    def _search(
        self,
        query: Stems,
        vector: np.ndarray | None,
        kinds: Iterable[EntityKind],
        limit: int,
        threshold: float,
        words: str,
    ) -> list[Ranked]:
        count = len(self.entries)
        wanted = np.zeros(len(_KIND_CODE), dtype=bool)
        wanted[[_KIND_CODE[kind] for kind in kinds or SEARCHED]] = True
        scope = self.live & wanted[self._kind] if count else self.live
        if not scope.any():
            return []
        nothing = np.zeros((0, 0), dtype=np.int32), np.zeros(0, dtype=np.float32)
        told = self.postings.scores(query, scope, self.length, *nothing, K1, B, repeated=True)
        lexical = told.own if told is not None else np.zeros(count, dtype=np.float32)
        lexical = np.where(scope, lexical, 0)
        relevance, cosines, has = lexical, None, None
        if vector is not None and self.vectors is not None:
            cosines, exact = self.vectors.cosines(vector, count)
            has = self.vectors.has(count) & scope
            cosines = np.where(has, cosines, 0)
            if not exact:
                picked = np.union1d(_best(cosines, REFINED), _best(lexical, POOL))
                picked = picked[has[picked]]
                cosines = np.minimum(cosines, 0)
                cosines[picked] = self.vectors.exact(vector, picked)
            cosines = np.clip(cosines, 0, 1)
            share = LONG_WORDS if len(set(query)) >= LONG else WORDS
            relevance = share * lexical + (1 - share) * cosines
        relevance = relevance.copy()
        named = frozenset(self._named(words))
        for row in named:
            if scope[row]:
                relevance[row] += _NAMED
        able = _best(relevance, max(POOL, limit * 2))
        able = able[relevance[able] > 0]
        wished = QueryTerms(words)
        for row in able.tolist():
            entry = self.entries[row]
            if entry is not None:
                light = LightRow._make(entry)
                relevance[row] = wished.weighed(float(relevance[row]), light.kind, light.name, light.path)
        best = able[np.argsort(-relevance[able], kind="stable")]
        top = max(1.0, float(relevance[best[0]])) if len(best) else 1.0
        found = []
        for row in best:
            cosine = float(cosines[row]) if cosines is not None and has is not None and has[row] else None
            certain = min(1.0, max(float(relevance[row]) / top, 0.0))
            if lexical[row] <= 0 and (cosine or 0.0) < MEANT and row not in named:
                continue
            if certain >= LEAST and max(certain, cosine or 0.0, float(lexical[row])) >= threshold:
                found.append(Ranked(self._id(int(row)), certain, min(1.0, float(lexical[row])), cosine))
        return found[:limit]

    def _named(self, words: str) -> list[int]:
        """Return the rows whose name equals the query."""
        wanted = words.strip().removesuffix("()")
        if not wanted or " " in wanted:
            return []
        rows: set[int] = set()
        for name in (wanted.casefold(), wanted.rpartition(".")[2].casefold()):
            alike = self._by_name.get(name, [])
            rows.update(alike if isinstance(alike, list) else (alike,))
        named = [(row, entry) for row in rows if (entry := self.at(row)) is not None]
        low = wanted.casefold()
        return [row for row, entry in named if low in (entry.name.casefold(), entry.qualified.casefold())]


def _best(values: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the highest values, unordered."""
    return np.arange(len(values)) if len(values) <= count else np.argpartition(-values, count - 1)[:count]
