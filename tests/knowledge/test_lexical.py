"""Ranking by words: BM25 with two stemmers, against a plain computation."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.memory import MemoryFilter, MemoryScope, MemoryType
from atelier_desk.knowledge import lexical
from atelier_desk.knowledge.lexical import LexicalIndex
from atelier_desk.storage.stems import Entry, pack

ANY = MemoryFilter(scope=None)
WORDS = ["cat", "dog", "bird", "fish", "tree", "house"]


def stems(text: str) -> list[tuple[str, str]]:
    """A toy pair of stemmers: English drops a final s, French a final x."""
    return [(word.removesuffix("s"), word.removesuffix("x")) for word in text.split()]


def entry(
    number: int, text: str, *, workflow: str | None = None, kind: str = "knowledge", tags: tuple[str, ...] = (), expires: float = math.inf
) -> Entry:
    return Entry(f"{number:032x}", pack(stems(text)), workflow, kind, frozenset(tags), expires)


def index_of(*texts: str) -> LexicalIndex:
    index = LexicalIndex()
    index.load([entry(number, text) for number, text in enumerate(texts)])
    return index


def found(index: LexicalIndex, query: str, wanted: MemoryFilter = ANY, now: float = 0.0) -> list[int]:
    return [int(each, 16) for each, _ in index.search(stems(query), 100, wanted, now).hits]


def plain_bm25(texts: list[str], query: str) -> dict[int, float]:
    """The formula, word by word."""
    average = sum(len(text.split()) for text in texts) / len(texts)
    scores: dict[int, float] = {}
    for word in dict.fromkeys(query.split()):
        documents = sum(word in text.split() for text in texts)
        weight = math.log(1 + (len(texts) - documents + 0.5) / (documents + 0.5))
        for number, text in enumerate(texts):
            count = text.split().count(word)
            if count:
                norm = lexical.K1 * (1 - lexical.B + lexical.B * len(text.split()) / average)
                scores[number] = scores.get(number, 0) + weight * count * (lexical.K1 + 1) / (count + norm)
    return scores


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=12)


@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join))
def test_scores_are_bm25(texts: list[str], query: str) -> None:
    result = index_of(*texts).search(stems(query), 100, ANY, 0)
    expected = plain_bm25(texts, query)
    assert {int(each, 16): pytest.approx(score, rel=1e-4) for each, score in result.hits} == expected
    assert all(0 < score <= result.best * 1.0001 for _, score in result.hits)
    assert all(before[1] >= after[1] for before, after in pairwise(result.hits))


@given(TEXTS, TEXTS, st.sets(st.integers(0, 11)))
def test_adding_and_removing_one_by_one_is_the_same_as_loading(first: list[str], second: list[str], removed: set[int]) -> None:
    grown = index_of(*first)
    for number, text in enumerate(second):
        grown.add(entry(100 + number, text))
    for number in removed:
        grown.remove(f"{number:032x}")
    entries = [entry(number, text) for number, text in enumerate(first) if number not in removed]
    entries += [entry(100 + number, text) for number, text in enumerate(second)]
    loaded = LexicalIndex()
    loaded.load(entries)
    assert len(grown) == len(loaded)
    for word in WORDS:
        assert set(found(grown, word)) == set(found(loaded, word))


def test_a_word_matches_through_either_language_and_counts_once() -> None:
    index = index_of("cats", "cat", "catx", "dog")
    assert set(found(index, "cats")) == {0, 1}
    assert set(found(index, "catx")) == {1, 2}
    both = index.search(stems("cat"), 10, ANY, 0)
    assert both.best == pytest.approx((lexical.K1 + 1) * math.log(1 + (4 - 2 + 0.5) / (2 + 0.5)))


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    index = index_of(*["cat"] * 8, "cat dog", "bird")
    assert found(index, "cat bird")[0] == 9


def test_a_replaced_text_is_found_by_its_new_words_alone() -> None:
    index = index_of("cat", "dog")
    index.add(entry(0, "bird"))
    assert found(index, "cat") == []
    assert found(index, "bird") == [0]
    assert len(index) == 2


def test_many_additions_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "MERGE_AT", 5)
    index = LexicalIndex()
    for number in range(23):
        index.add(entry(number, f"cat w{number}"))
    assert all(found(index, f"w{number}") == [number] for number in range(23))
    assert len(index) == 23


def test_filters() -> None:
    index = LexicalIndex()
    index.load(
        [
            entry(0, "cat"),
            entry(1, "cat", workflow="a", kind="decision", tags=("x", "y")),
            entry(2, "cat", workflow="b", tags=("x",)),
            entry(3, "cat", workflow="a", expires=100),
        ]
    )

    def visible(now: float = 0, **wanted: object) -> set[int]:
        return set(found(index, "cat", MemoryFilter(**wanted), now))  # type: ignore[arg-type]

    assert visible(scope=None) == {0, 1, 2, 3}
    assert visible(scope=MemoryScope.BOTH) == {0}
    assert visible(scope=MemoryScope.BOTH, workflow_id="a") == {0, 1, 3}
    assert visible(scope=MemoryScope.WORKFLOW, workflow_id="a") == {1, 3}
    assert visible(scope=MemoryScope.GENERAL, workflow_id="a") == {0}
    assert visible(scope=None, type=MemoryType.DECISION) == {1}
    assert visible(scope=None, tags=("x",)) == {1, 2}
    assert visible(scope=None, tags=("x", "y")) == {1}
    assert visible(100, scope=MemoryScope.WORKFLOW, workflow_id="a") == {1}, "it has expired"
    assert index.ids(MemoryFilter(scope=MemoryScope.WORKFLOW, workflow_id="b"), 0) == {f"{2:032x}"}


def test_removing_a_workflow() -> None:
    index = LexicalIndex()
    index.load([entry(0, "cat"), entry(1, "cat", workflow="a")])
    index.add(entry(2, "cat", workflow="a", kind="decision"))
    index.remove_of("a")
    assert found(index, "cat") == [0]


def test_nothing_to_find() -> None:
    assert index_of().search(stems("cat"), 10, ANY, 0) == lexical.LexicalResult()
    assert index_of("cat").search([], 10, ANY, 0) == lexical.LexicalResult()
    unknown = index_of("cat").search(stems("zebra"), 10, ANY, 0)
    assert unknown.hits == []
    assert unknown.best > 0
