"""A position inside an item of a transcript, as a search target."""

from __future__ import annotations

from typing import Final, NamedTuple

TEXT: Final = "text"
THOUGHTS: Final = "thoughts"
HEAD: Final = "head"
"""The head of a card, visible also while folded."""
CALL: Final = "call"
QUESTION: Final = "question"


class TranscriptPosition(NamedTuple):
    """A position: part of an entry, key, and number of the match.

    Attributes:
        part: one of the names above.
        key: the call's id (for ``CALL`` with the number of its text on a second line) or the question's.
        number: of the match in that text, from 0.
    """

    part: str
    key: str
    number: int
