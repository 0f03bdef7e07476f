"""The lock of a data folder, held by whoever opens, restores, migrates or replaces its content.

The operating system releases it when the process ends, however it ends. On POSIX the folder itself is locked
(``flock``), so there is no lock file that could be deleted or replaced by a restore. Windows cannot lock folders, but
does not delete open files: there a file in the folder is locked. The same is done on file systems that cannot lock
folders (NFS); if somebody deletes the file there, the engine's own lock of the database remains.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.support.threads import in_storage_thread

FILE = ".lock"
WAIT_S = 1.0
"""Seconds to wait for a holder that is about to end: a killed or closing program, and its helper."""
POLL_S = 0.05
_held: set[FolderLock] = set()
P = ParamSpec("P")
T = TypeVar("T")


class FolderLock:
    """A held lock, made by ``acquire``.

    Attributes:
        descriptor: the open file that carries the lock. On POSIX, a child process that inherits it holds the lock too.
        folder: the locked folder, as it was named.
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
        """Check that the folder's path still leads to the locked folder: it may be renamed, replaced or deleted at any
        time.

        Takes about two microseconds. Raises ``StorageError`` (``moved``); nothing must be written to the path then.
        """
        for path, identity in self._locked.items():
            verify_identity(path, identity)

    @classmethod
    async def acquire(cls, folder: Path) -> FolderLock:
        """Lock a folder, created if missing; wait at most ``WAIT_S`` for another holder.

        Raises:
            StorageError: ``locked`` when it is held, here or in another process; ``read_only`` when the folder cannot
                be created or entered.
        """
        deadline = time.monotonic() + WAIT_S
        while True:
            # Short calls, so not in a thread: cancelling the wait for a thread would leave a lock that nobody releases.
            descriptor = _try(folder)
            if descriptor is not None:
                return cls(descriptor, folder)
            if time.monotonic() >= deadline:
                raise StorageError(database_errors.LOCKED, code="locked", recoverable=True, path=folder)
            await asyncio.sleep(POLL_S)

    @classmethod
    def claim(cls, folder: Path) -> FolderLock | None:
        """Lock a folder without waiting, created if missing; None when it is held.

        Raises:
            StorageError: ``read_only`` when the folder cannot be created or entered.
        """
        descriptor = _try(folder)
        return cls(descriptor, folder) if descriptor is not None else None

    def release(self) -> None:
        """Release the lock, even if a child process has inherited it. Idempotent."""
        if self in _held:
            _held.remove(self)
            try:
                _unlock(self.descriptor)
            finally:
                os.close(self.descriptor)


Identity = tuple[int, int]
"""Device and inode, which identify a folder independently of its name."""


def identity(path: Path) -> Identity:
    """Return the current identity of a file or folder; raises ``OSError``."""
    return _identity(path.stat())


def verify_identity(path: Path, expected: Identity) -> None:
    """Raise ``StorageError`` (``moved``) unless the path still leads to this file or folder."""
    try:
        found = identity(path)
    except OSError as error:
        raise StorageError(database_errors.MOVED, code="moved", path=path) from error
    if found != expected:
        raise StorageError(database_errors.MOVED, code="moved", path=path)


def verify_held(path: Path) -> None:
    """Check, for every folder this process has locked, that ``path`` below it still lies in the locked folder.

    For code that writes files beside the database: a folder that was moved away must not be recreated. Raises
    ``StorageError`` (``moved``).
    """
    for held in tuple(_held):
        if path.is_relative_to(held.folder):
            held.verify()


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


async def shielded(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread and wait for its end even when cancelled: the lock must not be released before."""
    return await to_its_end(in_storage_thread(function, *args, **kwargs))


async def to_its_end(work: Awaitable[T], cancelled: Callable[[], object] = lambda: None) -> T:
    """Wait for the end of work even when cancelled; ``cancelled`` is then called first."""
    work = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        cancelled()
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        if not work.cancelled():
            work.exception()
        raise


def _release_in_child() -> None:
    """Release locks in a forked child, which must not keep a folder locked after its parent has ended."""
    while _held:
        os.close(_held.pop().descriptor)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


def _try(folder: Path) -> int | None:
    """Return a descriptor with the lock, or None when another process has it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _lock(folder)
    except OSError as error:
        raise database_errors.from_os_error(error, folder) from error


if sys.platform == "win32":
    import msvcrt

    def _lock(folder: Path) -> int | None:
        # Windows does not delete an open file.
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
            pass  # deleted or replaced between opening and locking: others would lock another file
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
