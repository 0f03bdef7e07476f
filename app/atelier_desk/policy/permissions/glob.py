"""Patterns with ``*`` over words, without the backtracking that a regular expression may fall into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

Item = TypeVar("Item")
Piece = TypeVar("Piece")

STAR = object()
"""Stands in a pattern for any number of items, none included."""


def covers(pattern: Sequence[object], items: Sequence[Item], same: Callable[[object, Item], bool]) -> bool:
    """Whether the pattern covers all items; time is at most the product of both lengths.

    The last star seen takes one item more whenever what follows it does not fit: an earlier star never has to be tried again.
    """
    at, star, taken = 0, -1, 0
    place = 0
    while place < len(items):
        if at < len(pattern) and pattern[at] is STAR:
            star, taken, at = at, place, at + 1
        elif at < len(pattern) and same(pattern[at], items[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            taken += 1
            at, place = star + 1, taken
        else:
            return False
    return all(piece is STAR for piece in pattern[at:])


@lru_cache(maxsize=4096)
def word(text: str) -> tuple[object, ...]:
    """A word's pattern, character by character: ``*`` is any characters, a backslash takes the next character as it is."""
    pieces: list[object] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            pieces.append(next(characters, "\\"))
        else:
            pieces.append(STAR if character == "*" else character)
    return tuple(pieces)


def word_covers(pattern: str, text: str) -> bool:
    """Whether a word's pattern covers the text, letter for letter."""
    if not is_pattern(pattern):
        return pattern == text
    return covers(word(pattern), text, lambda piece, character: piece == character)


def is_pattern(word: str) -> bool:
    """Whether it may stand for something else than itself."""
    return "*" in word or "\\" in word


def literal(text: str) -> str:
    """The pattern that covers this text alone."""
    return text.replace("\\", "\\\\").replace("*", "\\*")
