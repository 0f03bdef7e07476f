"""Combine word scores and cosines into one ranking.

Method and values: the project's retrieval measurements, reproduced by ``make bench``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atelier_desk.domain.memory import Memory, MemoryHit

POOL = 200
"""Candidates taken from each of the two searches."""
LEXICAL_WEIGHT = 0.4
"""Weight of words against vectors."""
AROUND = 0.7
"""Weight of the words of neighbouring memories of the same run, relative to a memory's own."""
NEIGHBOUR = 0.5
"""Weight of the vectors of the turns before and after a turn, relative to its own."""
NAMED = 1.2
"""Factor for a speaker's own turns when the query names the speaker."""
BEHIND = 10
"""The cosine counts relative to the tenth best.

Below it lies general similarity, whose spread would drown the words.
"""
BEHIND_FROM = 20
"""Number of vectors from which that applies."""
CROSS_LANGUAGE = 0.4
"""Words cannot match across languages: there the vector part counts at least this fraction of a word score."""
LITERAL = 10
"""What puts a memory that has all words of the query before all that have not, whatever their vectors say: more than a
score can be.
"""
TRACE = 0.01
"""Weight of the raw cosine: it orders results that are otherwise equal."""
TIE_BREAK = 0.01
"""Maximum that importance and recency each add, to order equal results. At .15 each they cost a third of the recall."""
RECENCY_DAYS = 30.0
"""Recency falls linearly from 1 to 0 over this many days."""
USE = 0.03
"""Each doubling of the runs that retrieved a memory adds this to its importance, up to 1."""

# Threshold 1 requires this certainty of a fact, of a conversation turn (whose words and speaker count for more), and
# without vectors. At the default 0.7, nine of ten correct first hits of the benchmark are kept, and nine of ten
# questions about things never said find nothing.
FULL_FACT = 0.325
FULL_TURN = 0.42
FULL_TEXT = 0.18
FULL_WORDS = 0.6
"""The same for a fact by words only.

A requested tag contains each of them, worth 0.526 in a memory of usual length, while its vector may say nothing.
"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate memory with every part of its score; see ``MemoryHit``."""

    id: str
    score: float
    relevance: float
    lexical: float
    cosine: float | None
    certainty: float
    importance: float
    recency: float

    def hit(self, memory: Memory) -> MemoryHit:
        return MemoryHit(
            memory=memory,
            score=self.score,
            relevance=self.relevance,
            lexical=self.lexical,
            cosine=self.cosine,
            certainty=self.certainty,
            importance=self.importance,
            recency=self.recency,
        )


def beyond(cosines: np.ndarray, compared: np.ndarray) -> np.ndarray:
    """Return how far each cosine is above the tenth best of those ``compared`` (a mask of the scope); never below 0."""
    among = cosines[compared]
    if len(among) < BEHIND_FROM:
        return cosines
    # Most are 0, and partitioning so many equal values takes 4 ms for 50 000.
    above = among[among > 0]
    if len(above) >= BEHIND:
        among = above
    tenth = np.partition(among, len(among) - BEHIND)[-BEHIND]
    found: np.ndarray = np.maximum(0, cosines - tenth)
    return found


def relevance(
    lexical: np.ndarray, beyond: np.ndarray, cosines: np.ndarray, foreign: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted sum of words and vectors, and the word score used.

    Where memory and query are in different languages (``foreign``), the vectors raise the word score.
    """
    lifted = np.where(foreign, np.maximum(lexical, CROSS_LANGUAGE * beyond), lexical)
    return LEXICAL_WEIGHT * lifted + (1 - LEXICAL_WEIGHT) * beyond + TRACE * cosines, lifted


def certainty(lexical: np.ndarray, cosines: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Return how certain it is that a memory is about the query: 0 not at all, 1 a clear match.

    Unlike relevance it does not depend on other memories. ``cosines`` are the memories' own.
    """
    facts = (0.2 * np.minimum(1, lexical) + 0.8 * cosines) / FULL_FACT
    told = (0.5 * np.minimum(1, lexical) + 0.5 * cosines) / FULL_TURN
    named = np.where(turns, 0, lexical / FULL_WORDS)
    found: np.ndarray = np.minimum(1, np.maximum(np.where(turns, told, facts), named))
    return found


def certainty_of_words(lexical: np.ndarray) -> np.ndarray:
    """Like ``certainty`` without vectors."""
    found: np.ndarray = np.minimum(1, lexical / FULL_TEXT)
    return found


def weight_of(importance: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Return the importance, raised by use."""
    found: np.ndarray = np.minimum(1, importance + USE * np.log2(1 + uses))
    return found
