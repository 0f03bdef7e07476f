"""The vectors of one embedder in a float32 matrix, a row a memory: changed in place, never reloaded for a change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from atelier_desk.domain.memory import Memory, MemoryFilter
from atelier_desk.knowledge.sketch import Sketch

if TYPE_CHECKING:
    import numpy as np

_FIRST_ROWS = 256
SKETCH_FROM = 20_000
"""Vectors from which on all are looked at in short form first; below it comparing every one takes under 4 ms."""
REFINED = 1_000
"""Vectors compared exactly after that, five for each that is wanted if that is more."""
_MASKS = 8
"""Filters whose rows are kept ready; a workflow's agents ask with the same few again and again."""


def accepts(wanted: MemoryFilter, memory: Memory) -> bool:
    """Whether a filter lets a memory through, expiry apart."""
    if not wanted.accepts_home(memory.workflow_id) or (wanted.type is not None and memory.type is not wanted.type):
        return False
    return set(wanted.tags) <= set(memory.tags)


class VectorIndex:
    """Unit vectors by memory id.

    Changes happen on the event loop, ``nearest`` may run in a thread: it reads arrays that are only ever replaced or written a row at a
    time, so the worst that a change during a search does is to judge one memory by its old or its new vector. A lock keeps changes away
    only while the short forms are made, once.

    Attributes:
        embedder: id of the embedder the vectors are of.
        dimension: length of each vector.
    """

    def __init__(self, embedder: str, dimension: int) -> None:
        import numpy as np

        self.embedder = embedder
        self.dimension = dimension
        self._rows: np.ndarray = np.zeros((0, dimension), dtype=np.float32)
        self._ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._free: list[int] = []
        self._masks: OrderedDict[MemoryFilter, np.ndarray] = OrderedDict()
        self._sketch: Sketch | None = None
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._row_of

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix."""
        return int(self._rows.nbytes)

    def load(self, ids: Sequence[str], matrix: np.ndarray) -> None:
        """Add a page of stored vectors; ids that are known already are newer and stay."""
        with self._changing:
            fresh = [index for index, memory_id in enumerate(ids) if memory_id not in self._row_of]
            start = len(self._ids)
            self._reserve(start + len(fresh))
            self._rows[start : start + len(fresh)] = matrix[fresh]
            for offset, index in enumerate(fresh):
                self._ids.append(ids[index])
                self._row_of[ids[index]] = start + offset
            self._masks.clear()
            self._sketch = None

    def prepare(self) -> None:
        """Make the short forms when there are enough vectors; ``nearest`` does it too. Meant for a thread."""
        with self._changing:
            if self._sketch is None and len(self._row_of) >= SKETCH_FROM:
                import numpy as np

                self._sketch = Sketch(self._rows, np.fromiter(self._row_of.values(), dtype=np.int64, count=len(self._row_of)))

    def put(self, memory: Memory, vector: np.ndarray) -> None:
        """Add or replace a memory's vector."""
        with self._changing:
            self._put(memory, vector)

    def _put(self, memory: Memory, vector: np.ndarray) -> None:
        import numpy as np

        row = self._row_of.get(memory.id)
        if row is None:
            row = self._free.pop() if self._free else len(self._ids)
            self._reserve(row + 1)
            if row == len(self._ids):
                self._ids.append(memory.id)
            self._ids[row] = memory.id
            self._row_of[memory.id] = row
        self._rows[row] = np.asarray(vector, dtype=np.float32).reshape(-1)
        if self._sketch is not None:
            self._sketch.set(row, self._rows[row], len(self._rows))
        for wanted, mask in list(self._masks.items()):
            if row >= len(mask):
                mask = np.concatenate([mask, np.zeros(len(self._rows) - len(mask), dtype=bool)])
                self._masks[wanted] = mask
            mask[row] = accepts(wanted, memory)

    def remove(self, memory_ids: Iterable[str]) -> None:
        """Forget memories; unknown ids are left alone."""
        with self._changing:
            for memory_id in memory_ids:
                row = self._row_of.pop(memory_id, None)
                if row is None:
                    continue
                self._free.append(row)
                self._rows[row] = 0.0
                for mask in self._masks.values():
                    if row < len(mask):
                        mask[row] = False

    def mask(self, wanted: MemoryFilter) -> np.ndarray | None:
        """The rows a filter accepts, None when they must be made with ``set_mask`` first."""
        mask = self._masks.get(wanted)
        if mask is not None:
            self._masks.move_to_end(wanted)
        return mask

    def set_mask(self, wanted: MemoryFilter, memory_ids: Iterable[str]) -> np.ndarray:
        """Remember which memories a filter accepts; later changes are followed."""
        import numpy as np

        mask = np.zeros(len(self._rows), dtype=bool)
        mask[[self._row_of[memory_id] for memory_id in memory_ids if memory_id in self._row_of]] = True
        self._masks[wanted] = mask
        while len(self._masks) > _MASKS:
            self._masks.popitem(last=False)
        return mask

    def nearest(self, query: np.ndarray, mask: np.ndarray, count: int) -> tuple[list[tuple[str, float]], Callable[[str], float | None]]:
        """The ``count`` accepted memories nearest to a unit vector, best first, and a function that gives the cosine of any id.

        Cosines are exact and never below 0. Below ``SKETCH_FROM`` vectors every one is compared; from there on the ``REFINED`` best by
        their short forms are.
        """
        import numpy as np

        self.prepare()
        wanted = np.asarray(query, dtype=np.float32).reshape(-1)
        matrix = self._rows
        size = min(len(self._ids), len(mask), len(matrix))
        rows = np.flatnonzero(mask[:size])
        refined = max(REFINED, 5 * count)
        sketch = self._sketch
        if sketch is not None and len(rows) > refined:
            rows = sketch.best(wanted, rows, refined, size)
        # Taking rows out costs more than comparing them: only few are taken out.
        cosines = matrix[rows] @ wanted if len(rows) * 4 < size else (matrix[:size] @ wanted)[rows]
        if len(rows) > count:
            best = np.argpartition(cosines, len(rows) - count)[-count:]
            rows, cosines = rows[best], cosines[best]
        order = np.argsort(-cosines, kind="stable")

        def cosine(memory_id: str) -> float | None:
            row = self._row_of.get(memory_id)
            return max(0.0, float(matrix[row] @ wanted)) if row is not None and row < size else None

        return [(self._ids[rows[place]], max(0.0, float(cosines[place]))) for place in order], cosine

    def _reserve(self, rows: int) -> None:
        import numpy as np

        if rows <= len(self._rows):
            return
        larger = np.zeros((max(rows, _FIRST_ROWS, len(self._rows) * 3 // 2), self.dimension), dtype=np.float32)
        larger[: len(self._rows)] = self._rows
        self._rows = larger
