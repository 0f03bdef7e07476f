"""Patch texts, ``*** Begin Patch … *** End Patch``: read, and put onto a text. Context is exact and must be found once.

*** Begin Patch
*** Update File: src/main.py
@@ def main():
 print("before")
-print("old")
+print("new")
*** Add File: notes.md
+A line.
*** Delete File: old.txt
*** End Patch
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.text_edits import fitted, nearest
from atelier_desk.workspace.text_files import Text

_ENDS = re.compile(r"\r\n|\n|\r")
BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE, _LAST = (
    "*** Add File: ",
    "*** Delete File: ",
    "*** Update File: ",
    "*** Move to: ",
    "*** End of File",
)


@dataclass(slots=True)
class Hunk:
    """Replaced lines. ``anchors``: lines that occur in this order before the hunk."""

    anchors: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    at_end: bool = False


@dataclass(slots=True)
class FilePatch:
    """Changes of one file. ``lines``: content of a new one."""

    action: Literal["add", "delete", "update"]
    path: str
    moved_to: str = ""
    hunks: list[Hunk] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def parse(text: str) -> list[FilePatch]:
    """Parse a patch into its files, in order.

    Raises:
        ToolError: ``bad_patch``, with the wrong line.
    """
    lines = text.strip("\r\n").replace("\r\n", "\n").split("\n")
    if lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise _bad(1, f"a patch begins with {BEGIN!r} and ends with {END!r}")
    files: list[FilePatch] = []
    for number, line in enumerate(lines[1:-1], 2):
        file = files[-1] if files else None
        if line.startswith((_ADD, _DELETE, _UPDATE)):
            action: Literal["add", "delete", "update"] = (
                "add" if line.startswith(_ADD) else "delete" if line.startswith(_DELETE) else "update"
            )
            files.append(FilePatch(action, line.partition(": ")[2].strip()))
        elif file is None:
            raise _bad(number, "it must begin with Add File, Delete File or Update File")
        elif file.action == "add":
            if not line.startswith("+"):
                raise _bad(number, "the lines of a new file begin with +")
            file.lines.append(line[1:])
        elif file.action == "delete":
            if line.strip():
                raise _bad(number, "nothing follows Delete File")
        else:
            _update(file, line, number)
    for file in files:
        if not file.path or (file.action == "update" and not file.hunks and not file.moved_to):
            raise _bad(0, f"Update File {file.path!r} changes nothing")
    if not files:
        raise _bad(2, "the patch is empty")
    named = [path for file in files for path in (file.path, file.moved_to) if path]
    if len(set(named)) != len(named):
        raise _bad(0, "a file is named twice: put all its changes into one Update File")
    return files


def applied(file: Text, patch: FilePatch) -> Text:
    """Apply all hunks of a file from top to bottom.

    Raises:
        ToolError: ``no_match`` or ``not_unique``.
    """
    lines, done = file.lines, 0
    ended = file.text.endswith(("\n", "\r")) or not file.text
    ends = _ENDS.findall(file.text) + ([] if ended else [file.newline])
    for hunk in patch.hunks:
        for anchor in hunk.anchors:
            found = next((start for start in range(done, len(lines)) if lines[start].strip() == anchor.strip()), None)
            if found is None:
                raise ToolError(
                    "{text}",
                    code="no_match",
                    text=f"@@ {anchor} does not occur in {patch.path}. {nearest(file, anchor)}",
                )
            done = found + 1
        start = _place(lines, hunk, done, file, patch.path)
        rest = start + len(hunk.old)
        passage = "".join(map(str.__add__, lines[start:rest], ends[start:rest]))
        added = fitted(file, passage, "".join(f"{line}\n" for line in hunk.new))
        ends = [*ends[:start], *_ENDS.findall(added), *ends[rest:]]
        new = _ENDS.split(added)[:-1]
        lines = [*lines[:start], *new, *lines[rest:]]
        done = start + len(new)
    if not ended and ends:
        ends[-1] = ""
    return file.with_text("".join(map(str.__add__, lines, ends)))


def _place(lines: list[str], hunk: Hunk, start: int, file: Text, path: str) -> int:
    if not hunk.old:
        return len(lines) if hunk.at_end or not hunk.anchors else start
    size = len(hunk.old)
    places = [place for place in range(start, len(lines) - size + 1) if lines[place : place + size] == hunk.old]
    if hunk.at_end:
        places = [place for place in places if place + size == len(lines)]
    if not places:
        wanted = "\n".join(hunk.old)
        raise ToolError("{text}", code="no_match", text=f"A hunk does not fit {path}. {nearest(file, wanted)}")
    if len(places) > 1 and not hunk.anchors:
        found = ", ".join(str(place + 1) for place in places[:20])
        more = "Add lines of context, or an @@ line that stands before it."
        raise ToolError("{text}", code="not_unique", text=f"A hunk fits {path} at lines {found}. {more}")
    return places[0]


def _update(file: FilePatch, line: str, number: int) -> None:
    if line.startswith(_MOVE):
        if file.hunks:
            raise _bad(number, "Move to stands before the hunks")
        file.moved_to = line.removeprefix(_MOVE).strip()
        return
    if line.startswith("@@"):
        anchor = line.removeprefix("@@").strip()
        if not file.hunks or file.hunks[-1].old or file.hunks[-1].new:
            file.hunks.append(Hunk())
        if anchor:
            file.hunks[-1].anchors.append(anchor)
        return
    if not file.hunks:
        file.hunks.append(Hunk())
    hunk = file.hunks[-1]
    if line.strip() == _LAST:
        hunk.at_end = True
    elif line == "" or line.startswith(" "):
        hunk.old.append(line[1:])
        hunk.new.append(line[1:])
    elif line.startswith("-"):
        hunk.old.append(line[1:])
    elif line.startswith("+"):
        hunk.new.append(line[1:])
    else:
        raise _bad(number, "a line of a hunk begins with a blank, + or -")


def _bad(number: int, why: str) -> ToolError:
    where = f"Line {number} of the patch" if number else "The patch"
    return ToolError("{where} cannot be read: {why}.", code="bad_patch", where=where, why=why)
