"""One spelling for the paths and words of rules and of calls, so that both sides of a comparison are normalised by the same function."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_HOME = re.compile(r"(?:~|\$HOME|\$\{HOME\})(?=/|$)")
_SLASHES = re.compile(r"(?<!:)/(?:\.?/)+")


def folded(text: str) -> str:
    """As the most forgiving file system compares names: in any letter case and Unicode form."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def from_home(text: str) -> str:
    """``~``, ``$HOME`` and ``${HOME}`` at the beginning as ``~``."""
    return _HOME.sub("~", text, count=1) if text[:1] in ("~", "$") else text


@lru_cache(maxsize=4096)
def word(text: str, home: str) -> str:
    """A word of a command that may be a path: home written out, without ``//``, ``/./``, a leading ``./`` and a slash at its end.

    Options and addresses stay as they are.
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
    """A path without empty and ``.`` parts inside."""
    text = _SLASHES.sub("/", text)
    return text[:-1] if text.endswith("/.") else text
