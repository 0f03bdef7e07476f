"""The words of an entity and of a query."""

from __future__ import annotations

from array import array

from atelier_desk.knowledge.projects.entity_texts import query_stems, stem, terms
from atelier_desk.storage.memory_index_entry import hashes


def counts(packed: bytes) -> dict[int, int]:
    numbers = array("I", packed)
    return dict(zip(numbers[1::2], numbers[2::2], strict=True))


def test_abbreviations_in_code_share_the_stem_of_the_full_word() -> None:
    assert stem("config") == stem("configuration")
    assert stem("params") == stem("parameter")
    assert stem("supprimer") == stem("suppression")


def test_a_word_weighs_by_its_position() -> None:
    found = counts(terms("load", "src/files.py", "", ["header"], "Store.load"))
    assert found[hashes(("load", stem("load")))[0]] == 6, "of the name, and of the name with what it stands in"
    assert found[hashes(("store", stem("store")))[0]] == 2
    assert found[hashes(("files", stem("files")))[0]] == found[hashes(("header", stem("header")))[0]] == 1


def test_code_words_that_are_french_stop_words_are_found() -> None:
    assert ("comment", "comm") in query_stems("strip a comment")
    assert hashes(("comment", "comm"))[0] in counts(terms("strip_comment", "a.py", "", ()))
    assert query_stems("comment lire les fichiers") == [("lire", "lire"), ("fichiers", "fich")], "here it asks how"
    assert query_stems("comment") == [("comment", "comm")]
