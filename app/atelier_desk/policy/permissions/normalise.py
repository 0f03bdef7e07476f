"""Normalise the paths and words of rules and calls, so that both sides of a comparison use the same functions."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_HOME = re.compile(r"(?:~|\$HOME|\$\{HOME\})(?=/|$)")
_SLASHES = re.compile(r"(?<!:)/(?:\.?/)+")


def folded(text: str) -> str:
    """Return the text as the most lenient file system compares names: ignoring case and Unicode form."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def from_home(text: str) -> str:
    """Replace ``~``, ``$HOME`` or ``${HOME}`` at the beginning by ``~``."""
    return _HOME.sub("~", text, count=1) if text[:1] in ("~", "$") else text


@lru_cache(maxsize=4096)
def word(text: str, home: str) -> str:
    """Normalise a word of a command that may be a path: home expanded, without ``//``, ``/./``, leading ``./`` and
    trailing slash.

    Options and addresses stay unchanged.
    """
    if text.startswith("-") or "://" in text:
        return text
    said = from_home(text)
    if home and said.startswith("~"):
        said = home + said[1:] if said == "~" or said.startswith("~/") else said
    said = tidy(said)
    while said.startswith("./") and len(said) > 2:
        said = said[2:]
    return said.rstrip("/") if len(said) > 1 and not said.endswith("\\/") else said


def tidy(text: str) -> str:
    """Remove empty and ``.`` parts inside a path."""
    text = _SLASHES.sub("/", text)
    return text[:-1] if text.endswith("/.") else text
