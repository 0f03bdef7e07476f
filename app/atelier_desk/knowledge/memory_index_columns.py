"""Columns of an index beside words and vectors: one row per memory, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from atelier_desk.domain.memory import MemoryFilter, MemoryType
from atelier_desk.storage.memory_index_entry import MemoryTerms

COLUMNS = {
    "home": "int32",
    "run": "int32",
    "tags": "int32",
    "speaker": "int32",
    "type": "int8",
    "language": "int8",
    "turn": "bool",
    "live": "bool",
    "expires": "float64",
    "created": "float64",
    "importance": "float64",
    "uses": "int32",
    "length": "float32",
    "terms": "uint32",
}
LANGUAGES = ("", "en", "fr")
TYPES = tuple(kind.value for kind in MemoryType)
_FIRST_ROWS = 256


class MemoryRows:
    """The columns. Rows are only ever appended: a memory whose words change gets a new row, so that postings stay
    valid.

    Attributes:
        count: number of rows, including abandoned ones.
        ids: the memory of each row.
        row_of: the row of each existing memory.
        names: the values behind the codes of the columns ``home``, ``run``, ``tags`` and ``speaker``.
    """

    def __init__(self) -> None:
        self.count = 0
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}
        self.names: dict[str, list[Any]] = {"home": [None], "run": [""], "tags": [()], "speaker": [""]}
        self._codes: dict[str, dict[object, int]] = {}
        self._columns = {name: np.zeros(_FIRST_ROWS, dtype=kind) for name, kind in COLUMNS.items()}
        self._neighbour_rows: tuple[np.ndarray, np.ndarray] | None = None
        self._scopes: dict[tuple[object, ...], np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.row_of)

    def column(self, name: str) -> np.ndarray:
        """Return one column, cut to the number of rows."""
        return self._columns[name][: self.count]

    def put(self, entry: MemoryTerms, crc: int) -> tuple[int, bool]:
        """Add or update a memory.

        Returns its row and whether it is new: it is unless the words (``crc`` of them) are unchanged.
        """
        row = self.row_of.get(entry.id)
        fresh = row is None or int(self._columns["terms"][row]) != crc
        if fresh:
            self.remove(entry.id)
            row = self.count
            self._reserve(row + 1)
            self.count += 1
            self.ids.append(entry.id)
            self.row_of[entry.id] = row
        assert row is not None
        for name, value in _values(entry, crc, self._code).items():
            self._columns[name][row] = value
        self._changed()
        return row, fresh

    def extend(self, entries: list[MemoryTerms], crcs: list[int]) -> None:
        """Append many unknown memories, each in a new row."""
        start = self.count
        self._reserve(start + len(entries))
        values = [_values(entry, crc, self._code) for entry, crc in zip(entries, crcs, strict=True)]
        for name in COLUMNS:
            self._columns[name][start : start + len(entries)] = [each[name] for each in values]
        self.ids += [entry.id for entry in entries]
        self.row_of.update({entry.id: start + number for number, entry in enumerate(entries)})
        self.count += len(entries)
        self._changed()

    def restore(self, columns: dict[str, np.ndarray], ids: list[str], names: dict[str, list[object]]) -> None:
        """Restore stored rows, none of which is abandoned."""
        self._columns, self.ids, self.count, self.names = columns, ids, len(ids), names
        self.row_of = dict(zip(ids, range(len(ids)), strict=True))
        self._codes = {}
        self._changed()

    def remove(self, memory_id: str) -> None:
        """Abandon a memory's row; unknown ids are ignored."""
        row = self.row_of.pop(memory_id, None)
        if row is not None:
            self._columns["live"][row] = False
            self._changed()

    def of_home(self, workflow_id: str | None) -> list[str]:
        """Return the ids of a workflow's memories, or for None of the general ones."""
        if workflow_id not in self._table("home"):
            return []
        mask = self.column("live") & (self.column("home") == self._code("home", workflow_id))
        return [self.ids[row] for row in mask.nonzero()[0]]

    def scope(self, wanted: MemoryFilter, now: float) -> np.ndarray:
        """Return a mask of the unexpired rows in the searched scope, regardless of type and tags."""
        key = (wanted.scope, wanted.workflow_id)
        homes = self._scopes.get(key)
        if homes is None:
            homes = self.column("live").copy()
            if wanted.scope is not None:
                accepted = [code for code, home in enumerate(self.names["home"]) if wanted.accepts_home(home)]
                homes &= np.isin(self.column("home"), accepted)
            self._scopes[key] = homes
        return homes & (self.column("expires") > now)

    def accepted(self, wanted: MemoryFilter, scope: np.ndarray) -> np.ndarray:
        """Return the part of a scope's mask with the requested type and tags."""
        if wanted.type is not None:
            scope = scope & (self.column("type") == TYPES.index(wanted.type.value))
        if wanted.tags:
            tags = frozenset(wanted.tags)
            scope = scope & np.isin(
                self.column("tags"), [code for code, each in enumerate(self.names["tags"]) if tags <= frozenset(each)]
            )
        return scope

    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbours of each row and their total number of words.

        Neighbours are the two memories before and two after it in time, of the same run and home: an array of four rows
        each, nearest first, ``count`` where there is none.
        """
        if self._neighbour_rows is None:
            self._neighbour_rows = self._neighbours()
        return self._neighbour_rows

    def _neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        none = self.count
        found = np.full((self.count, 4), none, dtype=np.int32)
        rows = np.flatnonzero(self.column("live") & (self.column("run") > 0))
        home, run, created = (self.column(name)[rows] for name in ("home", "run", "created"))
        order = np.lexsort((rows, created, home, run))
        rows, home, run = rows[order], home[order], run[order]
        for index, step in enumerate((1, 1, 2, 2)):
            same = (
                (run[step:] == run[:-step]) & (home[step:] == home[:-step])
                if len(rows) > step
                else np.zeros(0, dtype=bool)
            )
            before, after = rows[:-step][same], rows[step:][same]
            if index % 2:
                found[before, index] = after
            else:
                found[after, index] = before
        lengths = np.append(self.column("length"), 0).astype(np.float32)
        return found, lengths[found].sum(axis=1)

    def _reserve(self, rows: int) -> None:
        have = len(self._columns["home"])
        if rows > have:
            more = max(rows, have * 3 // 2)
            self._columns = {
                name: np.concatenate([column, np.zeros(more - have, dtype=column.dtype)])
                for name, column in self._columns.items()
            }

    def _table(self, name: str) -> dict[object, int]:
        codes = self._codes.get(name)
        if codes is None:
            codes = self._codes[name] = {value: code for code, value in enumerate(self.names[name])}
        return codes

    def _code(self, name: str, value: object) -> int:
        codes = self._table(name)
        found = codes.get(value)
        if found is None:
            found = codes[value] = len(codes)
            self.names[name].append(value)
        return found

    def _changed(self) -> None:
        self._neighbour_rows = None
        self._scopes.clear()


def _values(entry: MemoryTerms, crc: int, code: Any) -> dict[str, object]:
    return {
        "home": code("home", entry.workflow_id),
        "run": code("run", entry.run_id),
        "tags": code("tags", tuple(sorted(entry.tags))),
        "speaker": code("speaker", entry.speaker),
        "type": TYPES.index(entry.type),
        "language": LANGUAGES.index(entry.language),
        "turn": entry.turn,
        "live": True,
        "expires": entry.expires,
        "created": entry.created,
        "importance": entry.importance,
        "uses": entry.uses,
        "length": entry.length,
        "terms": crc,
    }


def live_ids(rows: MemoryRows, mask: np.ndarray) -> Iterable[str]:
    """Yield the ids of the rows in a mask."""
    return (rows.ids[row] for row in mask.nonzero()[0])
