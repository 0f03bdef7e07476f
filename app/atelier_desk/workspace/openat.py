"""Open folders beneath another one so that no ``..``, link or race can leave it.

Linux resolves the whole path in one call, ``openat2`` (since 5.6), which refuses to leave the folder. Elsewhere, and
where a sandbox forbids the call, the path is walked part by part: folders are opened without following links, a link's
target is substituted into the path, and ``..`` returns to the folder opened before, so it cannot pass the first one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from functools import lru_cache

LINKS = 40
"""Maximum links followed for one path, as in Linux."""
_RETRIES = 64
"""Retries: Linux returns EAGAIN when a concurrent move makes it uncertain whether the path is still beneath."""
_OPENAT2 = 437
"""Its system call number on every architecture except Alpha."""
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def supported() -> bool:
    """Whether this system can open files relative to a folder; Windows cannot."""
    return os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


def open_folder(root: int, path: str, *, walk: bool = False) -> int:
    """Return a descriptor of the folder ``path`` (parts joined by ``/``, empty: the root), which the caller closes.

    Args:
        root: descriptor of the folder that must not be left.
        walk: go part by part even where the system has a call for it.

    Raises:
        OSError: EXDEV when it leads out of ``root`` or through an absolute link, ELOOP for circular links, else as
            ``os.open``.
    """
    if walk or not _has_openat2():
        return _walked(root, path)
    return _openat2(root, path or ".")


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@lru_cache(maxsize=1)
def _has_openat2() -> bool:
    if sys.platform != "linux":
        return False
    try:
        folder = os.open("/", _FOLDER)
    except OSError:
        return False
    try:
        os.close(_openat2(folder, "."))
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(folder)


def _openat2(root: int, path: str) -> int:
    how = _OpenHow(_FOLDER, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    name = ctypes.c_char_p(os.fsencode(path))
    number = errno.EAGAIN
    for _attempt in range(_RETRIES):
        found = _libc().syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_int(root), name, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how))
        )
        if found >= 0:
            return int(found)
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), path)


def _walked(root: int, path: str) -> int:
    held = [os.dup(root)]
    rest = path.split("/")[::-1]
    links = 0
    try:
        while rest:
            part = rest.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if len(held) == 1:
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
                os.close(held.pop())
                continue
            if stat.S_ISLNK(os.stat(part, dir_fd=held[-1], follow_symlinks=False).st_mode):
                links += 1
                target = os.readlink(part, dir_fd=held[-1])
                if links > LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if target.startswith("/"):
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
                rest.extend(target.split("/")[::-1])
                continue
            # A part that became a link meanwhile is refused.
            held.append(os.open(part, _FOLDER | NO_FOLLOW, dir_fd=held[-1]))
        return held.pop()
    finally:
        for each in held:
            os.close(each)
