"""The stems of a memory as stored in ``terms``, and the index entry of a memory."""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

Stems = Sequence[tuple[str, ...]]
"""English and French stem of each word, and in a query the word itself."""
CURRENT = 0xC000_0000
"""Set in the first number of ``terms`` that hold the words of the tags and the literal tokens too; earlier versions set
one bit or none.
"""


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
        return int.from_bytes(self.terms[:4], "little") & ~CURRENT


def hashes(stems: tuple[str, ...]) -> tuple[int, ...]:
    """32-bit numbers of a word's stems, and of the word where it is given; two of 20 000 different stems share one with
    a chance of 5 %, and then only blur a score."""
    return tuple(map(_hash, "efw", stems))


def _hash(kind: str, word: str) -> int:
    return zlib.crc32((kind + word).encode())


def pack(stems: Stems, tags: Stems = (), literal: Iterable[str] = ()) -> bytes:
    """The stems of a text and of its tags as bytes: little-endian 32-bit numbers, first how many words (with
    ``CURRENT``), then pairs of stem hash and count. ``literal`` tokens are found as they are and do not count as words:
    they would make a text longer than it is."""
    counts = Counter(number for pair in (*stems, *tags) for number in set(hashes(pair)))
    counts.update(_hash("w", token) for token in literal)
    return packed(len(stems) + len(tags), counts)


def is_current(terms: bytes) -> bool:
    """Whether all that a search looks for is among packed stems."""
    return int.from_bytes(terms[:4], "little") & CURRENT == CURRENT


def packed(length: int, counts: Mapping[int, int]) -> bytes:
    """Pack a number of words and the counts by stem hash; see ``pack``."""
    numbers = array("I", [length | CURRENT])
    numbers.extend(chain.from_iterable(counts.items()))
    if array("I").itemsize != 4:
        raise SystemError("this platform's unsigned int is not 32 bits wide")
    return numbers.tobytes()
