"""Copying files and whole folders between folders that are held open: links are copied as links, devices and pipes are left out."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.beneath import NO_FOLLOW

_CHUNK = 1024 * 1024
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
ENTRIES = 50_000
"""Files and folders of one copy."""


def copy(source: int, name: str, target: int, new: str, *, left: list[int] | None = None) -> None:
    """Copy what is named ``name`` in the folder ``source`` to ``new`` in ``target``, which must be free; permissions are kept.

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
    elif stat.S_ISDIR(info.st_mode):
        os.mkdir(new, 0o700, dir_fd=target)
        inside = os.open(name, _FOLDER | NO_FOLLOW, dir_fd=source)
        into = os.open(new, _FOLDER | NO_FOLLOW, dir_fd=target)
        try:
            for each in os.listdir(inside):  # noqa: PTH208 (a Path knows no descriptors)
                copy(inside, each, into, each, left=left)
            os.fchmod(into, stat.S_IMODE(info.st_mode))
        finally:
            os.close(inside)
            os.close(into)
    elif stat.S_ISREG(info.st_mode):
        _copy_file(source, name, target, new)


def _copy_file(source: int, name: str, target: int, new: str) -> None:
    read = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW, dir_fd=source)
    try:
        info = os.fstat(read)
        write = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600, dir_fd=target)
        try:
            while part := os.read(read, _CHUNK):
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(write, rest) :]
            os.fchmod(write, stat.S_IMODE(info.st_mode))
            os.fsync(write)
        finally:
            os.close(write)
    finally:
        os.close(read)


def delete(folder: int, name: str) -> None:
    """Delete a file, a link itself, or a whole folder, never through a link; what is not there is no error."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def digest_of(folder: int, name: str, *, left: list[int] | None = None) -> str:
    """A hash of a file's bytes, of a link's text, or of all that a folder holds with its names; empty when there is nothing."""
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
