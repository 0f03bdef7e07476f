"""Compare what two memories say, by their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from atelier_desk.storage.search_terms import content_text, words

SHARED = 0.5
"""Fraction of their words that two memories must share to be about the same thing."""
_NEGATIONS = frozenset(
    {"not", "no", "never", "none", "cannot", "without", "t", "ne", "n", "pas", "plus", "jamais", "aucun", "sans"}
)


def relation(first: str, second: str) -> Literal["same", "against", ""]:
    """Compare two texts.

    ``same``: they say the same, or one says more; ``against``: they are about the same thing, and each says something
    that the other does not; empty: they are about different things.
    """
    one, other = set(content_text(first)), set(content_text(second))
    common = one & other
    if not common or len(common) < SHARED * min(len(one), len(other)):
        return ""
    denied = bool(_NEGATIONS & set(words(first))) != bool(_NEGATIONS & set(words(second)))
    if denied or (one - other and other - one):
        return "against"
    return "same"


def relations(texts: Sequence[tuple[str, str]]) -> list[Literal["same", "against", ""]]:
    """Return the ``relation`` of each pair; call it in a thread."""
    return [relation(first, second) for first, second in texts]
