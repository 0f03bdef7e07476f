"""Open files that others named or made. Imports nothing of Atelier."""

from __future__ import annotations

import errno
import os
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
