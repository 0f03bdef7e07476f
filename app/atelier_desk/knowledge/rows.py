"""What an index knows of each memory besides its words and its vector: a column a fact, a row a memory, and who stands beside whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.memory import MemoryFilter, MemoryType
from atelier_desk.storage.memory_terms import MemoryTerms

if TYPE_CHECKING:
    import numpy as np

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
    """The columns. Rows are only ever added: one whose words change is given up and gets a new row, so that postings stay true.

    Attributes:
        count: rows in use, given-up ones among them.
        ids: the memory of each row.
        row_of: the row of each memory there is.
        names: by ``home``, ``run``, ``tags`` and ``speaker`` what each code of that column stands for.
    """

    def __init__(self) -> None:
        import numpy as np

        self.count = 0
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}
        self.names: dict[str, list[Any]] = {"home": [None], "run": [""], "tags": [()], "speaker": [""]}
        self._codes: dict[str, dict[Any, int]] = {}
        self._columns = {name: np.zeros(_FIRST_ROWS, dtype=kind) for name, kind in COLUMNS.items()}
        self._beside: tuple[np.ndarray, np.ndarray] | None = None
        self._scopes: dict[tuple[Any, ...], np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.row_of)

    def column(self, name: str) -> np.ndarray:
        """One column, as long as there are rows."""
        return self._columns[name][: self.count]

    def put(self, entry: MemoryTerms, crc: int) -> tuple[int, bool]:
        """Take a memory in. Gives its row, and whether that is a new one: it is unless its words (``crc`` of them) are as they were."""
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
        """Take many in that are not known yet, each in a new row."""
        start = self.count
        self._reserve(start + len(entries))
        values = [_values(entry, crc, self._code) for entry, crc in zip(entries, crcs, strict=True)]
        for name in COLUMNS:
            self._columns[name][start : start + len(entries)] = [each[name] for each in values]
        self.ids += [entry.id for entry in entries]
        self.row_of.update({entry.id: start + number for number, entry in enumerate(entries)})
        self.count += len(entries)
        self._changed()

    def restore(self, columns: dict[str, np.ndarray], ids: list[str], names: dict[str, list[Any]]) -> None:
        """Be what was kept of other rows, of which none was given up."""
        self._columns, self.ids, self.count, self.names = columns, ids, len(ids), names
        self.row_of = dict(zip(ids, range(len(ids)), strict=True))
        self._codes = {}
        self._changed()

    def remove(self, memory_id: str) -> None:
        """Give a memory's row up; an unknown one does nothing."""
        row = self.row_of.pop(memory_id, None)
        if row is not None:
            self._columns["live"][row] = False
            self._changed()

    def of_home(self, workflow_id: str | None) -> list[str]:
        """Ids of the memories of a workflow, or for None of the general ones."""
        if workflow_id not in self._table("home"):
            return []
        mask = self.column("live") & (self.column("home") == self._code("home", workflow_id))
        return [self.ids[row] for row in mask.nonzero()[0]]

    def scope(self, wanted: MemoryFilter, now: float) -> np.ndarray:
        """The rows of the searched scope, whatever their type and tags, as booleans. What has expired is in no scope."""
        import numpy as np

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
        """Those of a scope's rows that have the type and the tags that are wanted."""
        import numpy as np

        if wanted.type is not None:
            scope = scope & (self.column("type") == TYPES.index(wanted.type.value))
        if wanted.tags:
            tags = frozenset(wanted.tags)
            scope = scope & np.isin(self.column("tags"), [code for code, each in enumerate(self.names["tags"]) if tags <= frozenset(each)])
        return scope

    def beside(self) -> tuple[np.ndarray, np.ndarray]:
        """For each row the two memories before and the two after it in its run and home, by time: an array of four rows each, nearest
        first, ``count`` where there is none; and how many words those have together."""
        if self._beside is None:
            self._beside = self._neighbours()
        return self._beside

    def _neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        none = self.count
        found = np.full((self.count, 4), none, dtype=np.int32)
        rows = np.flatnonzero(self.column("live") & (self.column("run") > 0))
        home, run, created = (self.column(name)[rows] for name in ("home", "run", "created"))
        order = np.lexsort((rows, created, home, run))
        rows, home, run = rows[order], home[order], run[order]
        for place, step in enumerate((1, 1, 2, 2)):
            same = (run[step:] == run[:-step]) & (home[step:] == home[:-step]) if len(rows) > step else np.zeros(0, dtype=bool)
            before, after = rows[:-step][same], rows[step:][same]
            if place % 2:
                found[before, place] = after
            else:
                found[after, place] = before
        lengths = np.append(self.column("length"), 0).astype(np.float32)
        return found, lengths[found].sum(axis=1)

    def _reserve(self, rows: int) -> None:
        import numpy as np

        have = len(self._columns["home"])
        if rows > have:
            more = max(rows, have * 3 // 2)
            self._columns = {
                name: np.concatenate([column, np.zeros(more - have, dtype=column.dtype)]) for name, column in self._columns.items()
            }

    def _table(self, name: str) -> dict[Any, int]:
        codes = self._codes.get(name)
        if codes is None:
            codes = self._codes[name] = {value: code for code, value in enumerate(self.names[name])}
        return codes

    def _code(self, name: str, value: Any) -> int:
        codes = self._table(name)
        found = codes.get(value)
        if found is None:
            found = codes[value] = len(codes)
            self.names[name].append(value)
        return found

    def _changed(self) -> None:
        self._beside = None
        self._scopes.clear()


def _values(entry: MemoryTerms, crc: int, code: Any) -> dict[str, Any]:
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
    """Ids of the rows of a mask."""
    return (rows.ids[row] for row in mask.nonzero()[0])
