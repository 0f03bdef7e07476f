"""The one lock of a data folder: whoever opens, restores, migrates or swaps what is in it holds it from the first look to the last write.

The operating system keeps it for the process and takes it back when the process ends, however it ends. On POSIX the folder itself is
locked (``flock``), so there is no lock file that somebody could delete or a restore could swap. Windows locks no folders, but keeps an
open file from being deleted: there it is a file in the folder. So it is on the file systems that lock no folders either (NFS), where the
engine's own lock of the database remains when somebody deletes the file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import errors
from atelier_desk.support.threads import in_storage_thread

FILE = ".lock"
WAIT_S = 1.0
"""How long to wait for whoever is about to go: a program that was killed or is closing, and its helper."""
POLL_S = 0.05
_held: set[FolderLock] = set()
P = ParamSpec("P")
T = TypeVar("T")


class FolderLock:
    """A held lock. Made by ``acquire``.

    Attributes:
        descriptor: the open file that carries the lock. A child process that inherits it holds the lock too (POSIX).
        folder: what is locked, as it was named.
    """

    def __init__(self, descriptor: int, folder: Path) -> None:
        self.descriptor = descriptor
        self.folder = folder
        locked = os.fstat(descriptor)
        by_file = not stat.S_ISDIR(locked.st_mode)
        self._locked = {folder / FILE if by_file else folder: _identity(locked)}
        if by_file:
            self._locked[folder] = _identity(folder.stat())
        _held.add(self)

    def verify(self) -> None:
        """Check that the folder's name still leads to what is locked: it may be renamed, replaced or deleted at any time.

        Some two microseconds. Raises ``StorageError`` (``moved``); nothing must be written to the path then.
        """
        for path, identity in self._locked.items():
            verify_identity(path, identity)

    @classmethod
    async def acquire(cls, folder: Path) -> FolderLock:
        """Lock a folder, which is made when it is missing; waits at most ``WAIT_S`` for another holder.

        Raises:
            StorageError: ``locked`` when it is held, here or in another process; ``read_only`` when the folder cannot be made or entered.
        """
        deadline = time.monotonic() + WAIT_S
        while True:
            # Short calls, and not in a thread: a cancelled wait for one would leave the lock with nobody to release it.
            descriptor = _try(folder)
            if descriptor is not None:
                return cls(descriptor, folder)
            if time.monotonic() >= deadline:
                raise StorageError(errors.LOCKED, code="locked", recoverable=True, path=folder)
            await asyncio.sleep(POLL_S)

    @classmethod
    def claim(cls, folder: Path) -> FolderLock | None:
        """Lock a folder at once, which is made when it is missing; None when it is held.

        Raises:
            StorageError: ``read_only`` when the folder cannot be made or entered.
        """
        descriptor = _try(folder)
        return cls(descriptor, folder) if descriptor is not None else None

    def release(self) -> None:
        """Give the folder free, also when a child has inherited the lock. Releasing twice does nothing."""
        if self in _held:
            _held.remove(self)
            try:
                _unlock(self.descriptor)
            finally:
                os.close(self.descriptor)


Identity = tuple[int, int]
"""Device and inode: what tells a folder from another one of its name."""


def identity(path: Path) -> Identity:
    """The identity of a file or folder now; raises ``OSError``."""
    return _identity(path.stat())


def verify_identity(path: Path, expected: Identity) -> None:
    """Raise ``StorageError`` (``moved``) unless the path still leads there."""
    try:
        found = identity(path)
    except OSError as error:
        raise StorageError(errors.MOVED, code="moved", path=path) from error
    if found != expected:
        raise StorageError(errors.MOVED, code="moved", path=path)


def verify_held(path: Path) -> None:
    """Check, for every folder this process has locked, that ``path`` below it still lies in what was locked.

    For whoever writes files beside the database: a folder that was moved away must not be made anew. Raises ``StorageError`` (``moved``).
    """
    for held in tuple(_held):
        if path.is_relative_to(held.folder):
            held.verify()


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


async def shielded(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread and wait for its end, also when the wait is cancelled: the lock must not be released before."""
    work = asyncio.ensure_future(in_storage_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        if not work.cancelled():
            work.exception()
        raise


def _forget() -> None:
    """In a forked child, which must not keep a folder locked after its parent."""
    while _held:
        os.close(_held.pop().descriptor)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _try(folder: Path) -> int | None:
    """A descriptor with the lock, None when somebody else has it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _lock(folder)
    except OSError as error:
        raise errors.from_os_error(error, folder) from error


if sys.platform == "win32":
    import msvcrt

    def _lock(folder: Path) -> int | None:
        # A file that is open cannot be deleted here.
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import errno
    import fcntl

    _NO_FOLDER_LOCKS = frozenset({errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.ENOLCK, errno.EISDIR})

    def _lock(folder: Path) -> int | None:
        try:
            return _flock(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if error.errno not in _NO_FOLDER_LOCKS:
                raise
        return _flock(folder / FILE, os.O_RDWR | os.O_CREAT)

    def _flock(path: Path, flags: int) -> int | None:
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BlockingIOError:
            pass
        except FileNotFoundError:
            pass  # deleted or swapped between opening and locking: what is locked is not what others see
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
