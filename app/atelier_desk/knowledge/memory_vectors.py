"""The vectors of one embedder by memory row, in half precision: 50 000 of 512 numbers take 51 MB."""

from __future__ import annotations

import numpy as np

from atelier_desk.knowledge.vector_sketch import VectorSketch

SKETCH_FROM = 2_000
"""Number of vectors from which the sketch is scanned first; below, widening all of them takes 1 ms."""
REFINED = 800
"""Vectors compared exactly after that."""


def widened(halves: np.ndarray) -> np.ndarray:
    """Convert finite half-precision numbers to single precision, exactly.

    Four times as fast as ``astype``, which converts one number at a time: the bits are shifted to their
    single-precision place, and a multiplication corrects the exponent.
    """
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= -0x7000_2000  # the sign, 5 bits of exponent and 10 of fraction
    found: np.ndarray = bits.view(np.float32)
    found *= np.float32(2.0**112)
    return found


class RowVectors:
    """Unit vectors by row. Cosines of half-precision numbers are accurate to 0.0005.

    Attributes:
        embedder: id of the embedder of the vectors.
        dimension: length of each vector, 0 until the first is added.
        there: mask of the rows with a vector.
    """

    def __init__(self, embedder: str, dimension: int) -> None:
        self.embedder = embedder
        self.dimension = dimension
        self.matrix: np.ndarray = np.zeros((0, dimension), dtype=np.float16)
        self.there: np.ndarray = np.zeros(0, dtype=bool)
        self.sketch: VectorSketch | None = None

    def __len__(self) -> int:
        return int(self.there.sum())

    def reserve(self, rows: int) -> None:
        """Allocate room for so many rows."""
        have = len(self.matrix)
        if rows > have:
            more = max(rows, 256, have * 5 // 4)
            larger = np.zeros((more, self.dimension), dtype=np.float16)
            larger[:have] = self.matrix
            self.matrix = larger
            self.there = np.concatenate([self.there, np.zeros(more - have, dtype=bool)])

    def put(self, row: int, vector: np.ndarray) -> None:
        """Set the vector of a row."""
        flat = np.asarray(vector, dtype=np.float32).reshape(-1)
        self._be_of(len(flat))
        self.reserve(row + 1)
        self.matrix[row] = flat
        self.there[row] = True
        if self.sketch is not None:
            self.sketch.set(row, flat, len(self.matrix))

    def load(self, rows: np.ndarray, vectors: np.ndarray) -> None:
        """Set the vectors of many rows; ``prepare`` builds their sketches."""
        if len(rows):
            self._be_of(vectors.shape[1])
            self.reserve(int(rows.max()) + 1)
            self.matrix[rows] = vectors
            self.there[rows] = True
            self.sketch = None

    def _be_of(self, dimension: int) -> None:
        """Set the dimension: some embedders reveal theirs only with the first vector."""
        if self.dimension != dimension:
            self.__init__(self.embedder, dimension)  # type: ignore[misc]

    def remove(self, row: int) -> None:
        """Remove the vector of a row."""
        if row < len(self.there):
            self.there[row] = False

    def prepare(self) -> None:
        """Build the sketch when there are enough vectors, and again when their number has doubled.

        Call it in a thread.
        """
        count = len(self)
        if count >= SKETCH_FROM and (self.sketch is None or count > 2 * self.sketch.made_of):
            self.sketch = VectorSketch(self.matrix, np.flatnonzero(self.there))

    def cosines(self, query: np.ndarray, count: int) -> tuple[np.ndarray, bool]:
        """Return the cosine of each of the first ``count`` rows with a unit vector, 0 without vector, and whether they
        are exact.
        """
        wanted = np.asarray(query, dtype=np.float32).reshape(-1)
        found = np.zeros(count, dtype=np.float32)
        size = min(count, len(self.matrix))
        if self.sketch is not None:
            found[:size] = self.sketch.cosines(wanted, size)
        else:
            used = np.flatnonzero(self.there[:size])
            found[used] = widened(self.matrix[used]) @ wanted
        found[:size][~self.there[:size]] = 0
        return found, self.sketch is None

    def exact(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the exact cosines of rows that all have a vector."""
        found: np.ndarray = widened(self.matrix[rows]) @ np.asarray(query, dtype=np.float32).reshape(-1)
        return found

    def has(self, count: int) -> np.ndarray:
        """Return which of the first ``count`` rows have a vector."""
        found = np.zeros(count, dtype=bool)
        size = min(count, len(self.there))
        found[:size] = self.there[:size]
        return found
