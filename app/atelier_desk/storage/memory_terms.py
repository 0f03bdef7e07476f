"""The stems of a memory as its row keeps them in ``terms``, and what an index is told of a memory."""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

Stems = Sequence[tuple[str, str]]
"""English and French stem of each word."""
WITH_TAGS = 0x8000_0000
"""Set in the first number of ``terms`` that hold the words of the tags too; those of earlier versions do not."""


@dataclass(frozen=True)
class MemoryTerms:
    """What the index knows of one memory. ``expires`` and ``created`` are seconds since 1970, ``expires`` infinite for never.

    Attributes:
        turn: whether it is one of the turns of a conversation (see ``Memory.turn``), ``speaker`` who said it.
        language: ``fr``, ``en`` or empty.
        uses: how many runs found it.
    """

    id: str
    terms: bytes
    workflow_id: str | None
    type: str
    tags: frozenset[str]
    expires: float = float("inf")
    run_id: str = ""
    created: float = 0.0
    importance: float = 0.5
    speaker: str = ""
    turn: bool = False
    language: str = ""
    uses: int = 0

    @property
    def length(self) -> int:
        """How many words it has."""
        return int.from_bytes(self.terms[:4], "little") & ~WITH_TAGS


def hashes(stems: tuple[str, str]) -> tuple[int, int]:
    """32-bit numbers of a word's two stems; two of 20 000 different stems share one with a chance of 5 %, and then only blur a score."""
    return zlib.crc32(b"e" + stems[0].encode()), zlib.crc32(b"f" + stems[1].encode())


def pack(stems: Stems, tags: Stems = ()) -> bytes:
    """The stems of a text and of its tags as bytes: little-endian 32-bit numbers, first how many words (with ``WITH_TAGS``), then pairs of
    stem hash and count."""
    counts = Counter(number for pair in (*stems, *tags) for number in set(hashes(pair)))
    return packed(len(stems) + len(tags), counts)


def with_tags(terms: bytes, tags: Stems) -> bytes:
    """Packed stems of an earlier version, with those of the tags."""
    numbers = array("I", terms)
    counts: Counter[int] = Counter(dict(zip(numbers[1::2], numbers[2::2], strict=True)))
    counts.update(number for pair in tags for number in set(hashes(pair)))
    return packed((numbers[0] if numbers else 0) + len(tags), counts)


def has_tags(terms: bytes) -> bool:
    """Whether the words of the tags are among packed stems."""
    return bool(int.from_bytes(terms[:4], "little") & WITH_TAGS)


def packed(length: int, counts: Mapping[int, int]) -> bytes:
    """How many words, and the counts of the numbers of their stems, as bytes; see ``pack``."""
    numbers = array("I", [length | WITH_TAGS])
    numbers.extend(chain.from_iterable(counts.items()))
    if array("I").itemsize != 4:
        raise SystemError("this platform's unsigned int is not 32 bits wide")
    return numbers.tobytes()
