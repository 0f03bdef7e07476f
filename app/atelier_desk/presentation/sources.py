"""The pages an answer rests on: which they are, and what people call one. Window, command line and exports share it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from atelier_desk.domain.result_parts import ResultPart, SourcePart

MOST = 30
"""Sources of one answer."""


def used(answer: str, parts: Iterable[ResultPart]) -> tuple[SourcePart, ...]:
    """The sources of an answer among the parts of what its turn called: the pages that were read, and those a search named whose address
    stands in the answer. Each once, in the order they came."""
    found: dict[str, SourcePart] = {}
    for part in parts:
        if isinstance(part, SourcePart) and (part.read or part.url.rstrip("/") in answer):
            known = found.get(part.url)
            found[part.url] = part if known is None or (part.read and not known.read) else known
    return tuple(found.values())[:MOST]


def words(source: SourcePart) -> str:
    """A source in a line: title, host and date."""
    host = (urlsplit(source.url).hostname or "").removeprefix("www.")
    return " · ".join(filter(None, (" ".join(source.title.split())[:120], host, source.date)))
