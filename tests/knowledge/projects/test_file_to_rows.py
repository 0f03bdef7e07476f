"""From a file to its stored rows."""

from __future__ import annotations

from array import array

from atelier_desk.knowledge.projects.entity_rows import entity_row
from atelier_desk.knowledge.projects.entity_texts import stem
from atelier_desk.knowledge.projects.file_to_rows import read
from atelier_desk.storage.memory_index_entry import hashes
from atelier_desk.storage.project_graph_rows import file_key_of

SOURCE = b"""
class Store:
    size = 3

    def save(self, item):
        self.write(item.encoded)

    closed = None


def outer():
    def inner():
        return deepest

    return inner
"""


def said(name: str) -> set[int]:
    """The word counts of an entity of ``SOURCE``."""
    rows = [entity_row(values) for values in read(file_key_of("0" * 8, "a.py"), "a.py", SOURCE)["entities"]]
    packed = next(row.terms for row in rows if row.name == name)
    return set(array("I", packed)[1::2])


def number(word: str) -> int:
    return hashes((word, stem(word)))[0]


def test_a_class_has_its_own_words_and_the_first_line_of_its_members() -> None:
    store = said("Store")
    assert {number("size"), number("save"), number("item"), number("closed")} <= store
    assert number("encoded") not in store, "its method is found by that"
    assert number("encoded") in said("save")


def test_a_function_has_the_words_of_its_inner_functions() -> None:
    assert number("deepest") in said("outer")


def test_the_name_of_a_section_is_one_line_without_tabs() -> None:
    rows = [
        entity_row(values)
        for values in read(file_key_of("0" * 8, "a.md"), "a.md", b"# Invoice\t4711:\ttwo  loaves\n")["entities"]
    ]
    assert [row.name for row in rows if row.kind == "section"] == ["Invoice 4711: two loaves"]
