"""Lines of Markdown from the document readers, and limits on them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

Lines = Iterator[str | None]
"""Lines; an empty one ends a paragraph. None only allows the caller to stop the reader."""

ENOUGH_S = 8.0
"""Seconds after which reading stops; the lines until then are returned."""
COLUMNS = 256
"""Maximum cells read per row."""
_WIDTH_OF = 50
"""Number of rows examined for the width of a table."""


def gathered(lines: Lines, characters: int) -> tuple[str, bool]:
    """Return the text, at most ``characters`` long, and whether there was more."""
    until = time.monotonic() + ENOUGH_S
    found: list[str] = []
    size = 0
    blank = cut = False
    for line in lines:
        if time.monotonic() > until:
            cut = True
            break
        if line is None:
            continue
        line = clean(line).rstrip()
        if not line:
            blank = bool(found)
            continue
        if blank:
            found.append("")
            size += 1
        blank = False
        found.append(line[: characters - size])
        size += len(line) + 1
        if size > characters:
            cut = True
            break
    return "\n".join(found), cut


def clean(text: str) -> str:
    """Return text that can be encoded as UTF-8, without zero bytes."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    return " ".join(text.split())


def heading(text: str, level: int) -> Lines:
    yield ""
    yield f"{'#' * max(1, min(6, level))} {one_line(text)}"
    yield ""


def table(rows: Iterable[Sequence[str]]) -> Lines:
    """Return a Markdown table with the first non-empty row as its head; trailing empty rows and columns are dropped."""
    ahead: list[Sequence[str]] = []
    width = 0
    for row in rows:
        cells = [one_line(cell).replace("|", "\\|") for cell in row[:COLUMNS]]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            yield None
        elif width:
            yield _row(cells, width)
        else:
            ahead.append(cells)
            if len(ahead) == _WIDTH_OF:
                width = max(map(len, ahead))
                yield from _head(ahead, width)
            else:
                yield None
    if ahead and not width:
        yield from _head(ahead, max(map(len, ahead)))
    yield ""


def _head(rows: list[Sequence[str]], width: int) -> Lines:
    yield ""
    yield _row(rows[0], width)
    yield "|" + " --- |" * width
    for row in rows[1:]:
        yield _row(row, width)


def _row(cells: Sequence[str], width: int) -> str:
    return "| " + " | ".join([*cells, *[""] * (width - len(cells))]) + " |"
