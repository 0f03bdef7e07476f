"""The index of a project: a replaced entity keeps its incoming relations, and exploring stops at its limits."""

from __future__ import annotations

import gc
import itertools

import numpy as np
import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.project import Direction, RelationKind
from atelier_desk.knowledge.memory_vectors import RowVectors
from atelier_desk.knowledge.projects.entity_filter import filtered
from atelier_desk.knowledge.projects.entity_texts import query_stems, stem, terms
from atelier_desk.knowledge.projects.index import ProjectIndex
from atelier_desk.storage.project_graph_rows import Edge, LightRow, entity_id, file_entity, file_key_of

HOME = file_key_of("0" * 8, "a.py")


def scope(name: str, line: int = 1, said: str = "") -> LightRow:
    own = entity_id(HOME, "scope", name)
    return LightRow(
        own,
        "scope",
        "function",
        name,
        name,
        "a.py",
        "python",
        line,
        line + 4,
        file_entity(HOME),
        name,
        terms(name, "", said, ()),
    )


def chain(count: int) -> ProjectIndex:
    """Functions, each of which calls the next."""
    index = ProjectIndex()
    file = LightRow(
        file_entity(HOME), "file", "code", "a.py", "a.py", "a.py", "python", 1, 99, "", "", terms("a.py", "", "", ())
    )
    entries = [scope(f"step_{number}") for number in range(count)]
    index.put([file, *entries])
    edges = [Edge(first.id, second.id, "calls", 0.5, 3) for first, second in itertools.pairwise(entries)]
    index.relate([HOME], edges)
    return index


def test_exploring_goes_to_the_requested_depth() -> None:
    index = chain(8)
    start = entity_id(HOME, "scope", "step_0")
    reached, edges, cut = index.explore(start, [RelationKind.CALLS], Direction.OUT, 3, 100)
    names = [found.name for each in reached if (found := index.get(each.id)) is not None]
    assert names == ["step_1", "step_2", "step_3"]
    assert [(each.depth, each.by) for each in reached] == list(enumerate(edges, 1))
    assert (len(edges), cut) == (3, False)
    reached, _edges, cut = index.explore(start, (), Direction.BOTH, 5, 2)
    assert (len(reached), cut) == (2, True)
    assert index.explore(start, [RelationKind.CALLS], Direction.IN, 5, 10)[0] == []


def test_a_replaced_entity_keeps_its_relations_and_its_vector() -> None:
    index = chain(3)
    index.use(RowVectors("e", 2))
    missing = index.without_vector()
    index.set_vectors("e", [missing["step_1"]], ["step_1"], np.array([[1.0, 0.0]], dtype=np.float32))
    index.put([scope("step_1", line=9)])
    found = index.get(entity_id(HOME, "scope", "step_1"))
    assert found is not None
    assert found.start_line == 9
    assert "step_1" not in index.without_vector()
    reached, _edges, _cut = index.explore(found.id, (), Direction.BOTH, 1, 10)
    assert len(reached) == 3, "its file, who calls it and whom it calls"
    index.remove([found.id])
    assert index.explore(entity_id(HOME, "scope", "step_0"), [RelationKind.CALLS], Direction.OUT, 5, 10)[0] == []


def test_names_and_words_are_found() -> None:
    index = ProjectIndex()
    index.put([scope("parseHeader", said="Read the header of a message."), scope("write_body", said="Write the body.")])
    found = index.search(query_stems("headers of messages"), None, (), 5, 0.0, "headers of messages")
    assert found[0].id == entity_id(HOME, "scope", "parseHeader")
    assert index.search(query_stems("parseheader"), None, (), 5, 0.0, "parseheader")[0].id == found[0].id
    assert stem("messages") == stem("message")


def test_filters_are_data() -> None:
    entries = [scope("one", 1), scope("two", 20)]
    assert [each.name for each in filtered(entries, {"start_line": {"gt": 5}}, "")] == ["two"]
    assert [each.name for each in filtered(entries, {"name": ["one", "two"]}, "-start_line")] == ["two", "one"]
    for wrong in (
        {"nom": "x"},
        {"name": {"matches": "x"}},
        {"start_line": "x"},
        {"name": {"in": "one"}},
        {"lines": {"contains": "1"}},
    ):
        with pytest.raises(UsageError):
            filtered(entries, wrong, "")


def test_all_entities_of_the_same_name_are_found() -> None:
    index = ProjectIndex()
    index.put([scope(f"{owner}.run")._replace(name="run") for owner in ("A", "B", "C")])
    assert {each.id for each in index.search(query_stems("run"), None, (), 10, 0.0, "run")} == {
        entity_id(HOME, "scope", f"{owner}.run") for owner in ("A", "B", "C")
    }
    assert index.search(query_stems("B.run"), None, (), 1, 0.0, "B.run")[0].id == entity_id(HOME, "scope", "B.run")


def test_an_index_creates_no_objects_for_the_garbage_collector() -> None:
    index = chain(8)
    gc.collect()
    assert [entry for entry in index.entries if gc.is_tracked(entry)] == []


def test_a_test_with_a_word_of_the_question_is_a_hit_with_a_score() -> None:
    index = ProjectIndex()
    said = " ".join(f"word{number}" for number in range(200))
    index.put([scope("try_it", said=f"{said} header")._replace(path="tests/test_it.py")])
    question = "the header that nobody among all these people ever wanted to have parsed, written, folded or printed"
    assert [each.score > 0 for each in index.search(query_stems(question), None, (), 5, 0.0, question)] == [True]


def test_a_score_of_zero_is_not_a_hit() -> None:
    index = ProjectIndex(RowVectors("e", 2))
    index.put([scope("near"), scope("far")])
    vectors = np.array([[1.0, 0.0], [0.001, 1.0]], dtype=np.float32)
    index.set_vectors("e", [index.without_vector()[name] for name in ("near", "far")], ["near", "far"], vectors)
    found = index.search(query_stems("unheard"), np.array([1.0, 0.0], dtype=np.float32), (), 5, 0.0, "unheard")
    assert [each.id for each in found] == [entity_id(HOME, "scope", "near")]


def test_vectors_of_a_former_embedder_are_not_used() -> None:
    index = ProjectIndex(RowVectors("e", 2))
    index.put([scope("near")])
    index.set_vectors("left", [index.without_vector()["near"]], ["near"], np.ones((1, 3), dtype=np.float32))
    assert "near" in index.without_vector()
    assert index.vectors is not None
    assert index.vectors.dimension == 2


def test_a_repeated_word_of_the_question_weighs_more() -> None:
    index = ProjectIndex()
    index.put([scope("left", said="header"), scope("right", said="footer")])
    for often, seldom, first in (("header", "footer", "left"), ("footer", "header", "right")):
        question = f"{seldom} and {often}, this {often}"
        assert index.search(query_stems(question), None, (), 5, 0.0, question)[0].id == entity_id(HOME, "scope", first)


def test_an_entity_without_a_word_of_the_question_and_little_similarity_is_not_a_hit() -> None:
    index = chain(3)
    index.use(RowVectors("e", 2))
    across = {"step_0": 0.1, "step_1": 0.2, "step_2": 0.6}
    missing = index.without_vector()
    vectors = np.array([[cosine, (1 - cosine**2) ** 0.5] for cosine in across.values()], dtype=np.float32)
    index.set_vectors("e", [missing[name] for name in across], list(across), vectors)
    asked = np.array([1.0, 0.0], dtype=np.float32)
    assert [each.id for each in index.search(query_stems("marmalade"), asked, (), 10, 0.0, "marmalade")] == [
        entity_id(HOME, "scope", "step_2")
    ]
    assert len(index.search(query_stems("step"), asked, (), 10, 0.0, "step")) == 3, "a word of it is enough"
