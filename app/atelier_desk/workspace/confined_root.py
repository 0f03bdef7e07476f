"""Confined access to one granted folder: all file access goes through it, and nothing outside can be reached.

All calls block: use a thread. Paths have parts joined by ``/``, like ``WorkspacePath.path``. Links are followed while
they stay in the folder; deleting and moving affect the link itself. A hard link cannot be distinguished from a file:
reading reads the file, writing replaces this name and leaves other names unchanged.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.atomic_rename import exchange, rename_new
from atelier_desk.workspace.file_copying import digest_of, same_owner
from atelier_desk.workspace.openat import LINKS, NO_FOLLOW, open_folder, supported

TEMPORARY = ".atelier-"
"""Prefix of unfinished files."""
_CHUNK = 1024 * 1024
_CLOSED = "{path} belongs to the data of Atelier itself, which is closed to tools."
_ABOVE = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_PATH", os.O_RDONLY)
"""Flags for a parent folder that is only passed through: with O_PATH it need not be readable."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """What exists at a path: ``kind`` is ``file``, ``folder``, ``link`` (broken or not followed) or ``special``.

    Attributes:
        size: bytes; ``modified``: seconds since 1970; ``mode``: the permission bits.
        identity: device and inode, the same for all hard links.
    """

    kind: str
    size: int
    modified: float
    mode: int
    identity: tuple[int, int]


class ConfinedRoot:
    """A granted folder.

    Args:
        folder: absolute.
        closed: folders whose content is inaccessible through it: the program's own data.
        walk: resolve paths part by part even where the system has a call for it.
        real: ``folder`` contains no links, and is refused if a part of it becomes one: write access above it could
            redirect it.
    """

    def __init__(self, folder: Path, closed: Sequence[Path] = (), *, walk: bool = False, real: bool = False) -> None:
        self.folder = folder
        self._closed = [Path(os.path.realpath(each)) for each in closed]
        self._walk = walk
        self._real = real

    @contextlib.contextmanager
    def opened(self, path: str = "") -> Iterator[int]:
        """Yield a descriptor of a folder in it, closed at the end.

        Raises:
            ToolError: in words for the model; ``outside`` when the path leads out of the folder.
        """
        with self._errors(path):
            root = self._root()
            try:
                folder = open_folder(root, path, walk=self._walk)
            finally:
                os.close(root)
        try:
            self._refuse_closed(folder, path)
            yield folder
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def located(self, path: str, *, follow: bool = True) -> Iterator[tuple[int, str]]:
        """Yield a file's folder (a descriptor) and its name there; with ``follow``, after following a link at the end.

        The name need not exist. It is ``.`` for the root, and for a link to one of the folders above it.
        """
        with self._errors(path):
            root = self._root()
            try:
                folder, name = self._locate(root, path, follow)
            finally:
                os.close(root)
        try:
            self._refuse_closed(folder, path)
            with self._errors(path):
                yield folder, name
        finally:
            os.close(folder)

    def inspect(self, path: str, *, follow: bool = True) -> FoundFile | None:
        """Return what exists at a path, or None."""
        try:
            with self.located(path, follow=follow) as (folder, name):
                return found(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except ToolError as error:
            if error.code == "not_found":
                return None
            raise

    @contextlib.contextmanager
    def file(self, path: str) -> Iterator[int]:
        """Yield a descriptor of a plain file, for reading.

        Never blocks: pipes, sockets and devices are refused unopened.
        """
        with self.located(path) as (folder, name):
            before = os.stat(name, dir_fd=folder, follow_symlinks=False)
            _must_be_file(before, path)
            handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW, dir_fd=folder)
            try:
                _must_be_file(os.fstat(handle), path)
                yield handle
            finally:
                os.close(handle)

    def read(self, path: str, most: int) -> bytes:
        """Return the bytes of a plain file.

        Raises:
            ToolError: ``too_large`` for more than ``most`` bytes, ``not_found``, ``not_a_file``, ``outside``,
                ``denied`` …
        """
        with self.file(path) as handle:
            size = os.fstat(handle).st_size
            if size > most:
                raise ToolError(
                    "{path} has {size} bytes; at most {most} can be used.",
                    code="too_large",
                    path=path,
                    size=size,
                    most=most,
                )
            return _all_of(handle, path, most)

    def names(self, path: str = "") -> list[tuple[str, FoundFile]]:
        """Return the entries of a folder by name; those that vanish meanwhile are skipped."""
        result = []
        with self.opened(path) as folder, self._errors(path):
            for name in sorted(os.listdir(folder)):  # noqa: PTH208 (a Path knows no descriptors)
                with contextlib.suppress(FileNotFoundError):
                    result.append((name, found(os.stat(name, dir_fd=folder, follow_symlinks=False))))
        return result

    def write(
        self,
        path: str,
        data: bytes,
        *,
        new: bool = False,
        mode: int | None = None,
        temporary: str = "",
        expected: str = "",
    ) -> None:
        """Atomically write a whole file: a temporary file beside it, synced, renamed into place, then the folder
        synced.

        A crash leaves the old content or the new. Permissions (or ``mode``), owner and extended attributes of the old
        file are kept.

        Args:
            new: the name must be free, even at the last moment.
            temporary: name of the temporary file (see ``temporary_name``), to find it after a crash.
            expected: the SHA-256 of the content that may be replaced. If the system can exchange two files, it is
                checked after the exchange, so that nobody can write in between; otherwise directly before the rename.

        Raises:
            ToolError: as ``read``; ``exists`` with ``new``; ``changed`` with ``expected``; ``no_space``; ``read_only``.
        """
        with self.located(path) as (folder, name):
            before = _stat(folder, name)
            if before is not None:
                if new:
                    raise ToolError("{path} exists already.", code="exists", path=path)
                _must_be_file(before, path)
            else:
                _plain(name)
            temporary_path = temporary or temporary_name()
            handle = os.open(
                temporary_path,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW,
                0o666 if mode is None else mode,
                dir_fd=folder,
            )
            try:
                try:
                    _write_all(handle, data)
                    if before is not None:
                        _same_owner(handle, folder, name, before)
                    if mode is not None:
                        os.fchmod(handle, stat.S_IMODE(mode))
                    elif before is not None:
                        os.fchmod(handle, stat.S_IMODE(before.st_mode))
                    os.fsync(handle)
                finally:
                    os.close(handle)
                if new:
                    rename_new(folder, temporary_path, folder, name)
                elif expected:
                    _replace(folder, temporary_path, name, expected, path)
                else:
                    os.rename(temporary_path, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary_path, dir_fd=folder)
                raise
            os.fsync(folder)

    def make_folder(self, path: str) -> list[str]:
        """Create a folder and missing parents; return the created paths, topmost first."""
        made: list[str] = []
        parts = path.split("/") if path else []
        for end in range(1, len(parts) + 1):
            each = "/".join(parts[:end])
            here = self.inspect(each)
            if here is None:
                _plain(parts[end - 1])
                with self.located(each) as (folder, name):
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                        made.append(each)
                    os.fsync(folder)
            elif here.kind != "folder":
                raise ToolError("{path} is no folder.", code="not_a_folder", path=each)
        return made

    def remove(self, path: str) -> None:
        """Delete a file or a link itself. Folders are deleted by ``move_out`` or ``remove_empty``."""
        with self.located(path, follow=False) as (folder, name):
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)

    def remove_empty(self, path: str) -> None:
        """Delete an empty folder."""
        with self.located(path, follow=False) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def set_mode(self, path: str, mode: int) -> None:
        """Set a folder's permission bits; its owner always keeps access."""
        with self.opened(path) as folder, self._errors(path):
            os.fchmod(folder, stat.S_IMODE(mode) | stat.S_IRWXU)

    def rename(self, path: str, other: ConfinedRoot, target: str, *, overwrite: bool = False) -> None:
        """Move a file, link or folder within this folder or to another granted one on the same disk.

        Raises:
            ToolError: ``exists`` without ``overwrite``; ``into_itself``; ``other_disk``.
        """
        self.refuse_root(path)
        with self.located(path, follow=False) as (folder, name), other.located(target, follow=False) as (into, new):
            moved = os.stat(name, dir_fd=folder, follow_symlinks=False)
            there = _stat(into, new)
            if (
                there is not None
                and (there.st_dev, there.st_ino) == (moved.st_dev, moved.st_ino)
                and stat.S_ISDIR(moved.st_mode)
            ):
                raise ToolError("{path} cannot be moved onto itself.", code="into_itself", path=path)
            if there is not None and (not overwrite or stat.S_ISDIR(there.st_mode)):
                raise ToolError("{path} exists already.", code="exists", path=target)
            _plain(new)
            try:
                if there is None:
                    rename_new(folder, name, into, new)
                else:
                    os.rename(name, new, src_dir_fd=folder, dst_dir_fd=into)
            except OSError as error:
                if error.errno == errno.EINVAL:
                    raise ToolError("{path} cannot be moved into itself.", code="into_itself", path=path) from error
                if error.errno == errno.EXDEV:
                    raise ToolError(
                        "{path} is on another disk: copy it, then delete it.", code="other_disk", path=path
                    ) from error
                raise
            os.fsync(into)
            os.fsync(folder)

    def refuse_root(self, path: str) -> None:
        """Refuse to move or delete the granted folder itself, or one that contains the program's own data."""
        if not path:
            raise ToolError("The workspace folder itself cannot be moved or deleted.", code="whole")
        real = Path(os.path.realpath(self.folder)) / path
        if any(each == real or each.is_relative_to(real) for each in self._closed):
            raise ToolError("{path} holds the data of Atelier itself.", code="closed", path=path)

    def _root(self) -> int:
        if not supported():
            raise ToolError(
                "Files of a workspace cannot be used on this system yet. Go on without them.", code="unsupported"
            )
        try:
            return (
                _without_links(self.folder)
                if self._real
                else os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            )
        except OSError as error:
            raise ToolError(
                "The granted folder {folder} cannot be opened: {reason}. Tell the user.",
                code="workspace_gone",
                folder=self.folder,
                reason=error.strerror or str(error),
            ) from error

    def _locate(self, root: int, path: str, follow: bool) -> tuple[int, str]:
        for _link in range(LINKS):
            head, _slash, name = path.rstrip("/").rpartition("/")
            if name in ("", ".", ".."):
                return open_folder(root, path, walk=self._walk), "."
            folder = open_folder(root, head, walk=self._walk)
            try:
                there = _stat(folder, name)
                if not follow or there is None or not stat.S_ISLNK(there.st_mode):
                    return os.dup(folder), name
                target = os.readlink(name, dir_fd=folder)
            finally:
                os.close(folder)
            if target.startswith("/"):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
            path = f"{head}/{target}" if head else target
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)

    def _refuse_closed(self, folder: int, path: str) -> None:
        """Refuse a folder that is, or lies in, one of ``closed``.

        Checked by walking up from it, independently of spelling.
        """
        closed = set()
        for each in self._closed:
            with contextlib.suppress(OSError):
                info = each.stat()
                closed.add((info.st_dev, info.st_ino))
        if not closed:
            return
        here = os.dup(folder)
        try:
            last: tuple[int, int] | None = None
            while True:
                info = os.fstat(here)
                identity = (info.st_dev, info.st_ino)
                if identity in closed:
                    raise ToolError(_CLOSED, code="closed", path=path)
                if identity == last:
                    return
                last = identity
                try:
                    above = os.open("..", _ABOVE, dir_fd=here)
                except PermissionError:
                    # Walking up is not possible here: use the path as the system resolves it.
                    real = Path(os.path.realpath(self.folder / path))
                    if any(real == each or real.is_relative_to(each) for each in self._closed):
                        raise ToolError(_CLOSED, code="closed", path=path) from None
                    return
                os.close(here)
                here = above
        finally:
            os.close(here)

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise problem(error, path or ".") from error


def temporary_name() -> str:
    """Return a unique name for an unfinished file."""
    return f"{TEMPORARY}{secrets.token_hex(8)}.tmp"


def found(info: os.stat_result) -> FoundFile:
    mode = info.st_mode
    kind = (
        "file"
        if stat.S_ISREG(mode)
        else "folder"
        if stat.S_ISDIR(mode)
        else "link"
        if stat.S_ISLNK(mode)
        else "special"
    )
    return FoundFile(kind, info.st_size, info.st_mtime, stat.S_IMODE(mode), (info.st_dev, info.st_ino))


_WORDS = {
    errno.ENOENT: ("not_found", "{path} does not exist."),
    errno.EXDEV: ("outside", "{path} leads out of the workspace through a link: it cannot be used."),
    errno.ELOOP: ("outside", "{path} goes through links in a circle, or through one that may not be followed."),
    errno.EAGAIN: ("changing", "{path} is being moved at this moment. Try again."),
    errno.EACCES: ("denied", "{path}: the system does not allow it."),
    errno.EPERM: ("denied", "{path}: the system does not allow it."),
    errno.EROFS: ("read_only", "{path} is on a disk that cannot be written to."),
    errno.ENOSPC: ("no_space", "The disk is full: {path} was not written, and is as it was. Tell the user."),
    errno.EDQUOT: ("no_space", "The disk quota is used up: {path} was not written, and is as it was. Tell the user."),
    errno.ENAMETOOLONG: ("bad_path", "{path} is too long a path for this system."),
    errno.ENOTDIR: ("not_a_folder", "{path}: a part of it, or it itself, is no folder."),
    errno.EISDIR: ("not_a_file", "{path} is a folder, not a file."),
    errno.ENOTEMPTY: ("not_empty", "{path} is not empty."),
    errno.EEXIST: ("exists", "{path} exists already."),
    errno.EINVAL: ("bad_path", "{path} is no path this system can use."),
}


def problem(error: OSError, path: str) -> ToolError:
    """Return the error in words for the model."""
    code, words = _WORDS.get(error.errno or 0, ("io", "{path}: {reason}."))
    return ToolError(words, code=code, path=path[:200], reason=error.strerror or str(error))


def _without_links(folder: Path) -> int:
    """Return a descriptor of a folder, opened part by part: the system refuses parts that are links."""
    parts = folder.parts[1:]
    held = os.open(folder.anchor, _ABOVE if parts else os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for number, part in enumerate(parts, 1):
        above = held
        try:
            held = os.open(
                part, (_ABOVE if number < len(parts) else os.O_RDONLY | os.O_DIRECTORY) | NO_FOLLOW, dir_fd=above
            )
        finally:
            os.close(above)
    return held


def _stat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _must_be_file(info: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise ToolError("{path} is a folder, not a file.", code="not_a_file", path=path)
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(
            "{path} is no plain file but a device, pipe, socket or link: it is left alone.",
            code="not_a_file",
            path=path,
        )


def _plain(name: str) -> None:
    """Refuse a new name that is unreadable to people or reserved for temporary files."""
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name) or name.startswith(TEMPORARY):
        raise ToolError(
            "A new name may hold no line ends and other control characters, nor begin with {start}.", start=TEMPORARY
        )


def _all_of(handle: int, path: str, most: int) -> bytes:
    parts, total = [], 0
    while part := os.read(handle, _CHUNK):
        total += len(part)
        if total > most:
            raise ToolError(
                "{path} grows while it is read; at most {most} bytes can be used.",
                code="too_large",
                path=path,
                most=most,
            )
        parts.append(part)
    return b"".join(parts)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _same_owner(handle: int, folder: int, name: str, before: os.stat_result) -> None:
    """Copy owner and extended attributes from the replaced file, as far as the system allows."""
    with contextlib.suppress(OSError):
        old = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW, dir_fd=folder)
        try:
            same_owner(old, handle, before)
        finally:
            os.close(old)


def _replace(folder: int, beside: str, name: str, expected: str, path: str) -> None:
    """Replace a file that still has the content ``expected``; otherwise change nothing."""
    own = digest_of(folder, beside)
    try:
        swapped = exchange(folder, beside, name)
    except FileNotFoundError as error:
        raise _changed(path) from error
    if not swapped:
        if digest_of(folder, name) != expected:
            raise _changed(path)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    if digest_of(folder, beside) == expected:
        os.unlink(beside, dir_fd=folder)
        return
    # Somebody wrote at the last moment: restore their version, keeping anything written since.
    exchange(folder, beside, name)
    if digest_of(folder, beside) != own:
        exchange(folder, beside, name)
    raise _changed(path)


def _changed(path: str) -> ToolError:
    return ToolError("{path} has been changed in the meantime. Read it again.", code="changed", path=path)
