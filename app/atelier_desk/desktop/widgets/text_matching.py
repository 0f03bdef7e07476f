"""Text matching for search fields of the palette, pickers and settings."""

from __future__ import annotations

import re
import unicodedata


def plain(text: str) -> str:
    """Lower case without accents and with plain apostrophes, for comparing."""
    return "".join(
        c for c in unicodedata.normalize("NFD", text.casefold().replace("’", "'")) if not unicodedata.combining(c)
    )


def fits(needle: str, text: str) -> bool:
    """Whether a text contains every word of the needle, ignoring case and accents."""
    searched = plain(text)
    return all(word in searched for word in plain(needle).split())


def found_places(needle: str, text: str) -> list[tuple[int, int]]:
    """Ranges of the needle's words in a text, ignoring case and accents: start and end (exclusive), in order."""
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
    """How well a title matches (lower is better), None for no match.

    All words must be in it or in its search terms, or its letters must occur in order.
    """
    needles = plain(needle).split()
    if not needles:
        return 0
    text = plain(title)
    if fits(needle, f"{title} {also}"):
        first = text.find(needles[0])
        starts = first == 0 or (first > 0 and text[first - 1] == " ")
        return (0 if starts else 20) + (first if first >= 0 else 40)
    position = 0
    for letter in "".join(needles):
        position = text.find(letter, position) + 1
        if not position:
            return None
    return 100 + position
