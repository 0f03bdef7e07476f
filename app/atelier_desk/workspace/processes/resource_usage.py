# ruff: noqa: PTH115, PTH116, PTH123, PTH208
"""Resources used by a command and everything it started: processes, memory, disks. A leaf: the launcher loads it as a
file.

If usage cannot be determined, ``UnknownError`` is raised, never 0 returned: a launcher without file descriptors sees no
children either.
"""

import contextlib
import itertools
import os
import sys
from collections.abc import Iterable, Iterator

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_GONE = (FileNotFoundError, ProcessLookupError)
_MIN_GROWTH = 64 * 1024**2
_WORTH_COUNTING = 1024**3
PIPE_BYTES = 64 * 1024
"""Maximum bytes of a pipe; more is refused (``seccomp_filter``)."""
SOCKET_BYTES = 212_992
"""Maximum bytes of a socket: Linux's net.core.wmem_max, which no program can exceed (socket(7))."""
LEAST_FREE = 1024**3
LEAST_SHARE = 10
"""A disk is low below this many free bytes, or this fraction of its size, whichever is less."""


class UnknownError(Exception):
    """The system does not reveal the existing processes."""


def children_of(pid: int) -> list[int]:
    """Return the uncollected children of a process; empty if it is gone.

    Raises ``UnknownError``.
    """
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    found += map(int, file.read().split())
            except _GONE:
                pass
    except _GONE:
        pass
    except OSError as error:
        raise UnknownError from error
    return found


def is_supported() -> bool:
    """Whether this system lists children of processes: Linux with /proc, built with this option."""
    return sys.platform == "linux" and os.access(f"/proc/self/task/{os.getpid()}/children", os.R_OK)


def descendants(top: int) -> list[int]:
    """Return process ids below ``top``. Raises ``UnknownError``."""
    found: list[int] = []
    if not os.access(f"/proc/{top}/task", os.X_OK):
        raise UnknownError
    waiting = [top]
    while waiting:
        children = children_of(waiting.pop())
        found += children
        waiting += children
    return found


def children_by_number() -> Iterator[int]:
    """Yield the children of this process without using files: asks the kernel about every possible number (waitid(2)).

    Takes some seconds.
    """
    here = os.getpid()
    for pid in itertools.chain(range(here + 1, _MOST_PROCESSES), range(2, here)):
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            continue
        yield pid


def _most_processes() -> int:
    try:
        with open("/proc/sys/kernel/pid_max", "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 1 << 15


_MOST_PROCESSES = _most_processes()


def shared_memory() -> int:
    """Return the bytes of shared memory in this system: files in memory, System V, shared mappings. 0 if unknown."""
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"Shmem:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


class Memory:
    """Counts the bytes that processes hold in memory together.

    Shared memory counts once, even if no process has it mapped: open files in memory (memfd_create(2)), and unmapped
    memory that is still held. These are searched only while the system has more shared memory than its minimum since
    the start, and count up to that difference. Data in pipes and sockets is not reported by the system: if there are
    many, each counts as full.
    """

    def __init__(self, folder: str = "") -> None:
        """``folder``: replaces shared memory (/dev/shm); counted if it lies in memory."""
        self._folder = folder
        self._least = shared_memory()

    def of(self, pids: list[int], keys: int) -> int:
        """Return the bytes of these processes.

        ``keys``: bytes of System V shared memory among them. Raises ``UnknownError``.
        """
        own = mapped = descriptors = 0
        for pid in pids:
            try:
                descriptors += _descriptors(pid)
                with open(f"/proc/{pid}/statm", "rb") as file:
                    _, resident, shared = map(int, file.read().split()[:3])
            except _GONE:
                continue
            except (OSError, ValueError) as error:
                raise UnknownError from error
            own += resident - shared
            # Mostly programs and libraries, which processes share.
            mapped = max(mapped, shared)
        there = shared_memory()
        self._least = min(self._least, there)
        grown = there - self._least
        found = 0
        if grown > _MIN_GROWTH:
            try:
                found = keys + sum(self._files(pids).values())
            except OSError:
                # A process that hides its open files (PR_SET_DUMPABLE) may hold all of it.
                found = grown
        waiting = descriptors * SOCKET_BYTES
        if waiting > _WORTH_COUNTING:
            # If one hides its open files, all of them may be sockets.
            with contextlib.suppress(OSError):
                waiting = sum({key: size for pid in pids for key, size in _buffers(pid)}.values())
        counted = waiting if waiting > _WORTH_COUNTING else 0
        return own * PAGE + max(mapped * PAGE, min(grown, found)) + counted

    def _files(self, pids: Iterable[int]) -> dict[tuple[int, int], int]:
        """Return the maximum bytes of each file in memory, by device and inode. Raises ``OSError``.

        Covers open and mapped files, and those in the folder.
        """
        found: dict[tuple[int, int], int] = {}
        for key, size in itertools.chain(
            _below(self._folder), *(each(pid) for pid in pids for each in (_open, _mapped))
        ):
            found[key] = max(found.get(key, 0), size)
        return found


def _descriptors(pid: int) -> int:
    """Return the number of open files of a process; 0 if an older system hides it. Raises ``OSError`` if it is gone."""
    # From Linux 6.2 on this is the size of the folder, even for processes that hide their open files.
    try:
        return os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return 0


def _buffers(pid: int) -> Iterator[tuple[str, int]]:
    """Yield the pipes and sockets of a process and their maximum bytes. Raises ``OSError``."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except _GONE:
        return
    for name in names:
        try:
            led = os.readlink(f"/proc/{pid}/fd/{name}")
        except _GONE:
            continue
        if led.startswith(("pipe:", "socket:")):
            yield led, PIPE_BYTES if led.startswith("pipe:") else SOCKET_BYTES


def _below(folder: str) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the files of a folder on an in-memory disk."""
    for top, _, names in os.walk(folder) if folder and _in_memory(folder) else ():
        for name in names:
            try:
                at = os.lstat(f"{top}/{name}")
            except OSError:
                continue
            yield (at.st_dev, at.st_ino), at.st_blocks * 512


def _in_memory(folder: str) -> bool:
    """Whether a folder is on a disk without a device, like those in memory (major number 0, devices.txt of Linux).

    Other such file systems (overlay, btrfs) are harmless: results count only up to the growth of shared memory.
    """
    try:
        return os.major(os.stat(folder).st_dev) == 0
    except OSError:
        return False


def _open(pid: int) -> Iterator[tuple[tuple[int, int], int]]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except _GONE:
        return
    for name in names:
        path = f"/proc/{pid}/fd/{name}"
        try:
            if os.readlink(path).startswith("/memfd:"):
                at = os.stat(path)
                yield (at.st_dev, at.st_ino), at.st_blocks * 512
        except _GONE:
            pass


def _mapped(pid: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield shared mappings without a file on disk, with their size; how much is in memory is unknown."""
    sizes: dict[tuple[int, int], int] = {}
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            for line in file:
                if b" (deleted)" not in line or not (b"/memfd:" in line or b"/dev/zero" in line):
                    continue
                where, _, _, device, number = line.split()[:5]
                start, end = (int(each, 16) for each in where.split(b"-"))
                key = (os.makedev(*(int(each, 16) for each in device.split(b":"))), int(number))
                sizes[key] = sizes.get(key, 0) + end - start
    except (*_GONE, ValueError):
        pass
    yield from sizes.items()


class Disks:
    """The disks that a command may fill.

    A disk that is low before the command is only reported: the command may be meant to clean up. No system reveals
    which program wrote; a disk that becomes low meanwhile is attributed to the command.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._disks: dict[int, tuple[str, int | str]] = {}
        for path in paths:
            try:
                at = os.stat(path)
                # Kept open: a folder that is removed or renamed is still on the same disk.
                folder: int | str = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if os.access(path, os.R_OK) else path
            except OSError:
                continue
            self._disks.setdefault(at.st_dev, (path, folder))
        self._before = set(self.low())

    def low(self) -> list[str]:
        """Return a path on each disk that is low."""
        return [path for path, folder in self._disks.values() if _is_low(folder)]

    def became_low(self) -> bool:
        """Whether a disk is low that was not low before the command."""
        return not self._before.issuperset(self.low())


def _is_low(folder: int | str) -> bool:
    try:
        at = os.statvfs(folder)
    except OSError:
        return False
    return at.f_bavail * at.f_frsize < min(LEAST_FREE, at.f_blocks * at.f_frsize // LEAST_SHARE)
