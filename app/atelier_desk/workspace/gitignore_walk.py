"""Walk the folders of a workspace, respecting ``.gitignore`` and similar files and not following links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.confined_root import ConfinedRoot, FoundFile
from atelier_desk.workspace.text_files import decode

if TYPE_CHECKING:
    import pathspec

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
"""Read in this order in each folder; later ones take precedence. As in ripgrep."""
_IGNORE_SIZE = 1024 * 1024
ENTRIES = 200_000
"""Maximum entries of one walk."""
DEPTH = 100


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """A result of a walk: ``path`` is relative to the granted folder."""

    path: str
    found: FoundFile


@dataclass(frozen=True, slots=True)
class _Rules:
    """The ignore files of one folder: their patterns apply below it."""

    folder: str
    spec: pathspec.GitIgnoreSpec

    def match(self, path: str, folder: bool) -> bool | None:
        below = path[len(self.folder) + 1 :] if self.folder else path
        return self.spec.check_file(f"{below}/" if folder else below).include


class Walk:
    """One walk below a folder.

    Args:
        everything: include hidden and ignored files (except ``.git``); ``hidden``: include hidden ones only.
        enters: tells whether to enter a folder of this name.
        seconds: time limit, like ``ENTRIES``; ``cut`` tells which was reached.
        stopped: called repeatedly; True ends the walk.
    """

    def __init__(
        self,
        root: ConfinedRoot,
        *,
        everything: bool = False,
        hidden: bool = False,
        enters: Callable[[str], bool] = lambda name: True,
        seconds: float = 20.0,
        stopped: Callable[[], object] = lambda: False,
    ) -> None:
        self._root = root
        self._everything = everything
        self._hidden = hidden
        self._enters = enters
        self._ends = monotonic() + seconds
        self._stopped = stopped
        self._entries = 0
        self.cut = ""
        self.denied: list[str] = []
        """Folders that the system does not let us read."""

    def files(self, start: str = "", *, folders: bool = False, depth: int = DEPTH) -> Iterator[WalkEntry]:
        """Yield plain files below ``start`` (with ``folders``, also folders and links), a folder's own before deeper
        ones.

        An ignored ``start`` is still walked, because it was named.
        """
        yield from self._below(start, self._rules_above(start), folders, depth)

    @property
    def seconds_left(self) -> float:
        return self._ends - monotonic()

    def _below(self, start: str, rules: Sequence[_Rules], folders: bool, depth: int) -> Iterator[WalkEntry]:
        try:
            names = self._root.names(start)
        except ToolError as error:
            if error.code in ("outside", "denied", "not_found", "not_a_folder", "closed", "changing") and self._entries:
                if error.code == "denied":
                    self.denied.append(start)
                return
            raise
        own = rules if self._everything else (*rules, *self._rules_of(start, {name for name, _found in names}))
        further = []
        for name, found in names:
            self._entries += 1
            if self._entries > ENTRIES:
                self.cut = self.cut or f"only the first {ENTRIES} entries were looked at"
            if self._stopped() or (self._entries % 64 == 0 and self.seconds_left < 0):
                self.cut = self.cut or "the time was over before everything was looked at"
            if self.cut:
                return
            path = f"{start}/{name}" if start else name
            if self._left_out(name, path, found.kind == "folder", own):
                continue
            if found.kind == "file" or folders:
                yield WalkEntry(path, found)
            if found.kind == "folder" and self._enters(name):
                further.append(path)
        if depth <= 1:
            return
        for path in further:
            if self.cut:
                return
            yield from self._below(path, own, folders, depth - 1)

    def _left_out(self, name: str, path: str, folder: bool, rules: Sequence[_Rules]) -> bool:
        if name == ".git":
            return True
        if self._everything:
            return False
        for each in reversed(rules):
            matched = each.match(path, folder)
            if matched is not None:
                return matched
        return name.startswith(".") and not self._hidden

    def _rules_above(self, start: str) -> list[_Rules]:
        """Return the rules of the folders above ``start``, topmost first; none from above a folder that they ignore."""
        if self._everything or not start:
            return []
        parts = start.split("/")
        above: list[_Rules] = []
        for end in range(len(parts)):
            above += self._rules_of("/".join(parts[:end]))
            matches = (each.match("/".join(parts[: end + 1]), True) for each in reversed(above))
            if next((answer for answer in matches if answer is not None), False):
                above = []
        return above

    def _rules_of(self, folder: str, names: set[str] | None = None) -> list[_Rules]:
        found = []
        for name in IGNORE_FILES:
            if names is not None and name not in names:
                continue
            try:
                text = decode(self._root.read(f"{folder}/{name}" if folder else name, _IGNORE_SIZE))
            except ToolError:
                continue
            if text is not None:
                from atelier_desk.workspace.gitignore_rules import (
                    rules_in,  # imports pathspec, which a listing does not need
                )

                found.append(_Rules(folder, rules_in(text.lines)))
        return found
