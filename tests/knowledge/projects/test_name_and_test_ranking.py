"""Reordering of hits: names that occur in the query, and tests."""

from __future__ import annotations

import pytest

from atelier_desk.knowledge.projects.entity_texts import query_stems, terms
from atelier_desk.knowledge.projects.index import ProjectIndex
from atelier_desk.knowledge.projects.name_and_test_ranking import COVERED, TESTED, QueryTerms, is_test
from atelier_desk.storage.project_graph_rows import LightRow, entity_id, file_entity, file_key_of


def scope(name: str, path: str, body: str) -> LightRow:
    key = file_key_of("0" * 8, path)
    own = entity_id(key, "scope", name)
    return LightRow(
        own, "scope", "function", name, name, path, "python", 1, 9, file_entity(key), "",
        terms(name, path, "", body.split(), name)
    )  # fmt: skip


def found(entries: list[LightRow], query: str) -> list[str]:
    index = ProjectIndex()
    index.put(entries)
    names = {each.id: f"{each.path}:{each.name}" for each in entries}
    return [names[each.id] for each in index.search(query_stems(query), None, (), 10, 0.0, query)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True), ("src/tests/a.py", True), ("a/test_b.py", True), ("pkg/b_test.go", True),
        ("web/c.spec.ts", True),
        ("src/FooTests.cs", True), ("examples/hello.js", True), ("conftest.py", True),
        ("src/a.py", False), ("src/latest.py", False), ("contest/a.py", False), ("src/attest_b.py", False),
        ("specific/a.py", False),
    ],
)  # fmt: skip
def test_paths_of_tests(path: str, expected: bool) -> None:
    assert is_test(path) is expected


def test_a_name_matches_by_its_words_and_by_common_prefixes() -> None:
    wanted = QueryTerms("Deletes the configuration of a directory")
    assert wanted.covered("delete_config") == 1
    assert wanted.covered("deleteUser") == 0.5
    assert wanted.covered("save") == 0
    assert wanted.covered("") == wanted.covered("__") == 0


def test_tests_rank_lower_unless_requested() -> None:
    found = 0.5 + COVERED
    assert QueryTerms("merge cookies").weighed(0.5, "scope", "merge", "tests/a.py") == pytest.approx(found - TESTED)
    assert QueryTerms("merge cookies").weighed(0.5, "scope", "merge", "src/a.py") == pytest.approx(found)
    assert QueryTerms("the test that can merge cookies").weighed(0.5, "scope", "merge", "tests/a.py") == pytest.approx(
        found
    )
    assert QueryTerms("merge cookies").weighed(0.5, "section", "Merge", "docs/a.md") == pytest.approx(found), (
        "a manual is no test"
    )
    assert QueryTerms("nothing").weighed(0.06, "scope", "merge", "tests/a.py") == pytest.approx(0.03), "half is left"


def test_tested_code_ranks_above_its_tests() -> None:
    entries = [
        scope("test_join", "tests/test_jar.py", "merge cookies jars merge cookies jars"),
        scope("join", "src/jar.py", "merge cookies jars hosts paths"),
    ]
    assert found(entries, "merge the cookies of both jars")[0] == "src/jar.py:join"
    assert found(entries, "test that merges the cookies of both jars")[0] == "tests/test_jar.py:test_join"


def test_a_name_in_the_query_ranks_above_a_body_with_the_same_words() -> None:
    entries = [
        scope("run", "a.py", "proxy bypass proxy bypass host url"),
        scope("proxy_bypass", "b.py", "host url name"),
    ]
    assert found(entries, "proxy bypass of a host")[0] == "b.py:proxy_bypass"
