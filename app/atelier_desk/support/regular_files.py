"""Read and replace files that others named or made. Imports nothing of Atelier."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading. A pipe or a device, which could make the reader wait for ever, is refused.

    Args:
        follow: whether the last part of the path may be a link.

    Raises:
        OSError: there is no such file, or it is none (``EINVAL``), or a link that is not followed.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follow:
        if path.is_symlink():  # also where the system has no such flag
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        flags |= getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
    return os.fdopen(handle, "rb")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file at a person's path: on a full disk the old content stays, never a part of the new.

    Unlike the program's own files (``storage.data_folder.atomic_files``) it has the usual permissions, or those of the
    file it replaces, and no folder is created. A link still leads to its file. A pipe or a device is written to.

    Raises:
        OSError: nothing was changed.
    """
    there = path.exists()
    if there and not path.is_file():
        path.write_bytes(data)
        return
    try:
        path = path.resolve()
    except RuntimeError:  # before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    if there and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if there and not os.access(path.parent, os.W_OK | os.X_OK):
        path.write_bytes(data)  # no other file can be made beside it
        return
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            if there:
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
