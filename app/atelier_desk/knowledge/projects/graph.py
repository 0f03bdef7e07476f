"""The graph of relations in arrays: exploring takes milliseconds where the database would walk row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from atelier_desk.domain.project import Direction, RelationKind

KINDS = tuple(RelationKind)
CODE = {kind.value: code for code, kind in enumerate(KINDS)}
COLUMNS = {"source": "i4", "target": "i4", "kind": "u1", "confidence": "f4", "line": "i4"}


class Step(NamedTuple):
    """A reached row: its distance, and the edge used (its position in ``Edges``)."""

    row: int
    depth: int
    edge: int


class Edges:
    """The edges of a graph: the columns of ``COLUMNS``, with rows as ``source`` and ``target``."""

    def __init__(self, columns: dict[str, np.ndarray] | None = None) -> None:
        self.columns = columns or {name: np.zeros(0, dtype=kind) for name, kind in COLUMNS.items()}
        self._order: dict[Direction, tuple[np.ndarray, np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self.columns["source"])

    def add(self, columns: dict[str, np.ndarray]) -> None:
        self.columns = {
            name: np.concatenate([own, columns[name].astype(COLUMNS[name])]) for name, own in self.columns.items()
        }
        self._order = {}

    def drop(self, which: np.ndarray) -> None:
        """Remove the edges of a boolean mask."""
        self.columns = {name: own[~which] for name, own in self.columns.items()}
        self._order = {}

    def renumbered(self, new_row: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns with renumbered rows, without edges of rows mapped to -1."""
        source, target = new_row[self.columns["source"]], new_row[self.columns["target"]]
        valid = (source >= 0) & (target >= 0)
        return {
            **{name: own[valid] for name, own in self.columns.items()},
            "source": source[valid],
            "target": target[valid],
        }

    def prepare(self, rows: int) -> None:
        """Sort the edges for ``of``; ``rows`` is the number of rows."""
        for direction, name in ((Direction.OUT, "source"), (Direction.IN, "target")):
            known = self._order.get(direction)
            if known is None or len(known[1]) != rows + 1:
                ends = self.columns[name]
                starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=rows))])
                self._order[direction] = (np.argsort(ends, kind="stable").astype(np.int32), starts.astype(np.int64))

    def of(self, rows: np.ndarray, direction: Direction) -> np.ndarray:
        """Return the edges that leave (``out``) or reach (``in``) rows, in the order of these.

        Call ``prepare`` first.
        """
        order, starts = self._order[direction]
        begins, counts = starts[rows], starts[rows + 1] - starts[rows]
        total = int(counts.sum())
        if not total:
            return np.zeros(0, dtype=np.int64)
        inside = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        found: np.ndarray = order[np.repeat(begins, counts) + inside]
        return found

    def explore(
        self, start: int, rows: int, relations: Sequence[RelationKind], direction: Direction, depth: int, limit: int
    ) -> tuple[list[Step], bool]:
        """Return the rows reachable within ``depth`` steps, and whether ``limit`` cut the result.

        Nearest first, each once, edges with higher confidence first.
        """
        self.prepare(rows)
        wanted = np.zeros(len(KINDS), dtype=bool)
        wanted[[CODE[kind] for kind in relations] if relations else slice(None)] = True
        seen = np.zeros(rows, dtype=bool)
        seen[start] = True
        frontier = np.array([start], dtype=np.int64)
        found: list[Step] = []
        ways = (Direction.OUT, Direction.IN) if direction is Direction.BOTH else (direction,)
        for far in range(1, depth + 1):
            edges, reached = [], []
            for way in ways:
                these = self.of(frontier, way)
                these = these[wanted[self.columns["kind"][these]]]
                edges.append(these)
                reached.append(self.columns["target" if way is Direction.OUT else "source"][these])
            edge, row = np.concatenate(edges), np.concatenate(reached)
            fresh = ~seen[row]
            edge, row = edge[fresh], row[fresh]
            order = np.argsort(-self.columns["confidence"][edge], kind="stable")
            edge, row = edge[order], row[order]
            _rows, first = np.unique(row, return_index=True)
            first.sort()
            left = limit - len(found)
            selected = first[:left]
            found += [
                Step(*each)
                for each in zip(row[selected].tolist(), [far] * len(selected), edge[selected].tolist(), strict=True)
            ]
            if len(first) > left:
                return found, True
            frontier = row[first].astype(np.int64)
            seen[frontier] = True
            if not len(frontier):
                break
        return found, False

    def among(self, rows: Sequence[int], count: int) -> np.ndarray:
        """Return the edges with both ends in ``rows``."""
        self.prepare(count)
        inside = np.zeros(count, dtype=bool)
        inside[list(rows)] = True
        found = self.of(np.array(rows, dtype=np.int64), Direction.OUT)
        valid: np.ndarray = found[inside[self.columns["target"][found]]]
        return valid
