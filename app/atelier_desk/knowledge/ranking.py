"""From word scores and cosines to one order. Recipe and figures: the project's retrieval measurements; ours: ``make bench``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atelier_desk.domain.memory import Memory, MemoryHit

if TYPE_CHECKING:
    import numpy as np

POOL = 200
"""Candidates taken from each of the two searches."""
LEXICAL_WEIGHT = 0.4
"""Weight of the words against the vectors."""
AROUND = 0.7
"""What the words of the memories beside one in its run count against its own."""
NEIGHBOUR = 0.5
"""What the vectors of the turns before and after a turn count against its own."""
NAMED = 1.2
"""A speaker's own turns are worth this much more to a question that names them."""
BEHIND = 10
"""The cosine counts from the tenth best on: what lies below says that a text is like all others, and its spread would drown the words."""
BEHIND_FROM = 20
"""Vectors from which on it does."""
CROSS_LANGUAGE = 0.4
"""Between languages words cannot match: there the vector part is worth at least this much of a word score."""
LITERAL = 10
"""What puts a memory that has all words of the query before all that have not, whatever their vectors say: more than a score can be."""
TRACE = 0.01
"""What the cosine itself adds: it orders those that nothing else tells apart."""
TIE_BREAK = 0.01
"""Most that importance and recency each add: they order equals. At .15 each in the score they cost a third of the recall."""
RECENCY_DAYS = 30.0
"""Recency falls from 1 to 0 in a straight line over this many days."""
USE = 0.03
"""What each doubling of the runs that found a memory adds to its importance, which stays at most 1."""

# Threshold 1 asks for this much certainty of a fact, of a conversation's turn (whose words and name stand for more) and without vectors.
# At the default 0.7 nine of ten right first hits of the bench are kept, and nine of ten questions about what was never said find nothing.
FULL_FACT = 0.325
FULL_TURN = 0.42
FULL_TEXT = 0.18
FULL_WORDS = 0.6
"""The same of a fact by its words alone: a tag that is asked for has each of them, worth 0.526 in a memory of usual length, while its
vector may say nothing."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory that may be a hit, with every part of its score; see ``MemoryHit``."""

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
    """How far each cosine is above the tenth best of those ``compared`` (booleans), which are all the scope has; never below 0."""
    import numpy as np

    among = cosines[compared]
    if len(among) < BEHIND_FROM:
        return cosines
    # Most are 0, and to part a heap of equals takes 4 ms at 50 000.
    above = among[among > 0]
    if len(above) >= BEHIND:
        among = above
    tenth = np.partition(among, len(among) - BEHIND)[-BEHIND]
    found: np.ndarray = np.maximum(0, cosines - tenth)
    return found


def relevance(lexical: np.ndarray, beyond: np.ndarray, cosines: np.ndarray, foreign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sum of words and vectors, and the word score that went into it: where memory and query are in different languages
    (``foreign``) the vectors lift it."""
    import numpy as np

    lifted = np.where(foreign, np.maximum(lexical, CROSS_LANGUAGE * beyond), lexical)
    return LEXICAL_WEIGHT * lifted + (1 - LEXICAL_WEIGHT) * beyond + TRACE * cosines, lifted


def certainty(lexical: np.ndarray, cosines: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """How sure it is that a memory is about the query at all, 0 for not and 1 for a clear match: unlike relevance it does not look at what
    else there is. ``cosines`` are the memories' own."""
    import numpy as np

    facts = (0.2 * np.minimum(1, lexical) + 0.8 * cosines) / FULL_FACT
    told = (0.5 * np.minimum(1, lexical) + 0.5 * cosines) / FULL_TURN
    named = np.where(turns, 0, lexical / FULL_WORDS)
    found: np.ndarray = np.minimum(1, np.maximum(np.where(turns, told, facts), named))
    return found


def certainty_of_words(lexical: np.ndarray) -> np.ndarray:
    """The same where no vectors were compared."""
    import numpy as np

    found: np.ndarray = np.minimum(1, lexical / FULL_TEXT)
    return found


def weight_of(importance: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Importance, raised by use."""
    import numpy as np

    found: np.ndarray = np.minimum(1, importance + USE * np.log2(1 + uses))
    return found
