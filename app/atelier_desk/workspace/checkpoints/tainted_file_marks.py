# ruff: noqa: PTH112, PTH117, PTH118, PTH119, PTH206
"""Marks of files written by runs that had read outside content: reading such a file counts as reading that content.

A mark is a path, a content and its sources. It applies while the file has that content: a person's edit removes it, and
undoing brings back a marked version. If the written files cannot be determined (the program was killed during a
command, or the folder is too large to scan), the whole folder is marked.

The list is a text file in the data folder, not part of backups: the marked files are on this machine only.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.path_containment import within
from atelier_desk.storage.data_folder.atomic_files import private_folder, write_atomic
from atelier_desk.workspace.checkpoints.recently_written_files import SLACK_NS, touched

ALL_CONTENTS = "*"
"""Replaces the content hash: everything in the folder is marked."""
HASHED = 50 * 1024 * 1024
"""Maximum bytes of a file to hash; larger files are identified by size and time."""
MOST_FILES = 500
"""Maximum marked files per top-level folder after one command; beyond it the folder is marked as a whole."""
MOST_MARKS = 50_000
"""Beyond this number, marks of missing files are dropped."""
BRIEF_S = 1.0
"""Time limit in seconds for scanning a folder after a call that rarely writes files."""
_SPARE_LINES = 1_000


@dataclass(frozen=True, slots=True)
class TaintMark:
    """A marked file, or a folder marked as a whole.

    Attributes:
        path: absolute, links resolved.
        content: as returned by ``_content``, or ``ALL_CONTENTS``.
        sources: what had been read, as named in the journal; empty for a content that a person has reviewed.
    """

    path: str
    content: str
    sources: tuple[str, ...] = ()

    @property
    def folder(self) -> bool:
        return self.content == ALL_CONTENTS


@dataclass(frozen=True, slots=True)
class Command:
    """A running command: its granted folders with their marks, those marked as a whole for it, and its start time."""

    marked: dict[str, tuple[str, ...]]
    counted: frozenset[str]
    since_ns: int


class TaintMarks:
    """The marks of one data folder. All calls block; queries take no longer than reading a marked file.

    Args:
        file: where they are stored; created with the first mark.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._marks: dict[str, dict[str, TaintMark]] = {}
        self._folders: dict[str, TaintMark] = {}
        self._running: Counter[str] = Counter()
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}
        self._lines = 0
        self._load()

    def __bool__(self) -> bool:
        return bool(self._marks or self._folders)

    def of(self, path: str) -> tuple[str, ...]:
        """Return the sources of a file in its present version; empty if unmarked or missing."""
        if not self:
            return ()
        real = os.path.realpath(path)
        key = _key(real)
        with self._lock:
            marks = self._marks.get(key)
            found = marks.get(self._content_of(real)) if marks else None
            if found is not None:
                return found.sources
            return next((self._folders[above].sources for above in _with_parents(key) if above in self._folders), ())

    def below(self, folder: str, names: Collection[str] | None = None) -> tuple[str, ...]:
        """Return the sources of one marked file below a folder, or of the file itself.

        With ``names``, only files so named.
        """
        if not self:
            return ()
        if found := self.of(folder):
            return found
        matches = {name.casefold() for name in names} if names is not None else None
        for mark in self._in((folder,)):
            if matches is None or mark.folder or os.path.basename(mark.path).casefold() in matches:
                return mark.sources
        return ()

    def list(self, folders: Sequence[str] | None = None) -> builtins.list[TaintMark]:
        """Return marked files in some folders (None: everywhere) by path, including folders marked as a whole."""
        return sorted({mark.path: mark for mark in self._in(folders)}.values(), key=lambda mark: mark.path)

    def _in(self, folders: Sequence[str] | None) -> Iterator[TaintMark]:
        keys = tuple(_key(os.path.realpath(folder)) for folder in folders or ())

        def matches(key: str) -> bool:
            return folders is None or any(within(each, key) for each in keys)

        with self._lock:
            whole = [mark for key, mark in self._folders.items() if matches(key)]
            files = [held for key, held in self._marks.items() if matches(key)]
            candidates = [mark for held in files for mark in held.values() if mark.sources]
        yield from whole
        yield from (mark for mark in candidates if self._content_of(mark.path) == mark.content)

    def wrote(self, root: Path | str, path: str, sources: Sequence[str], content: str) -> None:
        """Mark a file before it gets this content (a SHA-256) from a run that had read ``sources``."""
        if sources_outside := outside_of(root, sources):
            self._add(TaintMark(os.path.realpath(os.path.join(root, path)), content, sources_outside))

    def carry(self, source: str, target: str, root: Path | str, sources: Sequence[str] = ()) -> None:
        """Copy the marks of a file or folder to its new place or copy in ``root``.

        With ``sources``, of a run that brings it from another granted folder, each of its files is marked.
        """
        brought = outside_of(root, sources)
        source, target = os.path.realpath(source), os.path.realpath(target)
        if brought or self.below(source):
            found = ((path, self.of(path) or brought) for path in _files(source))
            self._add(
                *(TaintMark(target + path[len(source) :], self._content_of(path), said) for path, said in found if said)
            )

    def begin(self, roots: Sequence[Path], sources: Sequence[str], *, whole: bool = True) -> Command:
        """Prepare for a command of a run that had read ``sources``.

        Marks its granted folders as a whole, so that they stay marked if the program is killed or they are too large to
        scan; not without ``whole``.
        """
        marked = {
            os.path.realpath(root): sources_outside for root in roots if (sources_outside := outside_of(root, sources))
        }
        counted = set()
        with self._lock:
            for root, sources_outside in marked.items() if whole else ():
                key = _key(root)
                if key not in self._folders:
                    self._add(TaintMark(root, ALL_CONTENTS, sources_outside))
                elif key not in self._running:
                    continue  # it was already marked for another reason, and stays so
                self._running[key] += 1
                counted.add(key)
        return Command(marked, frozenset(counted), time.time_ns() - SLACK_NS)

    def end(self, command: Command, written: Iterable[str] = ()) -> None:
        """Mark the files that the ended command wrote, and those in ``written``, instead of whole folders."""
        named = [os.path.realpath(path) for path in written]
        for root, sources_outside in command.marked.items():
            found, all_seen = touched(root, command.since_ns, *(() if command.counted else (BRIEF_S,)))
            paths = dict.fromkeys([*found, *(path for path in named if within(_key(root), _key(path)))])
            self._add(*(TaintMark(path, content, sources_outside) for path, content in self._contents(root, paths)))
            key = _key(root)
            with self._lock:
                if key not in command.counted or key not in self._running:
                    continue
                if not all_seen:
                    del self._running[key]  # it stays marked
                    continue
                self._running[key] -= 1
                if self._running[key] <= 0:
                    del self._running[key]
                    if key in self._folders:
                        self._remove(self._folders[key])

    def _contents(self, root: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the content of each file; a top-level folder with very many is marked as a whole."""
        tops: dict[str, builtins.list[str]] = {}
        for path in paths:
            inside = path[len(root) :].lstrip(os.sep)
            tops.setdefault(inside.split(os.sep)[0] if os.sep in inside else "", []).append(path)
        for top, files in tops.items():
            if top and len(files) > MOST_FILES:
                yield os.path.join(root, top), ALL_CONTENTS
            else:
                yield from ((path, ALL_CONTENTS if os.path.isdir(path) else self._content_of(path)) for path in files)

    def clear(self, paths: Iterable[str]) -> builtins.list[str]:
        """Clear marks after a person reviewed these files, or all files in these folders; return the cleared paths.

        A folder inside one that is marked as a whole keeps its mark.
        """
        gone: builtins.list[str] = []
        with self._lock:
            for path in paths:
                here = self.list((path,))
                for mark in here:
                    self._remove(mark)
                real = os.path.realpath(path)
                if self.of(real) and (content := self._content_of(real)):
                    # Inside a folder marked as a whole, only this file is reviewed.
                    self._add(TaintMark(real, content))
                    here = here or [TaintMark(real, content)]
                gone += [mark.path for mark in here]
        return gone

    def _add(self, *marks: TaintMark) -> None:
        with self._lock:
            new = [mark for mark in marks if mark.content and self._learn(mark)]
            self._append([_line(mark) for mark in new])

    def _learn(self, mark: TaintMark) -> bool:
        key = _key(mark.path)
        if mark.folder:
            before, self._folders[key] = self._folders.get(key), mark
        else:
            held = self._marks.setdefault(key, {})
            before, held[mark.content] = held.get(mark.content), mark
        return before != mark

    def _remove(self, mark: TaintMark) -> None:
        self._discard(mark)
        self._append([json.dumps({"path": mark.path, "content": mark.content, "sources": None})])

    def _discard(self, mark: TaintMark) -> None:
        key = _key(mark.path)
        if mark.folder:
            self._folders.pop(key, None)
        elif (held := self._marks.get(key)) is not None:
            held.pop(mark.content, None)
            if not held:
                del self._marks[key]

    def _append(self, lines: Sequence[str]) -> None:
        if not lines:
            return
        private_folder(self._file.parent)
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
            file.flush()
            os.fsync(handle)
        self._lines += len(lines)

    def _load(self) -> None:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return
        unread: builtins.list[bytes] = []
        for line in data.split(b"\n"):
            try:
                record = json.loads(line)
                mark = TaintMark(str(record["path"]), str(record["content"]), tuple(map(str, record["sources"] or ())))
                self._discard(mark) if record["sources"] is None else self._learn(mark)
                self._lines += 1
            except (ValueError, KeyError, TypeError):
                unread += [line] if line else []
        marks = [*self._folders.values(), *(mark for held in self._marks.values() for mark in held.values())]
        if len(marks) > MOST_MARKS:
            gone = {each for each in marks if not os.path.lexists(each.path)}
            for mark in gone:
                self._discard(mark)
            marks = [each for each in marks if each not in gone]
        if self._lines > 2 * len(marks) + _SPARE_LINES or not data.endswith(b"\n"):
            # Rewrites the file also after a kill in the middle of a line, to which the next one would be appended.
            # Unreadable lines stay: a newer version may read them, and a person can see the file they name.
            write_atomic(
                self._file, b"".join(line + b"\n" for line in (*unread, *(_line(mark).encode() for mark in marks)))
            )
            self._lines = len(marks)

    def _content_of(self, path: str) -> str:
        """Return the content identifier of a file; empty if it is not a plain readable file."""
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        except OSError:
            return ""
        with os.fdopen(handle, "rb") as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                return ""
            now = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
            before = self._known.get(path)
            if before is not None and before[0] == now:
                return before[1]
            if info.st_size > HASHED:
                found = f"{info.st_size} bytes of {info.st_mtime_ns}"
            else:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        self._known[path] = (now, found)
        return found


def outside_of(root: Path | str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the sources that are not files of the granted folder itself: trusting the folder includes those."""
    real = _key(os.path.realpath(root))
    return tuple(
        name
        for name in sources
        if not (os.path.isabs(name) and os.path.lexists(name) and within(real, _key(os.path.realpath(name))))
    )


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, _folders, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


def _line(mark: TaintMark) -> str:
    return json.dumps({"path": mark.path, "content": mark.content, "sources": list(mark.sources)})


def _key(path: str) -> str:
    """Return the key of a path.

    Case is ignored where the file system ignores it; elsewhere contents distinguish files.
    """
    return path.replace(os.sep, "/").casefold()


def _with_parents(key: str) -> Iterator[str]:
    while key:
        yield key
        key = key.rpartition("/")[0]
