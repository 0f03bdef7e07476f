"""Words as the search sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.storage.search_terms import STOP_WORDS, content_text, excerpt, matching_values, word_places, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'élève mangeait des pommes.", ["l", "eleve", "mangeait", "des", "pommes"]),
        ("fetchUserData and HTTPServer2", ["fetch", "user", "data", "and", "http", "server2"]),
        ("snake_case-and/paths", ["snake", "case", "and", "paths"]),
        ("Œuvre, straße, Ångström", ["oeuvre", "strasse", "angstrom"]),
        ("日本語 text", ["日本語", "text"]),
        ("ISPARTA ısparta İzmir", ["isparta", "isparta", "izmir"]),
        ("", []),
        ("…!?", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_stop_words_of_both_languages_are_dropped() -> None:
    assert content_text("Where is the budget of the meeting?") == ["budget", "meeting"]
    assert content_text("Où est le budget de la réunion ?") == ["budget", "reunion"]


def test_a_text_of_stop_words_alone_keeps_them() -> None:
    assert content_text("who are you") == ["who", "are", "you"]


def test_stop_words_are_in_their_normalised_form() -> None:
    assert all(words(word) == [word] for word in STOP_WORDS)


@given(st.text(max_size=200))
def test_words_of_any_text_are_stable(text: str) -> None:
    found = words(text)
    assert all(word and not any(letter.isspace() for letter in word) for word in found)
    assert " ".join(found).split() == found


def test_the_excerpt_shows_the_match() -> None:
    text = "nothing here " * 40 + "the Réunions were moved " + "and more " * 40
    piece = excerpt(text, "reunion")
    assert "Réunions were moved" in piece
    assert piece.startswith("…")
    assert piece.endswith("…")
    assert len(piece) <= 165


@pytest.mark.parametrize(("said", "query"), [("it ships 🚀 today", "🚀"), ("see getUserNameById there", "username")])
def test_the_excerpt_shows_a_symbol_and_a_match_across_parts_of_an_identifier(said: str, query: str) -> None:
    text = "nothing here " * 40 + said
    assert said in excerpt(text, query)
    assert [text[start:end].lower() for start, end in word_places(text, query)] == [query]


def test_without_a_match_the_excerpt_is_the_beginning() -> None:
    assert excerpt("short\n  \n text", "absent") == "short\ntext"


def test_the_excerpt_starts_with_the_line_of_the_match() -> None:
    assert excerpt("before " * 30 + "\n## A heron stands", "heron") == "…## A heron stands"


@pytest.mark.parametrize(
    ("texts", "query", "said"),
    [
        (
            ('{"operation": "create", "name": "Buy milk", "priority": 3}', "", '{"task": {"name": "Buy milk"}}'),
            "milk",
            "Buy milk",
        ),
        (('{"operation": "create", "name": "Buy milk"}', ""), "create", "create"),
        (('{"operation": "create", "name": "Buy milk", "on": true, "at": null}',), "todo", "Buy milk"),
        (('{"expression": "12*7"}', '{"result": 84}'), "84", "84"),
        (("{}", "The server of the model is down"), "server", "The server of the model is down"),
    ],
)
def test_the_text_of_a_call_is_its_values_without_field_names(texts: tuple[str, ...], query: str, said: str) -> None:
    assert matching_values(texts, query) == said
