"""Whether a text has what a person searches for, as the palette, the pickers and the tables of the settings compare it."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """Lower case without accents, for comparing."""
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))


def fits(needle: str, text: str) -> bool:
    """Whether a text has every word of what is searched, without regard to case and accents."""
    searched = plain(text)
    return all(word in searched for word in plain(needle).split())
