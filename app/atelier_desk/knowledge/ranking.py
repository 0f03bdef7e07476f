"""From word scores and cosines to one order. Recipe and figures: the project's retrieval measurements; ours: ``make bench``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from atelier_desk.domain.memory import Memory, MemoryHit

POOL = 200
"""Candidates taken from each of the two searches."""
LEXICAL_WEIGHT = 0.5
"""Weight of the words against the vectors: .5–.6 is best where French and English meet, as they do here; .7 in one language alone."""
CROSS_LANGUAGE = 0.3
"""Between languages words cannot match: there a cosine is worth at least this much of a word score.

The retrieval measurements used .4 with scores relative to the words the store knows; here every word of the query counts, which makes word
scores smaller, and .3 keeps the balance (bench: hit@1 .92 against .91, and .90 for vectors alone)."""
TIE_BREAK = 0.01
"""Most that importance and recency each add: they order equals. At .15 each in the score they cost a third of the recall."""
RECENCY_DAYS = 30.0
"""Recency falls from 1 to 0 in a straight line over this many days."""
FULL_MATCH = 0.15
"""Relevance that threshold 1 asks for: nine of ten right answers of the bench reach it, one in a hundred wrong ones."""
FULL_MATCH_TEXT = 0.1
"""The same for words alone."""
READ_AHEAD = 10
"""Memories read beyond those that are wanted, because importance, recency and often the language are only known once one was read."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be a hit. ``lexical`` is 0–1, ``cosine`` 0–1 or None without a vector."""

    id: str
    lexical: float
    cosine: float | None


def candidates(
    words: Sequence[tuple[str, float]], nearest: Sequence[tuple[str, float]], cosine: Callable[[str], float | None]
) -> list[Candidate]:
    """Both pools as one. ``words`` has scores already divided by the best the query could reach."""
    merged = {memory_id: Candidate(memory_id, min(1.0, score), cosine(memory_id)) for memory_id, score in words}
    for memory_id, value in nearest:
        merged.setdefault(memory_id, Candidate(memory_id, 0.0, min(1.0, value)))
    return list(merged.values())


def relevance(lexical: float, cosine: float | None) -> float:
    """Weighted sum of both; a memory without a vector is judged by its words alone."""
    return lexical if cosine is None else LEXICAL_WEIGHT * lexical + (1.0 - LEXICAL_WEIGHT) * cosine


def lifted(candidate: Candidate, query_language: str, spoken: str | None) -> float:
    """The word score, raised where query and memory are in different languages. ``spoken`` None stands for a language not known yet."""
    other = bool(query_language) and spoken != "" and spoken != query_language
    return max(candidate.lexical, CROSS_LANGUAGE * candidate.cosine) if other and candidate.cosine is not None else candidate.lexical


def at_most(candidate: Candidate, query_language: str, spoken: str | None) -> float:
    """The highest relevance it can have; exact when its language is known."""
    return relevance(lifted(candidate, query_language, spoken), candidate.cosine)


def least_relevance(threshold: float, *, hybrid: bool) -> float:
    """The relevance that ``threshold`` asks for, 0 to 1: how close to a full match a memory must come.

    A fused relevance of 1 would need the same sentence in the same words, so the scale ends where clear matches begin: 0 keeps whatever
    matches at all, the default 0.7 what is about the same thing, 1 clear matches alone.
    """
    return threshold * (FULL_MATCH if hybrid else FULL_MATCH_TEXT)


def promising(pool: Sequence[Candidate], least: float, bound: Callable[[Candidate], float]) -> list[Candidate]:
    """The candidates that may be relevant enough, by the most that each can become."""
    able = [(candidate, most) for candidate in pool if (most := bound(candidate)) > 0.0 and most >= least]
    return [candidate for candidate, _ in sorted(able, key=lambda each: each[1], reverse=True)]


def hit(memory: Memory, candidate: Candidate, query_language: str, spoken: str, now: datetime) -> MemoryHit:
    """A memory, in the language it is written in, with every part of its score."""
    lexical = lifted(candidate, query_language, spoken)
    relevant = relevance(lexical, candidate.cosine)
    age_days = max(0.0, (now - memory.created_at).total_seconds() / 86_400.0)
    recency = max(0.0, 1.0 - age_days / RECENCY_DAYS)
    return MemoryHit(
        memory=memory,
        score=relevant + TIE_BREAK * memory.importance + TIE_BREAK * recency,
        relevance=relevant,
        lexical=lexical,
        cosine=candidate.cosine,
        importance=memory.importance,
        recency=recency,
    )


def chosen(hits: Sequence[MemoryHit], *, least: float, limit: int) -> list[MemoryHit]:
    """The hits to return, best first; see ``least_relevance``."""
    kept = [each for each in hits if each.relevance > 0.0 and each.relevance >= least]
    return sorted(kept, key=lambda each: (-each.score, each.memory.id))[:limit]
