"""Find the existing files and folders that rules deny, so that they can be hidden from a command.

Landlock cannot exclude a file from an allowed folder, so a command sees an empty file in place of each; for that their
names must be known. The search is limited in entries and time; unsearched folders count as unknown, never as permitted.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from atelier_desk.domain.denied_paths import DeniedPattern
from atelier_desk.domain.path_containment import within
from atelier_desk.workspace.bounded_walk import WalkLimit, is_folder, walk
from atelier_desk.workspace.processes.git_pointer_files import led_to, work_trees
from atelier_desk.workspace.processes.sandbox_contents import FOLDERS

ENTRIES = 400_000
SECONDS = 2.0
"""Time limit in seconds of one search: a workspace of 100 000 files takes 0.5 s."""
FOUND = 2_000
"""Maximum denied files and folders that are hidden individually."""


@dataclass(frozen=True, slots=True)
class DeniedPath:
    """A denied file, or folder with all its content: as spelled, with links resolved, and by which rule."""

    path: str
    real: str
    ban: DeniedPattern


@dataclass(frozen=True, slots=True)
class Denied:
    """The existing denied paths.

    Attributes:
        unseen: a folder that was not searched; empty if everything was.
        pinned: folders above a denied path, which must not be renamed: the rule refers to that place.
        repositories: git folders in the searched area, and those referenced from above.
    """

    found: tuple[DeniedPath, ...] = ()
    unseen: str = ""
    pinned: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()

    @property
    def unreadable(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.real for each in self.found if each.ban.reads))

    @property
    def unwritable(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.real for each in self.found if each.ban.writes))


def real(path: str | os.PathLike[str]) -> str:
    """Return a path with all links resolved and ``/`` separators, as in rules."""
    return slashed(os.path.realpath(path))


def slashed(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def home_folder() -> str:
    """Return the user's home folder as in rules."""
    return slashed(os.path.expanduser("~"))  # noqa: PTH111


def find(bans: Sequence[DeniedPattern], roots: Sequence[str], home: str) -> Denied:
    """Return the denied paths below the granted folders, and in other places that rules name. Blocks."""
    home = real(home)
    search = _Search(tuple(dict.fromkeys(real(root) for root in roots)), home)
    for root in search.roots:
        if not any(root != other and within(other, root) for other in search.roots):
            search.through(root, [(ban, ban.starts((root,), home)[0]) for ban in bans], repositories=True)
    for ban in bans:
        if ban.start != "workspace":
            search.elsewhere(ban, ban.starts((), home)[0])
    search.same_files()
    return search.denied()


@dataclass(slots=True)
class _Search:
    roots: tuple[str, ...]
    home: str
    found: dict[tuple[str, str], DeniedPath] = field(default_factory=dict)
    repositories: dict[str, None] = field(default_factory=dict)
    too_many: str = ""
    limit: WalkLimit = field(default_factory=lambda: WalkLimit(entries=ENTRIES, seconds=SECONDS))
    _numbers: dict[int, tuple[int, str, DeniedPattern]] = field(default_factory=dict)
    """Denied files by inode, including those in denied folders: device, path and rule."""
    _others: list[tuple[int, str]] = field(default_factory=list)
    """Inodes and paths of files that are not denied by name."""

    def denied(self) -> Denied:
        pinned: dict[str, None] = {}
        for each in self.found.values():
            if not each.ban.anchored:
                continue
            for root in self.roots:
                parent = os.path.dirname(each.real)  # noqa: PTH120
                while within(root, parent) and parent != root:
                    pinned[parent] = None
                    parent = os.path.dirname(parent)  # noqa: PTH120
        return Denied(
            tuple(self.found.values()),
            self.limit.unseen or self.too_many,
            tuple(sorted(pinned)),
            tuple(self.repositories),
        )

    def elsewhere(self, ban: DeniedPattern, start: str) -> None:
        """Search a place outside the granted folders, from its last part without a pattern."""
        base = slashed(os.path.join(start, ban.base)) if ban.base else start  # noqa: PTH118
        walked = real(base) == base and any(within(root, base) for root in self.roots)
        if walked or not os.path.lexists(base):
            return
        if ban.base and self._covers(ban, start, base, whole=True) and not self._needed(base):
            self._add(base, ban)
        elif os.path.isdir(base):  # noqa: PTH112
            self.through(base, [(ban, start)])

    def through(self, top: str, bans: Sequence[tuple[DeniedPattern, str]], *, repositories: bool = False) -> None:
        """Search everything below a folder that one of the bans may cover."""
        for folder, _value, entries, enter in walk(top, None, self.limit):
            names = {entry.name for entry in entries}
            for entry in entries:
                deep = is_folder(entry)
                covering = next((ban for ban in self._covering(bans, entry, deep=deep)), None)
                if covering is not None and not self._needed(entry.path):
                    self._add_all(slashed(entry.path), bans, deep=deep or entry.is_symlink())
                elif deep and not (repositories and entry.name == "objects" and {"HEAD", "refs"} <= names):
                    # Names in git's storage are meaningless.
                    enter((slashed(entry.path), None))
                elif not deep:
                    self._others.append((entry.inode(), slashed(entry.path)))
            if repositories:
                self._repository(folder, names)

    def _covering(
        self, bans: Sequence[tuple[DeniedPattern, str]], entry: os.DirEntry[str], *, deep: bool
    ) -> Iterable[DeniedPattern]:
        deep = deep or entry.is_symlink()
        return (ban for ban, start in bans if self._covers(ban, start, slashed(entry.path), whole=deep))

    @staticmethod
    def _covers(ban: DeniedPattern, start: str, path: str, *, whole: bool) -> bool:
        """Whether a ban covers a path, or everything in it if it is a folder."""
        if ban.start != "top" and not within(start, path):
            return False
        below = path.lstrip("/") if ban.start == "top" else path[len(start.rstrip("/")) + 1 :]
        return ban.covers_all(below) if whole else ban.matches(below)

    def _needed(self, path: str) -> bool:
        """Whether commands need a folder: their workspace, or where their own files are."""
        resolved = real(path)
        own = real(tempfile.gettempdir())
        return any(within(resolved, root) for root in self.roots) or within(resolved, own) or (
            os.path.dirname(resolved) == own and os.path.basename(resolved).startswith(FOLDERS)  # noqa: PTH119, PTH120
        )  # fmt: skip

    def _add_all(self, path: str, bans: Sequence[tuple[DeniedPattern, str]], *, deep: bool) -> None:
        for ban, start in bans:
            if self._covers(ban, start, path, whole=deep):
                self._add(path, ban)

    def _add(self, path: str, ban: DeniedPattern) -> None:
        if len(self.found) >= FOUND:
            self.too_many = self.too_many or path
            return
        found = DeniedPath(path, real(path), ban)
        self.found[(path, ban.rule)] = found
        try:
            status = os.stat(path)  # noqa: PTH116
        except OSError:
            return
        if os.path.isdir(path):  # noqa: PTH112
            self._number_all(found, status.st_dev)
        elif status.st_nlink > 1:
            self._numbers[status.st_ino] = (status.st_dev, path, ban)

    def _number_all(self, found: DeniedPath, device: int) -> None:
        """Record the files of a denied folder, which may have hard links outside it."""
        for _folder, _value, entries, enter in walk(found.path, None, self.limit):
            for entry in entries:
                if is_folder(entry):
                    enter((slashed(entry.path), None))
                elif not entry.is_symlink():
                    self._numbers.setdefault(entry.inode(), (device, slashed(entry.path), found.ban))

    def same_files(self) -> None:
        """Add hard links of denied files in the granted folders; they are found by the denied path."""
        folders = dict.fromkeys(each.real for each in self.found.values())
        for number, path in self._others:
            known = self._numbers.get(number)
            if known is None or any(within(folder, path) for folder in folders):
                continue
            device, denied, ban = known
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                if (status.st_dev, status.st_ino) == (device, number):
                    self.found.setdefault((path, ban.rule), DeniedPath(denied, path, ban))

    def _repository(self, folder: str, names: set[str]) -> None:
        if {"HEAD", "objects", "refs"} <= names:
            self.repositories[folder] = None
        if ".git" in names and (led := led_to(f"{folder}/.git")):
            self.repositories[slashed(led)] = None


def above(folder: str) -> str:
    """Return the repository that contains a folder; empty if there is none."""
    found = (led_to(f"{top}/.git") for top in work_trees(os.path.realpath(folder)))
    return slashed(next(filter(None, found), ""))


def work_tree(folder: str | os.PathLike[str]) -> str:
    """Return the top of the work tree that contains a folder; empty if there is none."""
    return slashed(next(work_trees(os.path.realpath(folder)), ""))
