"""The changes in a unified diff, by line and by word. No Qt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

LANGUAGES = frozenset({"diff", "patch", "udiff"})
LONGEST = 500
"""Maximum characters of a line whose words are compared; a longer one is only coloured."""
MIN_SIMILARITY = 0.4
"""Lines less similar than this count as different: highlighting nearly every word is useless."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")

Kind = Literal["", "added", "removed", "head", "file"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line's style; ``words`` are the changed ranges as (start, end), counted with the sign in front."""

    kind: Kind
    words: tuple[tuple[int, int], ...] = ()


def diff_lines(text: str) -> Iterator[DiffLine]:
    """A style for each line of a diff, in order; removed lines are compared with the added ones directly after them."""
    removed: list[str] = []
    added: list[str] = []
    for line in text.split("\n"):
        kind = _kind(line)
        if kind == "removed" and not added:
            removed.append(line)
        elif kind == "added":
            added.append(line)
        else:
            yield from _block(removed, added)
            removed, added = ([line] if kind == "removed" else []), []
            if kind != "removed":
                yield DiffLine(kind)
    yield from _block(removed, added)


def _kind(line: str) -> Kind:
    if line.startswith(("+++ ", "--- ", "diff ", "index ", "Index: ")):
        return "file"
    if line.startswith("@@"):
        return "head"
    return {"+": "added", "-": "removed"}.get(line[:1], "")  # type: ignore[return-value]


def _block(removed: list[str], added: list[str]) -> Iterator[DiffLine]:
    pairs = [changed_text(before, after) for before, after in zip(removed, added, strict=False)]
    for number in range(len(removed)):
        yield DiffLine("removed", pairs[number][0] if number < len(pairs) else ())
    for number in range(len(added)):
        yield DiffLine("added", pairs[number][1] if number < len(pairs) else ())


def changed_text(before: str, after: str) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """The ranges in which two lines differ, each line with its sign; empty if they are too different."""
    if max(len(before), len(after)) > LONGEST:
        return (), ()
    old, new = _WORDS.findall(before[1:]), _WORDS.findall(after[1:])
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < MIN_SIMILARITY:
        return (), ()
    changes = [each for each in matcher.get_opcodes() if each[0] != "equal"]
    return _spans(old, [(i1, i2) for _tag, i1, i2, _j1, _j2 in changes]), _spans(
        new, [(j1, j2) for _tag, _i1, _i2, j1, j2 in changes]
    )


def _spans(words: list[str], parts: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    starts = [1]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[first], starts[last]) for first, last in parts if last > first)
