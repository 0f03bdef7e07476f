"""A unified diff as rows with line numbers, in line and side by side. No Qt."""

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
    """One line of a diff, without its sign.

    Attributes:
        kind: empty for a line that did not change; ``hunk`` begins a passage, ``note`` is no line of the file.
        old, new: the line's number before and after, None where it does not exist.
    """

    kind: Kind
    text: str
    old: int | None = None
    new: int | None = None


def rows(diff: str) -> list[Row]:
    """The rows of a unified diff of one or several files. What names a file is left out where only one is named."""
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
            # The rest was left out: it says so in words.
            old_left = new_left = 0
            found.append(Row("note", line))
    return found


def blocks(rows: list[Row]) -> Iterator[tuple[list[int], list[int]]]:
    """Lines that were removed, with those that were added in their place: their places among the rows."""
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
    """What stands on the left and on the right, line by line: places among the rows, -1 where a side has nothing."""
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
