"""Names of reports: plain file names valid on every file system, never paths."""

from __future__ import annotations

import re
import unicodedata

from atelier_desk.domain import limits
from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_

_FORBIDDEN = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f\ud800-\udfff]')
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))})
SUFFIX = ".md"


def report_name(name: str) -> str:
    """Return the report's name without ``.md``, which the file gets.

    Raises:
        UsageError: a path, a hidden or reserved name, a character some file system refuses, or too long.
    """
    plain = unicodedata.normalize("NFC", name.strip())
    plain = plain[: -len(SUFFIX)].rstrip() if plain.lower().endswith(SUFFIX) else plain
    if len(plain) > limits.REPORT_NAME:
        raise UsageError(
            N_("The report name has {length} characters; the limit is {limit}."),
            length=len(plain),
            limit=limits.REPORT_NAME,
        )
    bad = (
        not plain
        or _FORBIDDEN.search(plain) is not None
        or plain.startswith(".")
        or plain.endswith((".", " "))
        or plain.split(".")[0].casefold() in _RESERVED
        or len(plain.encode()) + len(SUFFIX) > 255
    )
    if bad:
        raise UsageError(
            N_(
                "“{name}” cannot be used as a report name. Use only letters, digits, spaces and - _ . ( ), and no "
                "dot at the beginning."
            ),
            name=name[:80],
        )
    return plain


def name_from_text(text: str, fallback: str) -> str:
    """Make a report name from the first Markdown heading, or the first words, of a text."""
    for line in text.splitlines():
        words = _FORBIDDEN.sub(" ", line.strip().lstrip("#").strip().strip("*_` "))
        words = " ".join(words.split()).strip(". ")[:60].rstrip(". ")
        if words:
            try:
                return report_name(words)
            except UsageError:
                return fallback
    return fallback
