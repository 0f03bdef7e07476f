"""Scores: what each part may do to the order, and what it may not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.knowledge import ranking
from atelier_desk.knowledge.ranking import Candidate

NOW = datetime(2026, 6, 1, tzinfo=UTC)
share = st.floats(0, 1, allow_nan=False)


def memory(content: str = "word", importance: float = 0.5, age_days: float = 0.0) -> Memory:
    return Memory(id=content, type=MemoryType.KNOWLEDGE, content=content, importance=importance, created_at=NOW - timedelta(days=age_days))


def test_relevance_is_the_weighted_sum_and_words_alone_without_a_vector() -> None:
    assert ranking.relevance(0.4, 0.8) == pytest.approx(ranking.LEXICAL_WEIGHT * 0.4 + (1 - ranking.LEXICAL_WEIGHT) * 0.8)
    assert ranking.relevance(0.4, None) == 0.4


def test_both_pools_become_one() -> None:
    pool = ranking.candidates([("a", 0.5), ("b", 0.2)], [("b", 0.9), ("c", 0.8)], {"b": 0.9, "c": 0.8}.get)
    assert pool == [Candidate("a", 0.5, None), Candidate("b", 0.2, 0.9), Candidate("c", 0.0, 0.8)]


def test_between_languages_a_cosine_counts_for_words() -> None:
    candidate = Candidate("x", 0.0, 0.9)
    other = ranking.hit(memory(), candidate, "fr", "en", NOW)
    same = ranking.hit(memory(), candidate, "fr", "fr", NOW)
    assert other.lexical == pytest.approx(ranking.CROSS_LANGUAGE * 0.9)
    assert same.lexical == 0.0
    assert ranking.hit(memory(), candidate, "", "en", NOW).lexical == 0.0
    assert ranking.hit(memory(), candidate, "fr", "", NOW).lexical == 0.0
    assert ranking.at_most(candidate, "fr", None) == other.relevance == ranking.at_most(candidate, "fr", "en")
    assert ranking.at_most(candidate, "fr", "fr") == same.relevance == ranking.at_most(candidate, "", None)


@given(share, share, share, st.floats(0, 400), share, st.floats(0, 400))
def test_importance_and_recency_break_ties_and_no_more(
    relevance: float, ahead: float, high: float, old: float, low: float, young: float
) -> None:
    better = ranking.hit(memory(importance=low, age_days=old), Candidate("a", min(1.0, relevance + 0.02 + ahead), None), "", "", NOW)
    worse = ranking.hit(memory(importance=high, age_days=young), Candidate("b", relevance, None), "", "", NOW)
    if better.relevance - worse.relevance > 0.02:
        assert better.score > worse.score
    assert 0.0 <= better.score - better.relevance <= 0.02 + 1e-9


def test_equals_are_ordered_by_importance_then_by_recency() -> None:
    plain = ranking.hit(memory("a", 0.2, 40), Candidate("a", 0.5, None), "", "", NOW)
    important = ranking.hit(memory("b", 0.9, 40), Candidate("b", 0.5, None), "", "", NOW)
    recent = ranking.hit(memory("c", 0.2, 1), Candidate("c", 0.5, None), "", "", NOW)
    order = ranking.chosen([plain, important, recent], least=0, limit=3)
    assert [each.memory.id for each in order] == ["c", "b", "a"]


@pytest.mark.parametrize(("age", "recency"), [(0, 1.0), (15, 0.5), (30, 0.0), (300, 0.0), (-5, 1.0)])
def test_recency_is_a_straight_line_over_thirty_days(age: float, recency: float) -> None:
    assert ranking.hit(memory(age_days=age), Candidate("a", 0.5, None), "", "", NOW).recency == pytest.approx(recency)


def test_the_threshold_runs_from_any_match_to_clear_matches() -> None:
    hits = [ranking.hit(memory(str(value)), Candidate(str(value), value, None), "", "", NOW) for value in (0.0, 0.01, 0.08, 0.2)]

    def kept(threshold: float, hybrid: bool = True) -> int:
        return len(ranking.chosen(hits, least=ranking.least_relevance(threshold, hybrid=hybrid), limit=10))

    assert kept(0.0) == 3
    assert kept(0.7) == 1
    assert kept(0.7, hybrid=False) == 2
    assert kept(1.0) == 1


def test_what_may_become_best_is_read_first_and_what_cannot_be_relevant_is_not() -> None:
    pool = [Candidate("words", 0.3, None), Candidate("far", 0.0, 0.9), Candidate("weak", 0.05, None), Candidate("none", 0.0, 0.0)]

    def read(least: float) -> list[str]:
        return [each.id for each in ranking.promising(pool, least, lambda each: ranking.at_most(each, "fr", None))]

    assert read(0.1) == ["far", "words"]
    assert read(0.0) == ["far", "words", "weak"]
