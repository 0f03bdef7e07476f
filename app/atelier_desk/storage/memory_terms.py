"""The stems of a memory as stored in ``terms``, and the index entry of a memory."""

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
"""Set in the first number if ``terms`` include the words of the tags; earlier versions did not."""


@dataclass(frozen=True)
class MemoryTerms:
    """Index entry of one memory.

    ``expires`` and ``created`` are seconds since 1970; ``expires`` is infinite for permanent ones.

    Attributes:
        turn: whether it is a turn of a conversation (see ``Memory.turn``); ``speaker`` is who said it.
        language: ``fr``, ``en`` or empty.
        uses: number of runs that retrieved it.
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
        """Number of words."""
        return int.from_bytes(self.terms[:4], "little") & ~WITH_TAGS


def hashes(stems: tuple[str, str]) -> tuple[int, int]:
    """Return 32-bit hashes of a word's two stems.

    With 20 000 different stems the chance of one collision is 5 %, and it would only blur a score.
    """
    return zlib.crc32(b"e" + stems[0].encode()), zlib.crc32(b"f" + stems[1].encode())


def pack(stems: Stems, tags: Stems = ()) -> bytes:
    """Pack the stems of a text and its tags as little-endian 32-bit numbers.

    First the number of words (with ``WITH_TAGS``), then pairs of stem hash and count.
    """
    counts = Counter(number for pair in (*stems, *tags) for number in set(hashes(pair)))
    return packed(len(stems) + len(tags), counts)


def with_tags(terms: bytes, tags: Stems) -> bytes:
    """Add the stems of tags to terms packed by an earlier version."""
    numbers = array("I", terms)
    counts: Counter[int] = Counter(dict(zip(numbers[1::2], numbers[2::2], strict=True)))
    counts.update(number for pair in tags for number in set(hashes(pair)))
    return packed((numbers[0] if numbers else 0) + len(tags), counts)


def has_tags(terms: bytes) -> bool:
    """Whether packed terms include the words of the tags."""
    return bool(int.from_bytes(terms[:4], "little") & WITH_TAGS)


def packed(length: int, counts: Mapping[int, int]) -> bytes:
    """Pack a number of words and the counts by stem hash; see ``pack``."""
    numbers = array("I", [length | WITH_TAGS])
    numbers.extend(chain.from_iterable(counts.items()))
    if array("I").itemsize != 4:
        raise SystemError("this platform's unsigned int is not 32 bits wide")
    return numbers.tobytes()
