"""Renames that never overwrite somebody else's file: exchanging two files, and renaming only to a free name.

Each is one system call on Linux (``renameat2``, since 3.15). Elsewhere, and on file systems without support, the
exchange is reported as impossible, and the rename uses a hard link.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import lru_cache

_NOREPLACE, _EXCHANGE = 1, 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def exchange(folder: int, one: str, other: str) -> bool:
    """Atomically exchange two names of a folder; False where the system or file system cannot.

    Raises:
        OSError: ENOENT when one of them is gone …
    """
    return _renamed(folder, one, folder, other, _EXCHANGE)


def rename_new(source: int, name: str, target: int, new: str) -> None:
    """Rename, also into another folder, without ever replacing a file.

    Raises:
        OSError: EEXIST when the new name is taken; EXDEV …
    """
    if _renamed(source, name, target, new, _NOREPLACE):
        return
    try:
        os.link(name, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS, errno.EISDIR):
            raise
        # No hard links here, or a folder: the name could be taken between the check and the rename.
        if _there(target, new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from error
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        return
    os.unlink(name, dir_fd=source)


def _there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@lru_cache(maxsize=1)
def _renameat2() -> Callable[..., int] | None:
    """Return the C function; glibc has it since 2.28, musl since 1.2.3."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _renamed(source: int, name: str, target: int, new: str, flag: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if (
        call(source, ctypes.c_char_p(os.fsencode(name)), target, ctypes.c_char_p(os.fsencode(new)), ctypes.c_uint(flag))
        == 0
    ):
        return True
    number = ctypes.get_errno()
    # A plain rename reports a folder that is moved into itself.
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), new)
