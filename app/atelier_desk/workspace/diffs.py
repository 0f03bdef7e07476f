"""Differences between two versions of a file, for people and models."""

from __future__ import annotations

import difflib
import hashlib
import re

from atelier_desk.domain.result_parts import FileAction, FileChange
from atelier_desk.support.visible_and_shortened_text import visible
from atelier_desk.workspace.text_files import decode, pieces

_MOST_LINES = 20_000
"""Maximum lines compared line by line: difflib takes a second for more."""
_CONTEXT = 3
_LONG, _AROUND = 2_000, 200
"""Maximum characters of a line shown in full, and the context around a change in a longer one."""
_BREAKS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BLANKS = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
DIFF = 60_000
"""Maximum characters of a diff stored with a call."""


def digest(data: bytes) -> str:
    """Return the SHA-256 of a content, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def unified(before: str, after: str, path: str) -> tuple[str, int, int]:
    """Return a unified diff with three lines of context, and the numbers of added and removed lines.

    Lines are counted as in ``Text.lines``. Invisible changes are spelled out: ``⟨CR⟩`` and ``⟨CRLF⟩`` for mixed line
    ends, ``⟨U+2028⟩`` and similar, a missing final newline. Very long lines are cut to the surroundings of their
    change.
    """
    old, new = pieces(before), pieces(after)
    same = _common(old, new)
    middle, rest = len(old) - same[0] - same[1], len(new) - same[0] - same[1]
    if max(middle, rest) > _MOST_LINES:
        return (
            f"--- a/{path}\n+++ b/{path}\n… {middle} lines became {rest}: too many to be compared line by line",
            rest,
            middle,
        )
    first, last = max(0, same[0] - _CONTEXT), max(0, same[1] - _CONTEXT)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    ends = {_end(line) for line in (*old, *new)} - {""}
    show = _Shown(ends != {"\n"} and len(ends) > 1)
    lines = [f"--- a/{path}", f"+++ b/{path}"]
    added = removed = 0
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        (_tag, i1, _i2, j1, _j2), (_tag2, _i1, i2, _j1, j2) = group[0], group[-1]
        lines.append(f"@@ -{_range(first + i1, i2 - i1)} +{_range(first + j1, j2 - j1)} @@")
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [part for line in old[a:b] for part in show.same(line)]
                continue
            removed, added = removed + b - a, added + d - c
            lines += show.changed(old[a:b], new[c:d])
    if len(lines) == 2:
        return "", 0, 0
    text = "\n".join(lines)
    if len(text) > DIFF:
        text = text[:DIFF].rpartition("\n")[0] + "\n… the rest of the diff is left out"
    return text, added, removed


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return the numbers of equal lines at the beginning and at the end."""
    most = min(len(old), len(new))
    start = next((index for index in range(most) if old[index] != new[index]), most)
    end = next((index for index in range(most - start) if old[-1 - index] != new[-1 - index]), most - start)
    return start, end


def _range(start: int, length: int) -> str:
    """Return the range of a hunk as in unified diffs: counted from 1; for an empty range, the line before."""
    return str(start + 1) if length == 1 else f"{start + 1 if length else start},{length}"


def _end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


class _Shown:
    """Formats lines of a diff. ``ends``: also show the line end of each."""

    def __init__(self, ends: bool) -> None:
        self._ends = ends

    def same(self, line: str) -> list[str]:
        return self._line(" ", line, _broken(_cut(line.rstrip("\r\n"), 0, 0)))

    def changed(self, old: list[str], new: list[str]) -> list[str]:
        """Return removed lines, then added ones, each cut around its difference from its counterpart."""
        hidden = _written if _hidden("".join(old)) != _hidden("".join(new)) else _broken
        pairs = list(zip(old, new, strict=False))
        parts = [_difference(mine.rstrip("\r\n"), theirs.rstrip("\r\n")) for mine, theirs in pairs]
        lines: list[str] = []
        for sign, side, which in (("-", old, 0), ("+", new, 1)):
            for index, line in enumerate(side):
                start, end = parts[index][which] if index < len(parts) else (0, 0)
                lines += self._line(sign, line, hidden(_cut(line.rstrip("\r\n"), start, end)))
        return lines

    def _line(self, sign: str, line: str, text: str) -> list[str]:
        end = _end(line)
        mark = {"\r\n": "⟨CRLF⟩", "\r": "⟨CR⟩"}.get(end, "") if self._ends else ""
        return [f"{sign}{text}{mark}", *([] if end else ["\\ No newline at end of file"])]


def _hidden(text: str) -> list[str]:
    return [each for each in text if each not in "\r\n" and _written(each) != each]


def _written(text: str) -> str:
    """Return the text with invisible and space-like characters spelled out."""
    return _BLANKS.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", visible(text))


def _broken(text: str) -> str:
    """Return the text with characters spelled out that a viewer would take for line ends."""
    return _BREAKS.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _difference(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the differing range of two lines, in each of them."""
    most = min(len(old), len(new))
    start = next((index for index in range(most) if old[index] != new[index]), most)
    end = next((index for index in range(most - start) if old[-1 - index] != new[-1 - index]), most - start)
    return (start, len(old) - end), (start, len(new) - end)


def _cut(line: str, start: int, end: int) -> str:
    """Cut a very long line to the surroundings of a range."""
    if len(line) <= _LONG:
        return line
    first, last = max(0, start - _AROUND), min(len(line), end + _AROUND)
    return f"⟨{first} characters⟩{line[first:last]}⟨{len(line) - last} characters⟩"


def file_change(path: str, before: bytes | None, after: bytes | None, *, moved_to: str = "") -> FileChange:
    """Return the change as a part of a result; None stands for no file."""
    action: FileAction = (
        "moved" if moved_to else "created" if before is None else "deleted" if after is None else "changed"
    )
    old, new = decode(before or b""), decode(after or b"")
    diff, added, removed = "", 0, 0
    if old is not None and new is not None and before != after:
        diff, added, removed = unified(old.text, new.text, moved_to or path)
    return FileChange(
        action=action,
        path=path,
        moved_to=moved_to,
        diff=diff,
        added=added,
        removed=removed,
        before=digest(before) if before is not None else "",
        after=digest(after) if after is not None else "",
    )
