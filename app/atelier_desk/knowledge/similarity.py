"""Memories that say the same, or that cannot both hold: found by their vectors, told apart by their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.knowledge.index import MemoryIndex
from atelier_desk.storage.search_terms import content_text, words

if TYPE_CHECKING:
    import numpy as np

COMPARED = 5_000
"""The newest memories that are compared with one another: twice as many take four times as long, and this many a second."""
ALIKE = 0.6
"""Cosine from which the words of two memories are compared: two ports of one server are .63 alike, no fact of the bench is to another."""
SHARED = 0.5
"""Share of their words that two must have in common to be about the same thing."""
_BLOCK = 500
_NEGATIONS = frozenset({"not", "no", "never", "none", "cannot", "without", "t", "ne", "n", "pas", "plus", "jamais", "aucun", "sans"})


def near_pairs(index: MemoryIndex, wanted: MemoryFilter, now: float, most: int) -> list[tuple[str, str, float]]:
    """At most so many pairs of memories of the same home and type that are near one another, the nearest first; each with its cosine.

    Meant for a thread: 5 000 memories take about a second. Turns of conversations are left out: they repeat themselves by nature.

    Args:
        wanted: whose memories are compared.
        now: seconds since 1970; what has expired is left out.
    """
    import numpy as np

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


def _of_block(matrix: np.ndarray, home: np.ndarray, kind: np.ndarray, start: int, most: int) -> list[tuple[float, int, int]]:
    import numpy as np

    block = slice(start, start + _BLOCK)
    near = matrix[block] @ matrix.T
    near[(home[block, None] != home[None, :]) | (kind[block, None] != kind[None, :])] = 0
    near[np.arange(start, start + len(near))[:, None] >= np.arange(len(matrix))[None, :]] = 0  # each pair once
    first, second = np.nonzero(near >= ALIKE)
    cosines = near[first, second]
    if len(cosines) > most:  # of texts that are all alike there are millions
        best = np.argpartition(cosines, len(cosines) - most)[-most:]
        first, second, cosines = first[best], second[best], cosines[best]
    return list(zip(cosines.tolist(), (first + start).tolist(), second.tolist(), strict=True))


def relation(first: str, second: str) -> Literal["same", "against", ""]:
    """``same`` when two texts say the same, or one says it and more; ``against`` when they are about the same thing and each says something
    of it that the other does not; empty when they are about different things."""
    one, other = set(content_text(first)), set(content_text(second))
    common = one & other
    if not common or len(common) < SHARED * min(len(one), len(other)):
        return ""
    denied = bool(_NEGATIONS & set(words(first))) != bool(_NEGATIONS & set(words(second)))
    if denied or (one - other and other - one):
        return "against"
    return "same"


def relations(texts: Sequence[tuple[str, str]]) -> list[Literal["same", "against", ""]]:
    """``relation`` of each two; meant for a thread."""
    return [relation(first, second) for first, second in texts]
