"""Renames that never lose what somebody else put there meanwhile: one that exchanges two files, one that takes only a free name.

Both are one call on Linux (``renameat2``, since 3.15). Elsewhere, and on file systems that know neither, the caller is told or a hard link
does it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import lru_cache
from typing import Any

_NOREPLACE, _EXCHANGE = 1, 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def exchange(folder: int, one: str, other: str) -> bool:
    """Exchange what two names of a folder stand for, at once; False where the system or the file system cannot.

    Raises:
        OSError: ENOENT when one of them is gone …
    """
    return _renamed(folder, one, folder, other, _EXCHANGE)


def rename_new(source: int, name: str, target: int, new: str) -> None:
    """Rename, also into another folder, without ever replacing.

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
        # No hard links here, or a folder: somebody may take the name between the look and the rename.
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
def _renameat2() -> Any:
    """glibc has it since 2.28, musl since 1.2.3."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _renamed(source: int, name: str, target: int, new: str, flag: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if call(source, ctypes.c_char_p(os.fsencode(name)), target, ctypes.c_char_p(os.fsencode(new)), ctypes.c_uint(flag)) == 0:
        return True
    number = ctypes.get_errno()
    # A folder that is moved into itself is told by the plain rename.
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), new)
