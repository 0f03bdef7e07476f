"""Shortening texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.support.visible_and_shortened_text import filled, no_formula, shorten, visible, visible_json
from tests.helpers.malformed_messages import FORMATS


@given(st.text(max_size=300), st.integers(min_value=1, max_value=80), st.booleans())
def test_a_shortened_text_never_exceeds_its_length_and_ends_in_an_ellipsis(text: str, most: int, at_word: bool) -> None:
    short = shorten(text, most, at_word=at_word)
    assert len(short) <= most
    assert short == text if len(text) <= most else short.endswith("…")
    assert text.startswith(short.removesuffix("…"))


def test_a_shortened_text_ends_with_a_complete_word_if_requested() -> None:
    assert shorten("one two three", 9) == "one two …"
    assert shorten("one two three", 9, at_word=True) == "one two…"
    assert shorten("extraordinary", 9, at_word=True) == "extraord…"


HOSTILE = [
    ("report\u202etxt.sh", "report⟨U+202E⟩txt.sh"),
    ("echo ok \u2066# \u202e", "echo ok ⟨U+2066⟩# ⟨U+202E⟩"),
    ("a\u200bb", "a⟨U+200B⟩b"),
    ("a\u200db", "a⟨U+200D⟩b"),
    ("a\u200cb", "a⟨U+200C⟩b"),
    ("a\x1b[2Kb\x08", "a⟨U+001B⟩[2Kb⟨U+0008⟩"),
    ("a\rb", "a⟨U+000D⟩b"),
    ("a\u2028b\x0c", "a⟨U+2028⟩b⟨U+000C⟩"),
    ("a\u3164b\ufe0f\u2800", "a⟨U+3164⟩b⟨U+FE0F⟩⟨U+2800⟩"),
    ("a\u00adb\ufeff", "a⟨U+00AD⟩b⟨U+FEFF⟩"),
    ("a\udce9b\ue000", "a⟨U+DCE9⟩b⟨U+E000⟩"),
    ("a\U000e0041", "a⟨U+E0041⟩"),
]
HARMLESS = [
    "",
    "plain",
    "two\nlines\tand a tab",
    "été à 12\u202f%",
    "\U0001f469\u200d\U0001f4bb",
    "\u2764\ufe0f",
    "می\u200cخواهم",
    "ශ්\u200dරී",
    "क्\u200cष क्\u200dष",
    "שלום",
    "日本",
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_hiding_and_reordering_characters_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(f"above\n{text}") == f"above\n{shown}"
    shown_json = visible_json({"path": text}, 2)
    assert json.loads(shown_json) == {"path": text}
    assert visible(shown_json) == shown_json


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert visible(text) == text
    assert json.loads(visible_json([text])) == [text]


def test_a_line_end_of_two_characters_counts_as_one() -> None:
    assert visible("a\r\nb") == "a\nb"


@pytest.mark.parametrize("text", FORMATS)
def test_only_names_are_filled_in(text: str) -> None:
    assert filled(text, {"n": 3}) in (text, "{n}")


def test_names_are_filled_in_as_values_are_written() -> None:
    assert filled("{a} of {b}, {{c}} {d}", {"a": 1, "b": "{a}", "c": 2}) == "1 of {a}, {c} {d}"


FORMULAS = [
    *("=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "  =1"),
    *("＝1", "＋1", "－1", "＠x", "﹦1", " ＝1", "\u3000＝1", "\xa0=1"),
]
NO_FORMULAS = ["", " ", "1=1", "a＝b", "'=1", "−1", "日本", "x@y"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_cell_that_a_spreadsheet_would_calculate_gets_an_apostrophe(text: str) -> None:
    assert no_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", NO_FORMULAS)
def test_other_cells_are_unchanged(text: str) -> None:
    assert no_formula(text) == text
