"""Copy files and folders between open folders. Links are copied as links."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.openat import NO_FOLLOW

_CHUNK = 1024 * 1024
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
ENTRIES = 50_000
"""Maximum entries per copy."""


def copy(source: int, name: str, target: int, new: str, *, whole: bool = False, left: list[int] | None = None) -> None:
    """Copy ``name`` in the folder ``source`` to the free name ``new`` in ``target``, with permissions.

    Args:
        whole: an exact copy to replace the original: also times, owner and extended attributes where the system allows,
            and pipes, sockets and devices, which are otherwise skipped.

    Raises:
        OSError; ToolError: ``too_large`` for more than ``ENTRIES`` entries.
    """
    left = [ENTRIES] if left is None else left
    left[0] -= 1
    if left[0] < 0:
        raise ToolError("The folder has more than {most} entries: copy parts of it.", code="too_large", most=ENTRIES)
    info = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), new, dir_fd=target)
        if whole:
            _same_times(target, new, info)
    elif stat.S_ISDIR(info.st_mode):
        os.mkdir(new, 0o700, dir_fd=target)
        inside = os.open(name, _FOLDER | NO_FOLLOW, dir_fd=source)
        into = os.open(new, _FOLDER | NO_FOLLOW, dir_fd=target)
        try:
            for each in os.listdir(inside):  # noqa: PTH208 (a Path knows no descriptors)
                copy(inside, each, into, each, whole=whole, left=left)
            if whole:
                same_owner(inside, into, info)
            os.fchmod(into, stat.S_IMODE(info.st_mode))
            if whole:
                os.utime(into, ns=(info.st_atime_ns, info.st_mtime_ns))
            os.fsync(into)
        finally:
            os.close(inside)
            os.close(into)
    elif stat.S_ISREG(info.st_mode):
        _copy_file(source, name, target, new, whole)
    elif whole:
        os.mknod(new, info.st_mode, info.st_rdev, dir_fd=target)
        _same_times(target, new, info)


def copy_verified(source: int, name: str, target: int, new: str, *, expected: str = "") -> str:
    """Copy ``whole`` and compare both; return the hash of everything (``digest_of``). A different copy is deleted.

    Args:
        expected: the hash it must have; empty: that of the source after the copy.

    Raises:
        OSError: EIO when the copy differs; else as ``copy``.
    """
    try:
        copy(source, name, target, new, whole=True)
        found = digest_of(target, new)
        if found != (expected or digest_of(source, name)):
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
    except FileExistsError:
        raise  # the name is not the copy's
    except BaseException:
        delete(target, new)
        raise
    os.fsync(target)
    return found


def _copy_file(source: int, name: str, target: int, new: str, whole: bool) -> None:
    read = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW, dir_fd=source)
    try:
        info = os.fstat(read)
        write = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600, dir_fd=target)
        try:
            while part := os.read(read, _CHUNK):
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(write, rest) :]
            if whole:
                same_owner(read, write, info)
            os.fchmod(write, stat.S_IMODE(info.st_mode))
            if whole:
                os.utime(write, ns=(info.st_atime_ns, info.st_mtime_ns))
            os.fsync(write)
        finally:
            os.close(write)
    finally:
        os.close(read)


def same_owner(read: int, write: int, info: os.stat_result) -> None:
    """Copy owner and extended attributes between open files or folders, as far as the system allows.

    Set permissions afterwards: changing the owner clears some of them.
    """
    now = os.fstat(write)
    if (info.st_uid, info.st_gid) != (now.st_uid, now.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(write, info.st_uid, info.st_gid)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for key in os.listxattr(read):
                with contextlib.suppress(OSError):
                    os.setxattr(write, key, os.getxattr(read, key))


def _same_times(folder: int, name: str, info: os.stat_result) -> None:
    with contextlib.suppress(OSError, NotImplementedError):
        os.chown(name, info.st_uid, info.st_gid, dir_fd=folder, follow_symlinks=False)
    with contextlib.suppress(OSError, NotImplementedError):
        os.utime(name, ns=(info.st_atime_ns, info.st_mtime_ns), dir_fd=folder, follow_symlinks=False)


def delete(folder: int, name: str) -> None:
    """Delete a file, a link itself, or a folder tree including read-only folders, never following links.

    A missing one is no error.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            return
        try:
            shutil.rmtree(name, dir_fd=folder)
        except PermissionError:
            _open_up(folder, name)
            shutil.rmtree(name, dir_fd=folder)


def _open_up(folder: int, name: str) -> None:
    """Give the owner of folders the right to delete their content."""
    inside = os.open(name, _FOLDER | NO_FOLLOW, dir_fd=folder)
    try:
        os.fchmod(inside, stat.S_IMODE(os.fstat(inside).st_mode) | stat.S_IRWXU)
        for each in os.listdir(inside):  # noqa: PTH208
            if stat.S_ISDIR(os.stat(each, dir_fd=inside, follow_symlinks=False).st_mode):
                _open_up(inside, each)
    finally:
        os.close(inside)


def digest_of(folder: int, name: str, *, left: list[int] | None = None) -> str:
    """Return a hash of a file's bytes, a link's target, or a folder's whole content with names.

    Empty if there is nothing.
    """
    left = [ENTRIES] if left is None else left
    left[0] -= 1
    if left[0] < 0:
        raise ToolError("The folder has more than {most} entries: take parts of it.", code="too_large", most=ENTRIES)
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    if stat.S_ISREG(info.st_mode):
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW, dir_fd=folder)
        hashed = hashlib.sha256()
        try:
            while part := os.read(handle, _CHUNK):
                hashed.update(part)
        finally:
            os.close(handle)
        return hashed.hexdigest()
    if stat.S_ISLNK(info.st_mode):
        return hashlib.sha256(b"link " + os.fsencode(os.readlink(name, dir_fd=folder))).hexdigest()
    hashed = hashlib.sha256(b"folder")
    if stat.S_ISDIR(info.st_mode):
        inside = os.open(name, _FOLDER | NO_FOLLOW, dir_fd=folder)
        try:
            for each in sorted(os.listdir(inside)):  # noqa: PTH208
                hashed.update(os.fsencode(each) + b"\0" + digest_of(inside, each, left=left).encode())
        finally:
            os.close(inside)
    return hashed.hexdigest()
