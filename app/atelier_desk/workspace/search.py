"""Search files of a workspace with a regular expression, line by line, limited in time and size.

The rules are ripgrep's, which is used if installed: hidden files, those ignored by ``.gitignore``, ``.ignore`` or
``.rgignore``, binary files and targets of links are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.gitignore_walk import Walk
from atelier_desk.workspace.globs import compiled
from atelier_desk.workspace.ripgrep import PLAIN, Candidates
from atelier_desk.workspace.text_files import decode

if TYPE_CHECKING:
    import regex

FILE = 10 * 1024 * 1024
"""Maximum bytes of a searched file; larger ones are counted and named."""
_POLL_S = 0.2
"""Time limit in seconds for the first match attempt on a whole file."""
SHOWN = 400
"""Maximum characters shown of a line, around the match."""


@dataclass(slots=True)
class FileHit:
    """A matching line with its context: ``(number, text)`` each."""

    path: str
    line: int
    text: str
    before: list[tuple[int, str]] = field(default_factory=list)
    after: list[tuple[int, str]] = field(default_factory=list)


@dataclass(slots=True)
class Results:
    """Result of a search.

    ``cut`` says why it is incomplete, empty if it is complete; ``skipped`` are files too large to search.
    """

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
    """Return the matching lines in the order of a walk; files for which ``tells`` returns False are not opened.

    Raises:
        ToolError: ``bad_pattern``; as a walk.
    """
    import regex

    flags = regex.IGNORECASE if ignore_case else 0
    try:
        wanted = regex.compile(pattern, flags)
    except regex.error as error:
        raise ToolError(
            "The pattern cannot be read: {reason}. To find a text with ( or [ in it, put a backslash before them.",
            code="bad_pattern",
            reason=error,
        ) from error
    fits = compiled(glob, anywhere=True) if glob else None
    first = _FirstLook(regex.compile(pattern, flags | regex.MULTILINE) if PLAIN.fullmatch(pattern) else None)
    results = Results()
    walk = Walk(root, everything=everything, seconds=seconds, stopped=stopped)
    here = root.inspect(start)
    one = here is not None and here.kind == "file"
    paths: Iterable[tuple[str, int]] = (
        [(start, 0)] if one else ((entry.path, entry.found.size) for entry in walk.files(start))
    )
    maybe = None
    if not one and not everything:
        helper = Candidates(root.folder, start, pattern, ignore_case=ignore_case, most=FILE)
        try:
            if helper.at_work:
                paths = list(paths)  # while rg runs
                maybe = helper.names(walk.seconds_left, stopped)
        finally:
            helper.end()
    for path, size in paths:
        below = (
            path[len(start) :].lstrip("/")
            if start and path != start
            else path.rpartition("/")[2]
            if path == start
            else path
        )
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
    """Matches against a whole text at once, much faster than by line; possible matches are then searched by line."""

    def __init__(self, wanted: regex.Pattern[str] | None) -> None:
        self._wanted = wanted

    def may_hold(self, text: str) -> bool:
        """Whether some line may match."""
        if self._wanted is None:
            return True
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            return self._wanted.search(text, timeout=_POLL_S) is not None
        except TimeoutError:
            self._wanted = None  # slower on the whole text than line by line
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
    for index, line in enumerate(lines):
        if index % 256 == 0 and stopped():
            raise TimeoutError
        # The library releases the interpreter meanwhile, and stops by itself at the timeout.
        match = wanted.search(line, timeout=max(0.001, walk.seconds_left), concurrent=len(line) > SHOWN)
        if match is None:
            continue
        hits.append(
            FileHit(
                path,
                index + 1,
                _around(line, match.start()),
                [(number + 1, _around(lines[number], 0)) for number in range(max(0, index - context), index)],
                [
                    (number + 1, _around(lines[number], 0))
                    for number in range(index + 1, min(len(lines), index + 1 + context))
                ],
            )
        )
        if len(hits) >= most:
            break
    return hits


def _around(line: str, start: int) -> str:
    if len(line) <= SHOWN:
        return line
    begin = max(0, min(start - 80, len(line) - SHOWN))
    return f"{'…' if begin else ''}{line[begin : begin + SHOWN]}{'…' if begin + SHOWN < len(line) else ''}"
