"""The stems of a memory as its row keeps them in ``terms``, and what an index by words is told of a memory."""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Stems = Sequence[tuple[str, str]]
"""English and French stem of each word."""


@dataclass(frozen=True)
class Entry:
    """What the index knows of one memory. ``expires`` is seconds since 1970, infinite for never."""

    id: str
    terms: bytes
    workflow_id: str | None
    type: str
    tags: frozenset[str]
    expires: float = float("inf")


def hashes(stems: tuple[str, str]) -> tuple[int, int]:
    """32-bit numbers of a word's two stems; two of 20 000 different stems share one with a chance of 5 %, and then only blur a score."""
    return zlib.crc32(b"e" + stems[0].encode()), zlib.crc32(b"f" + stems[1].encode())


def pack(stems: Stems) -> bytes:
    """The stems of a text as bytes: little-endian 32-bit numbers, first how many words, then pairs of stem hash and count."""
    counts = Counter(number for pair in stems for number in set(hashes(pair)))
    numbers = array("I", [len(stems)])
    for number, count in counts.items():
        numbers.extend((number, count))
    if array("I").itemsize != 4:
        raise SystemError("this platform's unsigned int is not 32 bits wide")
    return numbers.tobytes()
