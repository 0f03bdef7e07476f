# ruff: noqa: PTH115, PTH116, PTH123, PTH208
"""What a command and all that it started use: processes, memory, disks. A leaf: the launcher loads it as a file.

Where it cannot be told, that is said (``UnknownError``), never "nothing": a launcher without file descriptors sees no children either.
"""

import contextlib
import itertools
import os
import sys
from collections.abc import Iterable, Iterator

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_GONE = (FileNotFoundError, ProcessLookupError)
_WORTH_LOOKING = 64 * 1024**2
_WORTH_COUNTING = 1024**3
PIPE_BYTES = 64 * 1024
"""Of a pipe; more is refused (``syscalls``)."""
SOCKET_BYTES = 212_992
"""Of a socket: net.core.wmem_max as Linux has it, beyond which no program can go (socket(7))."""
LEAST_FREE = 1024**3
LEAST_SHARE = 10
"""A disk is low with less than this many bytes free, or less than this part of its size, whichever is less."""


class UnknownError(Exception):
    """The system does not tell which processes there are."""


def children_of(pid: int) -> list[int]:
    """The processes that a process started and that are not collected yet; none when it is gone itself.

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


def tells() -> bool:
    """Whether this system tells the children of processes: Linux with /proc, built to do so."""
    return sys.platform == "linux" and os.access(f"/proc/self/task/{os.getpid()}/children", os.R_OK)


def descendants(top: int) -> list[int]:
    """Process ids below ``top``. Raises ``UnknownError``."""
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
    """The children of this process, without files: the kernel is asked about every number there may be (waitid(2)).

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
    """Bytes of shared memory in this system: files in memory, System V, what processes share. 0 where it is not told."""
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

    What they share counts once however many share it, and also where no process has it mapped: files in memory that are
    open (memfd_create(2)), and mappings that were given back while the memory was kept. It is looked for only while the
    system has more shared memory than at the start, or at any time since, and counts up to that difference.

    What waits in pipes and sockets is told by nobody: each counts as full, where there are so many that it matters.
    """

    def __init__(self, folder: str = "") -> None:
        """``folder``: what stands in for shared memory (/dev/shm); it counts where it lies in memory."""
        self._folder = folder
        self._least = shared_memory()

    def of(self, pids: list[int], keys: int) -> int:
        """Bytes of these processes. ``keys``: bytes of System V shared memory among it. Raises ``UnknownError``."""
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
            # Programs and libraries, for the most part: what two processes have of them is the same.
            mapped = max(mapped, shared)
        there = shared_memory()
        self._least = min(self._least, there)
        grown = there - self._least
        found = 0
        if grown > _WORTH_LOOKING:
            try:
                found = keys + sum(self._files(pids).values())
            except OSError:
                # One that hides what it has open (PR_SET_DUMPABLE): it may be all of it.
                found = grown
        waiting = descriptors * SOCKET_BYTES
        if waiting > _WORTH_COUNTING:
            # Where one hides what it has open, all of it may be sockets.
            with contextlib.suppress(OSError):
                waiting = sum({key: size for pid in pids for key, size in _buffers(pid)}.values())
        counted = waiting if waiting > _WORTH_COUNTING else 0
        return own * PAGE + max(mapped * PAGE, min(grown, found)) + counted

    def _files(self, pids: Iterable[int]) -> dict[tuple[int, int], int]:
        """Bytes at most that each file in memory takes, by its device and number. Raises ``OSError``.

        Those that are open, that are mapped, and those of the folder.
        """
        found: dict[tuple[int, int], int] = {}
        for key, size in itertools.chain(_below(self._folder), *(each(pid) for pid in pids for each in (_open, _mapped))):
            found[key] = max(found.get(key, 0), size)
        return found


def _descriptors(pid: int) -> int:
    """How many files a process has open; 0 where an older system hides it. Raises ``OSError`` when it is gone."""
    # Linux tells it as the size of the folder from version 6.2 on, also of a process that hides what it has open.
    try:
        return os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return 0


def _buffers(pid: int) -> Iterator[tuple[str, int]]:
    """The pipes and sockets of a process, and the bytes that each holds at most. Raises ``OSError``."""
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
    """The files of a folder that is on a disk in memory."""
    for top, _, names in os.walk(folder) if folder and _in_memory(folder) else ():
        for name in names:
            try:
                at = os.lstat(f"{top}/{name}")
            except OSError:
                continue
            yield (at.st_dev, at.st_ino), at.st_blocks * 512


def _in_memory(folder: str) -> bool:
    """Whether a folder is on a disk without a device, as those in memory are (major number 0, devices.txt of Linux).

    Others without one, as overlay and btrfs, are no harm: what is found counts up to the growth of shared memory alone.
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
    """Shared mappings without a file on a disk, by their size: what of it is in memory is not told."""
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

    One that is low before the command is only named: it has to run, if only to clean up. Whether the command or another
    program wrote is not told by any system; a disk that becomes low while the command runs counts as its own doing.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._disks: dict[int, tuple[str, int | str]] = {}
        for path in paths:
            try:
                at = os.stat(path)
                # Held open: a folder that is removed or renamed is on the same disk still.
                folder: int | str = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if os.access(path, os.R_OK) else path
            except OSError:
                continue
            self._disks.setdefault(at.st_dev, (path, folder))
        self._before = set(self.low())

    def low(self) -> list[str]:
        """Of each disk that is low, a path on it."""
        return [path for path, folder in self._disks.values() if _is_low(folder)]

    def became_low(self) -> bool:
        """Whether one is low that was not before the command."""
        return not self._before.issuperset(self.low())


def _is_low(folder: int | str) -> bool:
    try:
        at = os.statvfs(folder)
    except OSError:
        return False
    return at.f_bavail * at.f_frsize < min(LEAST_FREE, at.f_blocks * at.f_frsize // LEAST_SHARE)
