# ruff: noqa: PTH116, PTH118
"""Guard protected files around a command: existing ones are restored, new ones are held for a person.

Where mounts are available, existing ones are also read-only for the command (``read_only``). Restoring applies
everywhere: a changed file is put back, and the command's version is held like a new file.

Not scanned: folders of installed packages (``DEPENDENCIES``), and ``.git`` except ``info/attributes``: hooks and
settings of repositories are guarded by the launcher. Not covered: files that are read while the command runs, unless
``WorkspaceFiles.sweep`` is called first.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from os.path import realpath
from pathlib import Path
from typing import NamedTuple

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import AtelierError, ToolError
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.domain.protected_names import DEPENDENCIES, all_below, is_protected, may_be, may_stand_for
from atelier_desk.support.visible_and_shortened_text import readable_name
from atelier_desk.workspace.bounded_walk import WalkLimit, walk
from atelier_desk.workspace.checkpoints.adopt_launcher_held_files import adopt_left
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.diffs import digest

log = logging.getLogger(__name__)

SECONDS = 5.0
"""Time limit in seconds of a scan of all granted folders.

Deeper files are then not covered, and ``Settled.partly`` is set.
"""
ONE_BYTES = 1024 * 1024
ALL_BYTES = 32 * 1024 * 1024
"""Maximum total bytes of files that can be restored."""
MOST_OPEN = 200
"""Maximum files kept open while a command runs.

Other people's changes to further files are attributed to the command.
"""
MANY_NEW = 50
"""A new folder with at least this many new files is held as a whole."""
MANY = 1_000
"""Maximum files that are made read-only one by one; beyond it, whole folders are."""


_GENERATED = "/.husky/_/"
"""Regenerated at every package installation, mostly unchanged: restored if different, and not read-only."""


class FileState(NamedTuple):
    """State of a file or link that shows whether it was replaced or written, and its parent folders."""

    mode: int
    device: int
    number: int
    links: int
    size: int
    modified: int
    changed: int
    above: tuple[int, ...] = ()

    @property
    def same(self) -> tuple[int, ...]:
        """Return the state without what another hard link, or the folders above, change."""
        return (self.mode, self.device, self.number, self.size, self.modified, self.changed)


@dataclass(slots=True)
class ProtectedSnapshot:
    """Result of one scan: states by granted folder and relative path. ``partly``: the time limit was reached."""

    found: dict[tuple[Path, str], FileState] = field(default_factory=dict)
    partly: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """Result for a command.

    ``held`` waits for a person, ``restored`` was changed and is restored, ``left`` could not be processed.
    """

    held: tuple[HeldFile, ...] = ()
    restored: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    partly: bool = False


def protected_in(roots: Sequence[Path], link_targets: Iterable[str] = ()) -> ProtectedSnapshot:
    """Return all protected files and links in granted folders. Links are not followed; unreadable folders are skipped.

    ``link_targets``: additional absolute files and folders that protected links led to.
    """
    limit = WalkLimit(seconds=SECONDS)
    result = ProtectedSnapshot()
    for root in roots:
        top = os.fspath(root)
        also = {
            os.path.relpath(path, realpath(top)) for path in link_targets if path.startswith(realpath(top) + os.sep)
        }
        also = {path.replace(os.sep, "/") for path in also}
        first: tuple[str, bool, tuple[int, ...]] = ("", False, ())
        for _folder, (below, inside, above), entries, enter in walk(top, first, limit):
            for entry in entries:
                path = f"{below}{entry.name}"
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name == ".git":
                            _add(result, root, f"{path}/info/attributes", (*above, entry.inode()))
                        elif entry.name not in DEPENDENCIES or inside:
                            whole = inside or path in also or (may_be(entry.name) and all_below(path))
                            enter((entry.path, (f"{path}/", whole, (*above, entry.inode()))))
                    elif entry.name != ".git" and (
                        inside or path in also or (may_stand_for(entry.name) and is_protected(path))
                    ):
                        _add(result, root, path, above)
    result.partly = bool(limit.unseen)
    return result


def _add(result: ProtectedSnapshot, root: Path, path: str, above: tuple[int, ...]) -> None:
    info = os.stat(os.path.join(root, path), follow_symlinks=False)
    if not stat.S_ISDIR(info.st_mode):
        seen = (info.st_mode, info.st_dev, info.st_ino, info.st_nlink, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        result.found[root, path] = FileState(*seen, above)


def _paths(found: ProtectedSnapshot) -> tuple[str, ...]:
    """Return the existing paths, absolute."""
    return tuple(os.path.join(root, path) for root, path in found.found)


class ProtectedFiles:
    """Snapshot of the protected files in some granted folders before a command. All calls block.

    Args:
        may_change: returns, for the existing protected files (absolute), a predicate that tells whether a person
            allowed this command to change a path; called before and after the command.
        mounted: the command cannot write ``read_only`` paths: differences are somebody else's.

    Attributes:
        guarded: display names of the files it must not change.
        read_only: paths that must be read-only for it: everything except what it may change, and targets of links.
    """

    def __init__(
        self,
        files: WorkspaceFiles | None,
        roots: Sequence[Path],
        *,
        may_change: Callable[[Sequence[str]], Callable[[str], bool]] = lambda there: lambda path: False,
        mounted: bool = False,
    ) -> None:
        self._files, self._roots, self._may_change = files, tuple(roots), may_change
        self._author, self._by = Author(""), ""
        self._settled = Settled()
        self._accepted: set[tuple[Path, str]] = set()
        self._started = files.now() if files is not None else None
        others = [each for each in files.running if isinstance(each, ProtectedFiles)] if files is not None else []
        first = protected_in(self._roots)
        self._targets = tuple(_link_targets(self._roots, first))
        self._before = protected_in(self._roots, self._targets) if self._targets else first
        self._texts: dict[tuple[Path, str], bytes] = {}
        for other in others:
            self._leave_out(other)
        left = ALL_BYTES if files is not None else 0
        for key, seen in self._before.found.items():
            text = self._read(*key, seen) if seen.size <= min(ONE_BYTES, left) else None
            if text is not None:
                self._texts[key] = text
                left -= len(text)
        plain = (key for key, seen in self._before.found.items() if stat.S_ISREG(seen.mode))
        self._open = _opened(key for key in plain if mounted and _GENERATED not in f"/{key[1]}")
        self._unwritable = set(self._open)
        """Files that are read-only for the command; links cannot be."""
        self._id = new_id()
        self._guard(may_change(_paths(self._before)))

    def _guard(self, may_change: Callable[[str], bool]) -> None:
        self.guarded = tuple(self._shown(*key) for key in self._before.found if not may_change(os.path.join(*key)))
        there = [path for path in _paths(self._before) if _GENERATED not in path]
        if len(there) > MANY:
            folders = ((path, os.path.dirname(path)) for path in there)  # noqa: PTH120
            there = list(dict.fromkeys(folder if all_below(folder) else path for path, folder in folders))
        self.read_only = tuple(Path(path) for path in (*there, *self._targets) if not may_change(path))

    def _leave_out(self, other: ProtectedFiles) -> None:
        """Exclude changes of a program that is already running: this one must not revert them."""
        for key in [key for key in self._before.found if key[0] in other._roots and not other._before.partly]:
            if key not in other._before.found:
                del self._before.found[key]
            elif key in other._texts:
                self._before.found[key] = other._before.found[key]
                self._texts[key] = other._texts[key]

    def begin(self, author: Author, *, by: str = "") -> None:
        """Register the program as running, so that a kill of Atelier loses nothing. Must be followed by ``close``.

        ``by``: its name, if it belongs to no agent.
        """
        self._author, self._by = author, by
        if self._files is not None:
            names = [(str(root), path) for root, path in self._before.found]
            about = {"workflow_id": author.workflow_id, "roots": [str(root) for root in self._roots], "names": names}
            self._files.held.begin(self._id, about)
            self._files.running.append(self)

    def __del__(self) -> None:
        # For a command that never started, without close().
        for handle in self.__dict__.pop("_open", {}).values():
            os.close(handle)

    def close(self) -> None:
        """Unregister the program after its changes are processed."""
        for key in list(self._open):
            os.close(self._open.pop(key))
        if self._files is not None:
            self._files.held.end(self._id)
            self._files.running.remove(self)

    def sweep(self) -> list[str]:
        """Process its changes so far; return the workflows of held files."""
        before = len(self._settled.held)
        return [held.workflow_id for held in self.settle().held[before:]]

    def settle(self) -> Settled:
        """Restore changed files and hold new ones; return everything since the beginning. Can be called repeatedly."""
        files = self._files
        if files is None:
            return self._settled
        held: list[HeldFile] = []
        restored: list[str] = []
        left: list[str] = []
        with files.lock:
            now = protected_in(self._roots, self._targets)
            may_change = self._may_change(_paths(now))
            for key in self._filled(now, may_change):
                try:
                    moved = self._moved_out(files, key, "")
                except (AtelierError, OSError):
                    log.warning(
                        "a folder of protected files is held file by file: %s", os.path.join(*key), exc_info=True
                    )
                    continue
                held += [moved] if moved is not None else []
                now.found = {
                    each: seen
                    for each, seen in now.found.items()
                    if each[0] != key[0] or not each[1].startswith(f"{key[1]}/")
                }
            partly = self._before.partly or now.partly
            for key in sorted({*self._before.found, *now.found}):
                before, after = self._before.found.get(key), now.found.get(key)
                if (before and after and before.same == after.same) or not key[0].is_dir():
                    continue
                path = os.path.join(*key)
                if (
                    key in self._texts
                    and before
                    and after
                    and before.mode == after.mode
                    and self._read(*key, after) == self._texts[key]
                ):
                    # Rewritten with the same content, or only times or links changed: nothing to report.
                    self._unwritable.discard(key)
                    self._before.found[key] = after
                    continue
                if (partly and self._unsure(before, after)) or may_change(path) or self._by_others(key, before, after):
                    self._accept(key, after)
                    continue
                try:
                    outcome = self._restored(files, key, before)
                except (AtelierError, OSError):
                    log.warning("a protected file cannot be settled: %s", path, exc_info=True)
                    left.append(self._shown(*key))
                    continue
                held += [outcome] if outcome is not None else []
                restored += [self._shown(*key)] if before is not None else []
            so_far = self._settled
            self._settled = Settled((*so_far.held, *held), (*so_far.restored, *restored), tuple(left), partly)
        return self._settled

    def _filled(self, now: ProtectedSnapshot, may_change: Callable[[str], bool]) -> list[tuple[Path, str]]:
        """Return new folders with many new files and nothing else, to be held as a whole."""
        new: dict[tuple[Path, str], int] = {}
        for root, path in now.found.keys() - self._before.found.keys():
            parts = path.split("/")
            tops = ("/".join(parts[:end]) for end in range(1, len(parts)))
            if top := next((each for each in tops if all_below(each)), ""):
                new[root, top] = new.get((root, top), 0) + 1
        filled = [key for key, count in new.items() if count > MANY_NEW and not may_change(os.path.join(*key))]
        there = [key for key in (*self._before.found, *self._accepted) if filled]
        return [
            key for key in filled if not any(root == key[0] and path.startswith(f"{key[1]}/") for root, path in there)
        ]

    def _restored(self, files: WorkspaceFiles, key: tuple[Path, str], before: FileState | None) -> HeldFile | None:
        """Restore one file; return the held version, if any."""
        root = files.root(key[0])
        self._unwritable.discard(key)
        old = self._texts.get(key)
        if before is not None and old is None:
            raise ToolError("{path} is too large to be put back.", code="too_large", path=key[1])
        held = self._moved_out(files, key, "" if before is None or old is None else _digest(old, before))
        if before is not None and old is not None:
            root.make_folder(key[1].rpartition("/")[0])
            if stat.S_ISLNK(before.mode):
                with root.located(key[1], follow=False) as (folder, name):
                    os.symlink(os.fsdecode(old), name, dir_fd=folder)
            else:
                root.write(key[1], old, new=True, mode=stat.S_IMODE(before.mode))
            again = file_state(key[0], key[1])
            if again is not None:
                self._before.found[key] = again._replace(above=before.above)
        return held

    def _moved_out(self, files: WorkspaceFiles, key: tuple[Path, str], replaces: str) -> HeldFile | None:
        """Move the present version out of the workspace; None if there is none. Special files are deleted."""
        root = files.root(key[0])
        try:
            with root.located(key[1], follow=False) as (folder, name):
                try:
                    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                except FileNotFoundError:
                    return None
                if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
                    os.unlink(name, dir_fd=folder)
                    return None
                record = files.held_record(self._author, key[0], key[1], by=self._by).model_copy(
                    update={"replaces": replaces}
                )
                return files.held.move_out(record, folder, name)
        except ToolError as error:
            if error.code in ("not_found", "not_a_folder"):
                return None
            raise

    def _unsure(self, before: FileState | None, after: FileState | None) -> bool:
        """Whether an unscanned file may be old: judged by its times only, it is never restored."""
        if before is not None or after is None or self._started is None:
            return True
        return after.changed < int(self._started.timestamp() * 1e9)

    def _by_others(self, key: tuple[Path, str], before: FileState | None, after: FileState | None) -> bool:
        """Whether the command cannot have changed it: a file tool wrote it, or it was read-only for the command.

        A replaced file is no longer read-only.
        """
        if before is not None and after is not None and key in self._unwritable and before.links == after.links == 1:
            same = (before.device, before.number, before.above) == (after.device, after.number, after.above)
            if same:
                return True
        return (
            after is not None
            and self._files is not None
            and self._started is not None
            and self._written(key, self._started)
        )

    def _written(self, key: tuple[Path, str], since: datetime) -> bool:
        """Whether a file tool, which asks, or a person's "Keep" wrote the present version."""
        assert self._files is not None
        now = self._files.digest_at(self._files.root(key[0]), key[1], follow=False)
        return any(
            change.at >= since
            and not change.command
            and now == change.after
            and (change.moved_to or change.path) == key[1]
            for change in self._files.store.references().changes.values()
        )

    def _accept(self, key: tuple[Path, str], after: FileState | None) -> None:
        """Treat the present version as existing before."""
        self._unwritable.discard(key)
        self._accepted.add(key)
        if after is None:
            self._before.found.pop(key, None)
            self._texts.pop(key, None)
            return
        self._before.found[key] = after
        text = self._read(*key, after) if after.size <= ONE_BYTES else None
        if text is not None:
            self._texts[key] = text

    def _read(self, root: Path, path: str, seen: FileState) -> bytes | None:
        if self._files is None:
            return None
        confined = self._files.root(root)
        try:
            if stat.S_ISLNK(seen.mode):
                with confined.located(path, follow=False) as (folder, name):
                    return os.fsencode(os.readlink(name, dir_fd=folder))
            return confined.read(path, ONE_BYTES) if stat.S_ISREG(seen.mode) else None
        except (ToolError, OSError):
            return None

    def _shown(self, root: Path, path: str) -> str:
        path = readable_name(path)
        return path if root == self._roots[0] else f"{root.as_posix().rstrip('/')}/{path}"


def settle_all(files: WorkspaceFiles) -> set[str]:
    """Settle what programs that still run did, and those that a kill of Atelier ended, before anything obeys protected
    files.

    The workflows of what is held. Blocks.
    """
    reported: set[str] = set()
    with files.lock:
        left = [] if files.recovered else list(files.held.begun())
        if not files.recovered and not files.running:
            reported |= {record.workflow_id for record in adopt_left(files)}
        files.recovered = True
        for id, about in left:
            known = {(str(root), path) for root, path in about["names"]}
            roots = [Path(root) for root in about["roots"] if Path(root).is_dir()]
            for root, path in protected_in(roots).found:
                if (str(root), path) in known:
                    continue
                try:
                    with files.root(root).located(path, follow=False) as (folder, name):
                        record = files.held_record(Author(about["workflow_id"]), root, path)
                        files.held.move_out(record, folder, name)
                        reported.add(record.workflow_id)
                except (AtelierError, OSError):
                    log.warning(
                        "a protected file of a program that was killed cannot be held: %s in %s",
                        path,
                        root,
                        exc_info=True,
                    )
            files.held.end(id)
    return reported | files.sweep()


def _opened(keys: Iterable[tuple[Path, str]]) -> dict[tuple[Path, str], int]:
    """Descriptors of files: while one is open, no file that takes its place gets its number, which tells the two
    apart."""
    found: dict[tuple[Path, str], int] = {}
    for root, path in keys:
        if len(found) == MOST_OPEN:
            break
        with contextlib.suppress(OSError):
            found[root, path] = os.open(
                os.path.join(root, path), getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
            )
    return found


def file_state(root: Path, path: str) -> FileState | None:
    """One file, as ``protected_in`` would find it."""
    result = ProtectedSnapshot()
    with contextlib.suppress(OSError):
        _add(result, root, path, ())
    return result.found.get((root, path))


def _digest(text: bytes, seen: FileState) -> str:
    return digest(b"link " + text) if stat.S_ISLNK(seen.mode) else digest(text)


def _link_targets(roots: Sequence[Path], first: ProtectedSnapshot) -> list[str]:
    """Where links with protected names lead to inside of the granted folders."""
    tops = [realpath(root) + os.sep for root in roots]
    found: dict[str, None] = {}
    for (root, path), seen in first.found.items():
        if stat.S_ISLNK(seen.mode):
            real = realpath(os.path.join(root, path))
            if os.path.lexists(real) and any(real.startswith(top) for top in tops):
                found[real] = None
    return list(found)
