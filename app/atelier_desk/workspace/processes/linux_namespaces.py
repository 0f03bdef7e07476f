"""Linux namespaces for one command: mounts, processes and IPC keys. A leaf: the launcher loads it as a file.

Inside them only the command's own processes exist: there are no others to signal or limit, and no shared memory of
others. The first process of a PID namespace is ``init``: orphans become its children, and when it ends, the kernel ends
all others (pid_namespaces(7)). Here it is a fork of the launcher, which waits for the command and ends with its status.

Needs root or user namespaces; without either (in most containers, or by configuration) the command runs without
namespaces.
"""

import contextlib
import ctypes
import os
import platform
import select
import signal
import struct
import sys
import time
from typing import Any, NoReturn

_NEW_MOUNTS, _NEW_KEYS, _NEW_USER, _NEW_PROCESSES = 0x00020000, 0x08000000, 0x10000000, 0x20000000
_BIND, _RECURSIVE, _PRIVATE, _NOTHING_RUNS = 4096, 16384, 1 << 18, 2 | 4 | 8
_MOUNT_SETATTR, _AT_RECURSIVE, _AT_FDCWD, _READ_ONLY = 442, 0x8000, -100, 1
_CLONE = {"x86_64": 56, "aarch64": 220}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_PR_SET_PDEATHSIG = 1
SHARED = "/dev/shm"  # noqa: S108 (a folder of its own is mounted over it)
_POLL_S = 0.1

MOUNTS, PROCESSES, PROC = 1, 2, 4
"""Flags of ``try_all``: a mount namespace; PID and IPC namespaces; a /proc that shows only these."""


class Forked:
    """Result of ``fork``.

    Attributes:
        pid: of the child; 0 in the child itself.
        alone: the child is the first process of its own namespaces.
    """

    def __init__(self, pid: int, *, alone: bool, keys: Any, launcher: int, user: tuple[int, int] | None = None) -> None:
        self.pid = pid
        self.alone = alone
        self._keys = keys
        self._launcher = launcher
        self._user = user

    @property
    def keys(self) -> int:
        """Return the bytes of System V shared memory that the command holds, which only its namespace shows."""
        return int.from_bytes(self._keys[:8], "little")

    @property
    def ended_others(self) -> bool:
        """Whether processes of the command were still running when it ended, and ended with it."""
        return bool(self._keys[8])

    def mounts(self, view: "View") -> bool:
        """In an ``alone`` child: set up its own view of the disk; False if refused."""
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            if self._user is not None:
                _be(*self._user)
            _own_proc(libc)
            _see(libc, view)
        except OSError:
            return False
        return True

    def begin(self) -> None:
        """In an ``alone`` child: become the first process; return in the one that becomes the command."""
        libc = ctypes.CDLL(None, use_errno=True)
        drop_capabilities(libc)
        _check(libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        ended = select.poll()
        ended.register(self._launcher, select.POLLIN)
        if any(event & select.POLLHUP for _, event in ended.poll(0)):
            os._exit(1)
        segments = _segments()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        command = os.fork()
        if command:
            _init(command, self._keys, segments)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class View:
    """A command's mostly read-only view of the disk.

    Attributes:
        write: folders that stay writable; ``keep``: read-only parts of them; ``shared``: replaces shared memory.
        pinned: folders in them that cannot be renamed.
        masked: replacement of each hidden path, outermost first; one in a masked folder is hidden with it.
        in_memory: folders on the shared-memory disk that stay visible, outermost first.
    """

    def __init__(
        self, write: list[str], read: list[str], keep: list[str], shared: str, masked: dict[str, str], pinned: list[str]
    ) -> None:
        self.write = [path for path in write if os.path.isdir(path)]  # noqa: PTH112
        self.keep = keep
        self.shared = shared
        self.masked = masked
        self.pinned = pinned
        above = SHARED + "/"
        self.in_memory = sorted(path for path in {*self.write, *read} if path.startswith(above) and os.path.isdir(path))  # noqa: PTH112


def fork(launcher: int) -> Forked:
    """Fork into new namespaces where possible: directly as root, otherwise through a user namespace.

    Args:
        launcher: a pipe that closes when this process is gone; the child must not hold its other end.
    """
    import mmap

    keys = mmap.mmap(-1, 9)
    me = (os.geteuid(), os.getegid())
    for user in (None, me) if me[0] == 0 else (me,):
        pid = _clone(_NEW_MOUNTS | _NEW_PROCESSES | _NEW_KEYS | (_NEW_USER if user else 0))
        if pid >= 0:
            return Forked(pid, alone=True, keys=keys, launcher=launcher, user=user)
    return Forked(os.fork(), alone=False, keys=keys, launcher=launcher)


def _clone(flags: int) -> int:
    """Call fork(2) with flags of clone(2), for which Python has no function; negative if refused."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = int(
        python.syscall(_CLONE[platform.machine()], ctypes.c_ulong(flags | signal.SIGCHLD), None, None, None, None)
    )
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return pid


def _init(command: int, keys: Any, segments: int) -> NoReturn:
    """Wait for the command as the first process and end with its status, which also ends what it left.

    After a SIGTERM from the launcher, remaining processes may finish until the launcher ends them.
    """
    status: int | None = None
    gently = False
    last_check = 0.0
    while True:
        got = signal.sigtimedwait({signal.SIGCHLD, signal.SIGTERM}, _POLL_S)
        # Signals from the command come from a process that is known here.
        gently = gently or (got is not None and got.si_signo == signal.SIGTERM and got.si_pid == 0)
        while True:
            try:
                pid, ended = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                os._exit(9 if status is None else status)
            if pid == command:
                status = 128 + os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else os.WEXITSTATUS(ended)
            if pid == 0:
                break
        if status is not None and not gently:
            keys[8] = 1
            os._exit(status)
        if time.monotonic() - last_check > _POLL_S:
            last_check = time.monotonic()
            keys[:8] = _shared_memory(segments).to_bytes(8, "little")


def _segments() -> int:
    """Open the segment list of this IPC namespace: a command can take descriptors from this process.

    -1 if it does not exist.
    """
    try:
        return os.open("/proc/sysvipc/shm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _shared_memory(segments: int) -> int:
    """Return the bytes of segments in memory (proc(5), /proc/sysvipc)."""
    if segments < 0:
        return 0
    os.lseek(segments, 0, os.SEEK_SET)
    text = b""
    while part := os.read(segments, 1 << 16):
        text += part
    heads, *lines = (line.split() for line in text.splitlines())
    return sum(int(line[heads.index(b"rss")]) + int(line[heads.index(b"swap")]) for line in lines)


def mounts(view: View) -> bool:
    """Set up this process's own view of the disk; False if the system refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_MOUNTS | (_NEW_USER if user else 0)) < 0:
        return False
    try:
        if user:
            _be(user, group)
        _see(libc, view)
    except OSError:
        return False
    return True


def _be(user: int, group: int) -> None:
    """Keep the same user and group in a new user namespace."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
            file.write(text)


def _see(libc: ctypes.CDLL, view: View) -> None:
    here = os.getcwd()  # noqa: PTH109
    _mount(libc, "none", "/", _RECURSIVE | _PRIVATE)
    for path in view.write:
        _mount(libc, path, path, _BIND | _RECURSIVE)
    _share(libc, view)
    _set(libc, "/", put=_READ_ONLY)
    for path in [*view.write, SHARED]:
        _set(libc, path, take=_READ_ONLY)
    for path in sorted(view.pinned):
        # A mount point cannot be renamed.
        if os.path.isdir(path):  # noqa: PTH112
            _mount(libc, path, path, _BIND | _RECURSIVE)
    for path in view.keep:
        try:
            _mount(libc, path, path, _BIND | _RECURSIVE)
        except (FileNotFoundError, NotADirectoryError):
            continue  # it was just deleted: all others stay read-only
        _set(libc, path, put=_READ_ONLY)
    for path in sorted(view.masked):
        if os.path.lexists(path):
            _mount(libc, view.masked[path], path, _BIND)
            _set(libc, path, put=_READ_ONLY)
    # Otherwise the current folder is still that of the previous view.
    os.chdir(here)


def _share(libc: ctypes.CDLL, view: View) -> None:
    """Replace shared memory by the command's own folder; a workspace in it stays visible."""
    seen = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in view.in_memory]
    if seen and view.shared not in view.write:
        # An empty unwritable mount has no room for mount points.
        _mount(libc, "none", SHARED, 0, "tmpfs")
    else:
        _mount(libc, view.shared, SHARED, _BIND)
    for path, folder in seen:
        os.makedirs(path, exist_ok=True)  # noqa: PTH103
        _mount(libc, f"/proc/self/fd/{folder}", path, _BIND | _RECURSIVE)
        os.close(folder)


def _own_proc(libc: ctypes.CDLL) -> None:
    """Mount a /proc of this PID namespace.

    Where parts of the present one are covered, as in containers, the kernel refuses this to user namespaces. The
    present one then stays: it shows other processes, by numbers that mean nothing here, and /proc/self is correct in
    it.
    """
    _mount(libc, "none", "/", _RECURSIVE | _PRIVATE)
    with contextlib.suppress(OSError):
        _mount(libc, "proc", "/proc", _NOTHING_RUNS, "proc")


def _mount(libc: ctypes.CDLL, source: str, target: str, flags: int, kind: str | None = None) -> None:
    kind_of = None if kind is None else kind.encode()
    _check(libc.mount(os.fsencode(source), os.fsencode(target), kind_of, ctypes.c_ulong(flags), None))


def _set(libc: ctypes.CDLL, path: str, *, put: int = 0, take: int = 0) -> None:
    attributes = struct.pack("QQQQ", put, take, 0, 0)
    size = ctypes.c_size_t(len(attributes))
    _check(libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), _AT_RECURSIVE, attributes, size))


def drop_capabilities(libc: ctypes.CDLL) -> None:
    """Drop all capabilities; with no_new_privs they cannot return. Raises ``OSError``."""
    _check(libc.syscall(_CAPSET[platform.machine()], struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *(0,) * 6)))


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the sandbox cannot be set up: {os.strerror(number)}")
    return result


def try_all() -> int:
    """Return which of ``MOUNTS``, ``PROCESSES`` and ``PROC`` a command gets here, as a sum.

    Call it in a separate process.
    """
    read, write = os.pipe()
    child = fork(read)
    if child.pid == 0:
        found = PROCESSES if child.alone else 0
        view = View([], [], [], SHARED, {}, [])
        if child.mounts(view) if child.alone else mounts(view):
            found |= MOUNTS
        if child.alone and os.readlink("/proc/self") == str(os.getpid()):  # noqa: PTH115
            found |= PROC
        os.write(write, bytes((found,)))
        os._exit(0)
    os.waitpid(child.pid, 0)
    return os.read(read, 1)[0]


if __name__ == "__main__":
    sys.exit(try_all())
