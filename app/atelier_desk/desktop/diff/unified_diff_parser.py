"""A unified diff as rows with line numbers, inline and side by side. No Qt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_FILE = re.compile(r"^--- .*\n\+\+\+ .*\n@@ ", re.MULTILINE)

Kind = Literal["", "added", "removed", "hunk", "note"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a diff, without its sign.

    Attributes:
        kind: empty for an unchanged line; ``hunk`` starts a hunk, ``note`` is not a line of the file.
        old, new: the line's number before and after, None where it does not exist.
    """

    kind: Kind
    text: str
    old: int | None = None
    new: int | None = None


def rows(diff: str) -> list[Row]:
    """The rows of a unified diff of one or several files. File names are omitted if there is only one."""
    found: list[Row] = []
    lines = diff.split("\n")
    several = len(_FILE.findall(diff)) > 1
    old = new = old_left = new_left = 0
    for line in lines:
        sign, text = line[:1], line[1:]
        if old_left <= 0 and new_left <= 0:
            if (hunk := _HUNK.match(line)) is not None:
                old, new = int(hunk[1]), int(hunk[3])
                old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
                found.append(Row("hunk", hunk[5].strip(), old, new))
            elif line.startswith("+++ ") and several:
                found.append(Row("note", line[4:].removeprefix("b/")))
            elif line and not line.startswith(("--- ", "+++ ", "diff ", "index ")):
                found.append(Row("note", line.removeprefix("\\ ")))
        elif sign == "-":
            found.append(Row("removed", text, old=old))
            old, old_left = old + 1, old_left - 1
        elif sign == "+":
            found.append(Row("added", text, new=new))
            new, new_left = new + 1, new_left - 1
        elif sign == "\\":
            found.append(Row("note", line.removeprefix("\\ ")))
        elif sign in ("", " "):
            found.append(Row("", text, old, new))
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
        else:
            # The rest was cut off: the diff says so in words.
            old_left = new_left = 0
            found.append(Row("note", line))
    return found


def blocks(rows: list[Row]) -> Iterator[tuple[list[int], list[int]]]:
    """Removed lines with the added lines that replace them, as row numbers."""
    removed: list[int] = []
    added: list[int] = []
    for place, row in enumerate([*rows, Row("note", "")]):
        if row.kind == "removed" and not added:
            removed.append(place)
        elif row.kind == "added":
            added.append(place)
        else:
            if removed or added:
                yield removed, added
            removed, added = ([place] if row.kind == "removed" else []), []


def sides(rows: list[Row]) -> tuple[list[int], list[int]]:
    """The left and right side, line by line: row numbers, -1 for an empty line."""
    left: list[int] = []
    right: list[int] = []
    changed = {place: block for block in blocks(rows) for place in (block[0] or block[1])[:1]}
    inside = {place for removed, added in changed.values() for place in (*removed, *added)}
    for place in range(len(rows)):
        if place in changed:
            removed, added = changed[place]
            height = max(len(removed), len(added))
            left += removed + [-1] * (height - len(removed))
            right += added + [-1] * (height - len(added))
        elif place not in inside:
            left.append(place)
            right.append(place)
    return left, right
