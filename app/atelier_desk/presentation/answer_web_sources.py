"""Web sources of an answer, for window, command line and exports."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from atelier_desk.domain.result_parts import ResultPart, SourcePart

MOST = 30
"""Sources of one answer."""


def used(answer: str, parts: Iterable[ResultPart]) -> tuple[SourcePart, ...]:
    """The sources of an answer among the results of its turn's calls.

    These are the pages that were read, and search results whose address is in the answer; each once, in
    order.
    """
    found: dict[str, SourcePart] = {}
    for part in parts:
        if isinstance(part, SourcePart) and (part.read or part.url.rstrip("/") in answer):
            known = found.get(part.url)
            found[part.url] = part if known is None or (part.read and not known.read) else known
    return tuple(found.values())[:MOST]


def words(source: SourcePart) -> str:
    """A source on one line: title, host and date."""
    host = (urlsplit(source.url).hostname or "").removeprefix("www.")
    return " · ".join(filter(None, (" ".join(source.title.split())[:120], host, source.date)))
