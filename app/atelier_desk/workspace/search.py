"""Searching the files of a workspace: a regular expression, line by line, within limits on time and size.

The rules are ripgrep's, which helps where it is on the machine: hidden files, those that ``.gitignore``, ``.ignore`` or ``.rgignore``
name, binary files and what lies behind links are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.globs import compiled
from atelier_desk.workspace.ripgrep import PLAIN, Candidates
from atelier_desk.workspace.root import ConfinedRoot
from atelier_desk.workspace.text import decode
from atelier_desk.workspace.walk import Walk

if TYPE_CHECKING:
    import regex

FILE = 10 * 1024 * 1024
"""Bytes of a file that is searched; larger ones are counted and named."""
_LOOK_S = 0.2
"""Seconds of a first look at a whole file."""
SHOWN = 400
"""Characters of a line that are shown, around what was found."""


@dataclass(slots=True)
class FileHit:
    """A line that fits, with the lines around it: ``(number, text)`` each."""

    path: str
    line: int
    text: str
    before: list[tuple[int, str]] = field(default_factory=list)
    after: list[tuple[int, str]] = field(default_factory=list)


@dataclass(slots=True)
class Results:
    """What a search found. ``cut`` says why it is not everything, empty when it is; ``skipped`` are files too large to search."""

    hits: list[FileHit] = field(default_factory=list)
    files: int = 0
    searched: int = 0
    skipped: list[str] = field(default_factory=list)
    cut: str = ""


def search(
    root: ConfinedRoot,
    pattern: str,
    *,
    start: str = "",
    glob: str = "",
    ignore_case: bool = False,
    context: int = 0,
    most: int = 100,
    everything: bool = False,
    seconds: float = 20.0,
    stopped: Callable[[], object] = lambda: False,
    tells: Callable[[str], bool] = lambda path: True,
) -> Results:
    """The lines that hold the pattern, in the order of a walk; files of which ``tells`` says no are not opened.

    Raises:
        ToolError: ``bad_pattern``; what a walk raises.
    """
    import regex

    try:
        wanted = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise ToolError(
            "The pattern cannot be read: {reason}. To find a text with ( or [ in it, put a backslash before them.",
            code="bad_pattern",
            reason=error,
        ) from error
    fits = compiled(glob, anywhere=True) if glob else None
    first = _FirstLook(pattern, ignore_case)
    results = Results()
    walk = Walk(root, everything=everything, seconds=seconds, stopped=stopped)
    here = root.look(start)
    one = here is not None and here.kind == "file"
    paths: Iterable[tuple[str, int]] = [(start, 0)] if one else ((entry.path, entry.found.size) for entry in walk.files(start))
    maybe = None
    if not one and not everything:
        helper = Candidates(root.folder, start, pattern, ignore_case=ignore_case, most=FILE)
        try:
            if helper.at_work:
                paths = list(paths)  # while it works
                maybe = helper.names(walk.seconds_left, stopped)
        finally:
            helper.end()
    for path, size in paths:
        below = path[len(start) :].lstrip("/") if start and path != start else path.rpartition("/")[2] if path == start else path
        if (fits is not None and not fits.fullmatch(below)) or not tells(path):
            continue
        if maybe is not None and size <= FILE and path not in maybe:
            results.searched += 1
            continue
        try:
            text = decode(root.read(path, FILE))
        except ToolError as error:
            if error.code == "too_large":
                results.skipped.append(path)
            continue
        if text is None:
            continue
        results.searched += 1
        if not first.may_hold(text.text):
            continue
        try:
            found = _in_file(wanted, path, text.lines, context, most - len(results.hits), walk, stopped)
        except TimeoutError:
            results.cut = "the time was over: the pattern takes too long. Write a simpler one"
            return results
        results.hits += found
        results.files += bool(found)
        if len(results.hits) >= most:
            results.cut = f"only the first {most} matches are shown"
            return results
    results.cut = walk.cut
    return results


class _FirstLook:
    """A look at a whole text at once, far quicker than line by line; what it lets through is searched line by line."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        import regex

        flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
        self._wanted = regex.compile(pattern, flags) if PLAIN.fullmatch(pattern) else None

    def may_hold(self, text: str) -> bool:
        """Whether some line may hold the pattern."""
        if self._wanted is None:
            return True
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            return self._wanted.search(text, timeout=_LOOK_S) is not None
        except TimeoutError:
            self._wanted = None  # over many lines it takes longer than over each
            return True


def _in_file(
    wanted: regex.Pattern[str],
    path: str,
    lines: Sequence[str],
    context: int,
    most: int,
    walk: Walk,
    stopped: Callable[[], object],
) -> list[FileHit]:
    hits: list[FileHit] = []
    for place, line in enumerate(lines):
        if place % 256 == 0 and stopped():
            raise TimeoutError
        # The library gives the interpreter free meanwhile, and ends by itself when the time is over.
        match = wanted.search(line, timeout=max(0.001, walk.seconds_left), concurrent=len(line) > SHOWN)
        if match is None:
            continue
        hits.append(
            FileHit(
                path,
                place + 1,
                _around(line, match.start(), match.end()),
                [(number + 1, _around(lines[number], 0, 0)) for number in range(max(0, place - context), place)],
                [(number + 1, _around(lines[number], 0, 0)) for number in range(place + 1, min(len(lines), place + 1 + context))],
            )
        )
        if len(hits) >= most:
            break
    return hits


def _around(line: str, start: int, end: int) -> str:
    if len(line) <= SHOWN:
        return line
    begin = max(0, min(start - 80, len(line) - SHOWN))
    return f"{'…' if begin else ''}{line[begin : begin + SHOWN]}{'…' if begin + SHOWN < len(line) else ''}"
