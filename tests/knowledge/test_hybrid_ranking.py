"""Scores: the influence of each part on the order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from atelier_desk.domain.memory import MemoryFilter
from atelier_desk.knowledge import hybrid_ranking
from atelier_desk.knowledge import memory_vectors as vectors_module
from atelier_desk.knowledge.memory_index import MemoryIndex
from atelier_desk.knowledge.memory_vectors import RowVectors, widened
from atelier_desk.knowledge.query_vector import Question
from atelier_desk.storage.memory_index_entry import MemoryTerms, pack

DAY = 86_400.0
NOW = 1_000 * DAY
ANY = MemoryFilter(scope=None)


def unit(*numbers: float) -> np.ndarray:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def put(
    index: MemoryIndex,
    name: str,
    text: str = "word",
    vector: np.ndarray | None = None,
    age_days: float = 0.0,
    **fields: object,
) -> None:
    stems = [(word, word) for word in text.split()]
    values = {
        "workflow_id": None,
        "type": "knowledge",
        "tags": frozenset[str](),
        "created": NOW - age_days * DAY,
        **fields,
    }
    index.put(MemoryTerms(id=name, terms=pack(stems), **values), vector)  # type: ignore[arg-type]


def ask(
    index: MemoryIndex, text: str, vector: np.ndarray | None = None, least: float = 0.0, language: str = ""
) -> list[hybrid_ranking.Ranked]:
    question = Question([(word, word) for word in text.split()], vector, language, frozenset(text.split()))
    return index.search(question, ANY, NOW, 20, least)


@given(arrays.arrays(np.float32, st.integers(20, 60), elements=st.floats(0, 1, width=32)))
def test_the_cosine_counts_from_the_tenth_best_on(cosines: np.ndarray) -> None:
    beyond = hybrid_ranking.beyond(cosines, np.ones(len(cosines), dtype=bool))
    assert (beyond > 0).sum() < 10
    assert np.array_equal(np.argsort(-cosines, kind="stable")[:1], np.argsort(-(beyond + cosines), kind="stable")[:1])
    few = cosines[:19]
    assert np.array_equal(hybrid_ranking.beyond(few, np.ones(19, dtype=bool)), few)


@given(arrays.arrays(np.float32, 40, elements=st.just(0.0) | st.floats(0, 1, width=32)), arrays.arrays(bool, 40))
def test_the_tenth_best_is_the_same_however_many_are_zero(cosines: np.ndarray, compared: np.ndarray) -> None:
    among = np.sort(cosines[compared])
    tenth = among[-10] if len(among) >= hybrid_ranking.BEHIND_FROM else 0
    assert np.array_equal(hybrid_ranking.beyond(cosines, compared), np.maximum(0, cosines - tenth))


def test_half_precision_is_widened_exactly() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)].reshape(-1, 512)
    assert np.array_equal(widened(halves).view(np.uint32), halves.astype(np.float32).view(np.uint32))


def test_across_languages_vectors_replace_words() -> None:
    index = MemoryIndex(RowVectors("e", 2))
    put(index, "french", "mot", unit(1, 0.2), language="fr")
    put(index, "english", "text", unit(1, 0.2), language="en")
    first, second = ask(index, "question", unit(1, 0), language="en")
    assert (first.id, second.id) == ("french", "english")
    assert first.cosine is not None
    assert first.lexical == pytest.approx(hybrid_ranking.CROSS_LANGUAGE * first.cosine, rel=1e-3)
    assert second.lexical == 0


def test_equal_scores_are_ordered_by_importance_use_and_recency() -> None:
    index = MemoryIndex()
    put(index, "plain", importance=0.2, age_days=40)
    put(index, "used", importance=0.2, age_days=40, uses=7)
    put(index, "important", importance=0.9, age_days=40)
    put(index, "recent", importance=0.2, age_days=1)
    found = ask(index, "word")
    assert [each.id for each in found] == ["recent", "important", "used", "plain"]
    assert all(0 <= each.score - each.relevance <= 0.02 + 1e-6 for each in found)


@pytest.mark.parametrize(("age", "recency"), [(0, 1.0), (15, 0.5), (30, 0.0), (300, 0.0), (-5, 1.0)])
def test_recency_decreases_linearly_over_thirty_days(age: float, recency: float) -> None:
    index = MemoryIndex()
    put(index, "a", age_days=age)
    assert ask(index, "word")[0].recency == pytest.approx(recency)


def test_the_threshold_excludes_unrelated_memories() -> None:
    index = MemoryIndex(RowVectors("e", 2))
    for number in range(30):
        put(index, f"m{number}", f"w{number}", unit(1, 6 + number / 10))
    put(index, "told", "boat", unit(1, 1.2))
    assert [each.id for each in ask(index, "ship", unit(1, 0), least=0.7)] == ["told"]
    assert ask(index, "ship", unit(-1, 0.1), least=0.7) == []
    assert len(ask(index, "ship", unit(1, 0))) == 20
    index.use(None)
    assert [each.id for each in ask(index, "boat harbour", least=0.7)] == ["told"]
    assert ask(index, "boat a b c d e f g h i j k l m n o p", least=0.7) == []


def test_a_turn_is_found_through_its_neighbours_and_its_speaker() -> None:
    index = MemoryIndex(RowVectors("e", 2))
    turns = {
        "t1": ("anna", unit(0, 1)),
        "t2": ("ben", unit(1, 0.1)),
        "t3": ("anna", unit(0.2, 1)),
        "far": ("ben", unit(0.3, 1)),
    }
    for number, (name, (speaker, vector)) in enumerate(turns.items()):
        run = "r" if name != "far" else "s"
        put(index, name, "x", vector, run_id=run, turn=True, speaker=speaker, type="context", age_days=9 - number)
    assert [each.id for each in ask(index, "question", unit(1, 0))] == ["t2", "t3", "t1", "far"]
    asked, named = ({each.id: each for each in ask(index, text, unit(1, 0))} for text in ("question", "question anna"))
    for name, (speaker, _vector) in turns.items():
        share = hybrid_ranking.NAMED if speaker == "anna" else 1
        assert named[name].relevance == pytest.approx(share * asked[name].relevance, rel=1e-4)


def test_a_search_in_short_vectors_first_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "SKETCH_FROM", 500)
    monkeypatch.setattr("atelier_desk.knowledge.memory_index.REFINED", 200)
    random = np.random.default_rng(5)
    topics = random.normal(size=(20, 256))
    matrix = topics[random.integers(0, 20, 2_000)] + 0.7 * random.normal(size=(2_000, 256))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    names = [f"m{number}" for number in range(2_000)]
    index = MemoryIndex(RowVectors("e", 256))
    index.load(MemoryTerms(name, pack([]), None, "knowledge", frozenset(), created=NOW) for name in names)
    assert index.vectors is not None
    index.load_vectors(index.vectors, names, matrix)
    index.prepare()
    assert index.vectors.sketch is not None
    right = 0
    for query in matrix[:30]:
        nearest_ten = {names[row] for row in np.argsort(-(matrix @ query))[:10]}
        hits = ask(index, "", query)
        right += len(nearest_ten & {each.id for each in hits[:10]})
        assert hits[0].cosine == pytest.approx(1.0, abs=1e-3)
    assert right >= 297
    added = unit(*random.normal(size=256))
    put(index, "new", "", added)
    index.remove(["m7"])
    assert ask(index, "", added)[0].id == "new"
    assert ask(index, "", matrix[7])[0].id != "m7"
