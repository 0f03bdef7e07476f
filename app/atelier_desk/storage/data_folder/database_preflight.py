"""Checks before a database directory is opened.

The engine silently opens a directory without its manifest as an empty database, and fails halfway on a full disk, so
both are checked first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.data_folder import schema_version
from atelier_desk.storage.data_folder.free_space import MIN_FREE_BYTES, free_bytes, no_files_left

if sys.platform != "win32":
    import resource

PROBE = "atelier-probe.tmp"
PROBE_BYTES = 1024 * 1024
PROBE_WRITTEN_BYTES = 4096
PROBE_FILES = 32
OWN_FILES = frozenset({"LOCK", "atelier-commits.json", "atelier-commits.json.tmp", schema_version.FILE, PROBE})
"""Files that do not prove that a database was ever written here."""


ADDRESSES_BYTES = 3 * 1024**3
ADDRESSES_BYTES_PER_CPU = 192 * 1024**2
"""Maximum address space in bytes per CPU that the engine reserves while opening, with its threads.

It uses a small part of it as memory. If the system refuses the reservation, the engine ends the process.
"""
MOST_CPUS = 16


def has_content(directory: Path) -> bool:
    """Whether a database was ever written into the directory."""
    if not directory.is_dir():
        return False
    return any(entry.name not in OWN_FILES for entry in directory.iterdir())


def manifest_exists(directory: Path) -> bool:
    """Whether the directory has the engine's manifest, without which it would be taken for empty."""
    return any((directory / "manifest").glob("*.manifest"))


def check_path(directory: Path) -> None:
    """Refuse a directory whose name the engine cannot handle. Does not access the disk.

    Raises:
        StorageError: ``bad_path``.
    """
    if "?" in str(directory.absolute()):
        raise StorageError(database_errors.BAD_PATH, code="bad_path", path=directory)


def check_limits() -> None:
    """Refuse to open a database where the engine would end the process.

    Too little address space, or a clock before 1970.

    Raises:
        StorageError: ``memory_limit`` or ``clock``.
    """
    if time.time() < 0:
        raise StorageError(database_errors.CLOCK, code="clock")
    if sys.platform == "win32":
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    needed = ADDRESSES_BYTES + ADDRESSES_BYTES_PER_CPU * min(os.cpu_count() or 1, MOST_CPUS)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise StorageError(
            database_errors.MEMORY_LIMIT,
            code="memory_limit",
            limit_mb=limit // 1_000_000,
            needed_mb=needed // 1_000_000,
        )


def check(directory: Path) -> None:
    """Refuse to open a directory that is not writable, has no room or lost its manifest, or under too low limits.

    Raises:
        StorageError: ``memory_limit``, ``clock``, ``read_only``, ``disk_full`` or ``missing_manifest``.
    """
    check_limits()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise database_errors.from_os_error(error, directory) from error
    if not os.access(directory, os.W_OK | os.X_OK | os.R_OK):
        raise StorageError(database_errors.READ_ONLY, code="read_only", path=directory)
    require_room(directory)
    if has_content(directory) and not manifest_exists(directory):
        raise StorageError(database_errors.MISSING_MANIFEST, code="missing_manifest", path=directory)


def require_room(path: Path, size: int = 0) -> None:
    """Refuse to continue without room on the disk for ``size`` more bytes plus what opening a database needs.

    Raises:
        StorageError: ``disk_full``.
    """
    free, needed = free_bytes(path), size + MIN_FREE_BYTES
    if free < needed or no_files_left(path):
        raise database_errors.disk_full(path, free, needed)


def of_copy(error: StorageError, copy: Path, directory: Path, size: int) -> StorageError:
    """Return an error of work on a copy of a database as one about the database.

    A full disk says what the whole work needs, ``size`` bytes more than what opening needs, and what is free once the
    copy is deleted.
    """
    free, needed = free_bytes(directory) + size_of(copy), size + MIN_FREE_BYTES
    if error.code == "disk_full" and free < needed:  # otherwise another disk is full, or there is room again
        return database_errors.disk_full(directory, free, needed)
    return database_errors.about(error, copy, directory)


def size_of(directory: Path) -> int:
    """Return the size in bytes of all files of a database that nobody has open."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def probe(directory: Path) -> None:
    """Refuse to close a database that could then not be reopened.

    Makes a file of ``PROBE_BYTES`` beside the database, syncs and deletes it, and checks that ``PROBE_FILES`` more
    files can be open. An engine whose opening fails halfway, on a full or broken disk, keeps its lock until the process
    ends.

    Where the system can reserve the room, only ``PROBE_WRITTEN_BYTES`` are written: the whole was an eighth of what a
    move of the log writes.

    Raises:
        StorageError: ``disk_full``, ``io``, ``too_many_files`` or ``read_only``.
    """
    file = directory / PROBE
    try:
        check(directory)
        with file.open("wb") as probe:
            probe.write(bytes(PROBE_WRITTEN_BYTES if _reserved(probe.fileno()) else PROBE_BYTES))
            probe.flush()
            os.fsync(probe.fileno())
            with contextlib.ExitStack() as spare:
                for _ in range(PROBE_FILES):
                    spare.callback(os.close, os.dup(probe.fileno()))
    except OSError as error:
        raise database_errors.from_os_error(error, directory) from error
    finally:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _reserved(file: int) -> bool:
    """Reserve ``PROBE_BYTES`` for an open file; False where neither system nor file system can."""
    if not hasattr(os, "posix_fallocate"):
        return False
    try:
        os.posix_fallocate(file, 0, PROBE_BYTES)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
            return False
        raise
    return True
