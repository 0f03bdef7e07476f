"""Guess the language of a short text from its stop words and accents."""

from __future__ import annotations

from atelier_desk.storage.search_terms import ENGLISH, FRENCH, words

_ACCENTS = frozenset("éèêëàâçùûôîïœ")


def language(text: str) -> str:
    """Return ``fr``, ``en``, or an empty string if undecided. Reads only the first 400 characters."""
    head = text[:400]
    found = words(head)
    french = sum(word in FRENCH and word not in ENGLISH for word in found) + (
        0.5 if not _ACCENTS.isdisjoint(head.lower()) else 0.0
    )
    english = float(sum(word in ENGLISH and word not in FRENCH for word in found))
    if french == english:
        return ""
    return "fr" if french > english else "en"
