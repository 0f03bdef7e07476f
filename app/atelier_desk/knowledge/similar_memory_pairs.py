"""Find memories with similar vectors."""

from __future__ import annotations

import numpy as np

from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.knowledge.memory_index import MemoryIndex

COMPARED = 5_000
"""Maximum newest memories compared with each other: the time is quadratic, one second for this many."""
MIN_SIMILARITY = 0.6
"""Cosine from which the words of two memories are compared.

Two ports of one server have .63; no two facts of the benchmark reach it.
"""
_BLOCK = 500


def near_pairs(index: MemoryIndex, wanted: MemoryFilter, now: float, most: int) -> list[tuple[str, str, float]]:
    """Return at most ``most`` pairs of similar memories of the same home and type, most similar first, with cosines.

    Call it in a thread: 5 000 memories take about a second. Turns of conversations are skipped: they repeat themselves
    by nature.

    Args:
        wanted: filter of the memories.
        now: seconds since 1970; expired memories are skipped.
    """
    with index.lock:
        rows, vectors = index.rows, index.vectors
        if vectors is None:
            return []
        able = rows.accepted(wanted, rows.scope(wanted, now)) & ~rows.column("turn") & vectors.has(rows.count)
        picked = np.flatnonzero(able)
        picked = picked[np.argsort(-rows.column("created")[picked], kind="stable")[:COMPARED]]
        matrix = vectors.matrix[picked].astype(np.float32)
        home, kind = rows.column("home")[picked], rows.column("type")[picked]
        ids = [rows.ids[row] for row in picked]
    found: list[tuple[float, int, int]] = []
    for start in range(0, len(picked), _BLOCK):
        found += _of_block(matrix, home, kind, start, most)
        found = sorted(found, reverse=True)[:most]
    return [(ids[first], ids[second], cosine) for cosine, first, second in found]


def _of_block(
    matrix: np.ndarray, home: np.ndarray, kind: np.ndarray, start: int, most: int
) -> list[tuple[float, int, int]]:
    block = slice(start, start + _BLOCK)
    near = matrix[block] @ matrix.T
    near[(home[block, None] != home[None, :]) | (kind[block, None] != kind[None, :])] = 0
    near[np.arange(start, start + len(near))[:, None] >= np.arange(len(matrix))[None, :]] = 0  # each pair once
    first, second = np.nonzero(near >= MIN_SIMILARITY)
    cosines = near[first, second]
    if len(cosines) > most:  # many identical texts would give millions
        best = np.argpartition(cosines, len(cosines) - most)[-most:]
        first, second, cosines = first[best], second[best], cosines[best]
    return list(zip(cosines.tolist(), (first + start).tolist(), second.tolist(), strict=True))
