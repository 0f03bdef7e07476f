"""Whether a text has what a person searches for, as the palette, the pickers and the tables of the settings compare it."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """Lower case without accents, apostrophes as they are typed, for comparing."""
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold().replace("’", "'")) if not unicodedata.combining(c))


def fits(needle: str, text: str) -> bool:
    """Whether a text has every word of what is searched, without regard to case and accents."""
    searched = plain(text)
    return all(word in searched for word in plain(needle).split())


def rank(needle: str, title: str, also: str = "") -> int | None:
    """How well a title fits (less is better), None when it does not: all words must be in it or in what else it is found by, or its
    letters in order."""
    wanted = plain(needle).split()
    if not wanted:
        return 0
    text = plain(title)
    if fits(needle, f"{title} {also}"):
        first = text.find(wanted[0])
        starts = first == 0 or (first > 0 and text[first - 1] == " ")
        return (0 if starts else 20) + (first if first >= 0 else 40)
    position = 0
    for letter in "".join(wanted):
        position = text.find(letter, position) + 1
        if not position:
            return None
    return 100 + position
