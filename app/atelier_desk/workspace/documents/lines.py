"""Lines of Markdown that the readers of documents give one by one, and how many of them are taken."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

Lines = Iterator[str | None]
"""Lines; an empty one ends a paragraph. None says that the reader is at work, and is where it can be stopped."""

ENOUGH_S = 8.0
"""After this long nothing more is read: what there is until then is given."""
COLUMNS = 256
"""Cells of a row that are read."""
_WIDTH_OF = 50
"""Rows whose widest says how many columns a table has."""


def gathered(lines: Lines, characters: int) -> tuple[str, bool]:
    """The text of at most so many characters, and whether there was more."""
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
    """Text that can be written as UTF-8, without zero bytes."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    return " ".join(text.split())


def heading(text: str, level: int) -> Lines:
    yield ""
    yield f"{'#' * max(1, min(6, level))} {one_line(text)}"
    yield ""


def table(rows: Iterable[Sequence[str]]) -> Lines:
    """A table of Markdown, whose first row that says something is its head; empty rows and columns at the end are left out."""
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
