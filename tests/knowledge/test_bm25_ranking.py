"""Ranking by words: BM25 with two stemmers, compared with a plain computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.knowledge import bm25_ranking
from atelier_desk.knowledge.memory_index import MemoryIndex
from atelier_desk.storage.memory_index_entry import MemoryTerms, pack

ANY = MemoryFilter(scope=None)
WORDS = ["cat", "dog", "bird", "fish", "tree", "house"]


def stems(text: str) -> list[tuple[str, str]]:
    """A toy pair of stemmers: English drops a final s, French a final x."""
    return [(word.removesuffix("s"), word.removesuffix("x")) for word in text.split()]


def entry(number: int, text: str, run: str = "", workflow: str | None = None) -> MemoryTerms:
    return MemoryTerms(
        f"{number:032x}", pack(stems(text)), workflow, "knowledge", frozenset(), run_id=run, created=number
    )


def index_of(*texts: str, run: str = "") -> MemoryIndex:
    index = MemoryIndex()
    index.load([entry(number, text, run) for number, text in enumerate(texts)])
    return index


def scores(index: MemoryIndex, query: str, wanted: MemoryFilter = ANY) -> tuple[dict[int, float], dict[int, float]]:
    """By number of the memory, the score of its own words and of its neighbours'."""
    rows = index.rows
    beside, around = rows.neighbours()
    scope = rows.scope(wanted, 0.0)
    told = index.postings.scores(stems(query), scope, rows.column("length"), beside, around)
    if told is None:
        return {}, {}
    named = [(int(rows.ids[row], 16), row) for row in np.flatnonzero(scope)]
    return tuple(
        {number: float(part[row]) for number, row in named if part[row] > 0} for part in (told.own, told.around)
    )  # type: ignore[return-value]


def found(index: MemoryIndex, query: str) -> list[int]:
    own = scores(index, query)[0]
    return sorted(own, key=lambda number: -own[number])


def plain_bm25(texts: list[str], query: str) -> dict[int, float]:
    """The formula in its plain form."""
    average = sum(len(text.split()) for text in texts) / len(texts)
    scores: dict[int, float] = {}
    for word in dict.fromkeys(query.split()):
        documents = sum(word in text.split() for text in texts)
        weight = math.log(1 + (len(texts) - documents + 0.5) / (documents + 0.5))
        for number, text in enumerate(texts):
            count = text.split().count(word)
            if count:
                norm = bm25_ranking.K1 * (1 - bm25_ranking.B + bm25_ranking.B * len(text.split()) / average)
                scores[number] = scores.get(number, 0) + weight * count * (bm25_ranking.K1 + 1) / (count + norm)
    return scores


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=12)


def reachable(texts: list[str], query: str) -> float:
    """The best score that any text could have."""
    return sum(
        (bm25_ranking.K1 + 1) * math.log(1 + (len(texts) - documents + 0.5) / (documents + 0.5))
        for documents in (sum(word in text.split() for text in texts) for word in dict.fromkeys(query.split()))
    )


@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join))
def test_scores_are_shares_of_the_best_possible_bm25(texts: list[str], query: str) -> None:
    best = reachable(texts, query)
    expected = {number: pytest.approx(score / best, rel=1e-4) for number, score in plain_bm25(texts, query).items()}
    assert scores(index_of(*texts), query)[0] == expected


@given(TEXTS, TEXTS, st.sets(st.integers(0, 11)))
def test_adding_and_removing_one_by_one_equals_loading(first: list[str], second: list[str], removed: set[int]) -> None:
    grown = index_of(*first)
    grown.prepare()
    for number, text in enumerate(second):
        grown.put(entry(100 + number, text))
    grown.remove([f"{number:032x}" for number in removed])
    entries = [entry(number, text) for number, text in enumerate(first) if number not in removed]
    entries += [entry(100 + number, text) for number, text in enumerate(second)]
    loaded = MemoryIndex()
    loaded.load(entries)
    assert len(grown) == len(loaded)
    for word in WORDS:
        assert scores(grown, word)[0] == pytest.approx(scores(loaded, word)[0])


def test_a_word_matches_through_either_language_and_counts_once() -> None:
    index = index_of("cats", "cat", "catx", "dog")
    assert set(found(index, "cats")) == {0, 1}
    assert set(found(index, "catx")) == {1, 2}
    assert scores(index, "cat cat")[0] == scores(index, "cat")[0]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    index = index_of(*["cat"] * 8, "cat dog", "bird")
    assert found(index, "cat bird")[0] == 9


def test_a_replaced_text_is_found_only_by_its_new_words() -> None:
    index = index_of("cat", "dog")
    index.put(entry(0, "bird"))
    assert found(index, "cat") == []
    assert found(index, "bird") == [0]
    assert len(index) == 2


def test_many_additions_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25_ranking, "MERGE_AT", 5)
    index = MemoryIndex()
    for number in range(23):
        index.put(entry(number, f"cat w{number}"))
        index.prepare()
    assert not index.postings.crowded
    assert all(found(index, f"w{number}") == [number] for number in range(23))
    assert len(found(index, "cat")) == 23


def test_memories_of_another_workflow_change_no_score() -> None:
    index = index_of("cat", "cat dog", "bird")
    before = scores(index, "cat dog", MemoryFilter("mine"))[0]
    for number in range(10, 60):
        index.put(entry(number, "dog dog dog bird fish tree", workflow="other"))
    assert scores(index, "cat dog", MemoryFilter("mine"))[0] == before


def test_the_two_memories_before_and_after_in_a_run_count_too() -> None:
    index = index_of("zero", "cat", "one", "two", "three", "four", run="r")
    index.put(entry(1_000, "aside", run="other"))
    own, around = scores(index, "cat")
    assert set(own) == {1}
    assert set(around) == {0, 2, 3}
    assert around[0] == around[3] or around[0] != around[2]
    assert scores(index_of("cat", "one"), "cat")[1] == {}, "without a run nothing stands beside another"


def test_a_search_without_matches() -> None:
    assert scores(index_of(), "cat") == ({}, {})
    assert scores(index_of("cat"), "") == ({}, {})
    assert scores(index_of("cat"), "zebra") == ({}, {})
