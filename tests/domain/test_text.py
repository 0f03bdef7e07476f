"""Texts cut to a length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.text import shorten


@given(st.text(max_size=300), st.integers(min_value=1, max_value=80), st.booleans())
def test_it_never_exceeds_its_length_and_says_that_something_is_missing(text: str, most: int, at_word: bool) -> None:
    short = shorten(text, most, at_word=at_word)
    assert len(short) <= most
    assert short == text if len(text) <= most else short.endswith("…")
    assert text.startswith(short.removesuffix("…"))


def test_it_ends_with_a_whole_word_when_it_is_to() -> None:
    assert shorten("one two three", 9) == "one two …"
    assert shorten("one two three", 9, at_word=True) == "one two…"
    assert shorten("extraordinary", 9, at_word=True) == "extraord…"
