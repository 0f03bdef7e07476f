"""Texts cut to a length."""

from __future__ import annotations


def shorten(text: str, most: int, *, at_word: bool = False) -> str:
    """The beginning of a text, of at most ``most`` characters with the ellipsis that stands for the rest. ``at_word``: it ends with a whole
    word where one ends in the second half of what would be kept."""
    if len(text) <= most:
        return text
    kept = text[: max(0, most - 1)]
    if at_word:
        end = kept.rfind(" ")
        kept = (kept[:end] if end > most // 2 else kept).rstrip(" ,;:.-")
    return kept + "…"


def can_be_kept(name: str) -> bool:
    """Whether a file's name is text: on some systems it may be any bytes, which neither the database nor a message can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def no_formula(text: str) -> str:
    """A cell of a CSV file that a spreadsheet does not take for a formula (OWASP, "CSV Injection")."""
    first = text.lstrip(" ")[:1]
    return f"'{text}" if first and first in "=+-@\t\r\n" else text
