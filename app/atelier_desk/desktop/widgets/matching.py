"""Whether a text has what a person searches for, as the palette, the pickers and the tables of the settings compare it."""

from __future__ import annotations

import re
import unicodedata


def plain(text: str) -> str:
    """Lower case without accents, apostrophes as they are typed, for comparing."""
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold().replace("’", "'")) if not unicodedata.combining(c))


def fits(needle: str, text: str) -> bool:
    """Whether a text has every word of what is searched, without regard to case and accents."""
    searched = plain(text)
    return all(word in searched for word in plain(needle).split())


def found_places(needle: str, text: str) -> list[tuple[int, int]]:
    """Where the words of what is searched stand in a text, without regard to case and accents: first character and last + 1, in order."""
    letters = [plain(each) for each in text]
    searched = "".join(letters)
    origin = [number for number, each in enumerate(letters) for _letter in each]
    found = (match.span() for word in set(plain(needle).split()) for match in re.finditer(re.escape(word), searched))
    places: list[tuple[int, int]] = []
    for start, end in sorted((origin[start], origin[end - 1] + 1) for start, end in found):
        if places and start <= places[-1][1]:
            places[-1] = places[-1][0], max(end, places[-1][1])
        else:
            places.append((start, end))
    return places


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
