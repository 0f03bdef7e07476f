"""Match ``*`` patterns over words without the backtracking of regular expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

Item = TypeVar("Item")
Piece = TypeVar("Piece")

STAR = object()
"""Matches any number of items, including none."""


def covers(pattern: Sequence[object], items: Sequence[Item], same: Callable[[object, Item], bool]) -> bool:
    """Whether the pattern matches all items; takes at most the product of both lengths.

    The last star takes one more item whenever what follows does not match: earlier stars never have to be retried.
    """
    at, star, matched = 0, -1, 0
    place = 0
    while place < len(items):
        if at < len(pattern) and pattern[at] is STAR:
            star, matched, at = at, place, at + 1
        elif at < len(pattern) and same(pattern[at], items[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            matched += 1
            at, place = star + 1, matched
        else:
            return False
    return all(piece is STAR for piece in pattern[at:])


@lru_cache(maxsize=4096)
def word(text: str) -> tuple[object, ...]:
    """Return the pattern of a word by character: ``*`` matches any characters, a backslash escapes the next one."""
    pieces: list[object] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            pieces.append(next(characters, "\\"))
        else:
            pieces.append(STAR if character == "*" else character)
    return tuple(pieces)


def word_covers(pattern: str, text: str) -> bool:
    """Whether a word's pattern matches the text exactly."""
    if not is_pattern(pattern):
        return pattern == text
    return covers(word(pattern), text, lambda piece, character: piece == character)


def is_pattern(word: str) -> bool:
    """Whether it may match anything but itself."""
    return "*" in word or "\\" in word


def literal(text: str) -> str:
    """Return the pattern that matches only this text."""
    return text.replace("\\", "\\\\").replace("*", "\\*")
