"""A sandbox of Linux's own, by system calls alone: Landlock for files, seccomp for the rest. A leaf: the launcher loads it as a file.

What is confined reads the folders it is given, writes nowhere but in those it is given, and talks to nobody: no sockets of any family,
which Landlock alone would leave open to UDP, and none of the calls that reach other processes, mount or load something (reference
"libraries", 3). Needs no privilege and holds for root too.

Where the system lets a process have mounts of its own, everything but the writable folders is read-only besides, and what must not be
changed inside of them; Landlock has no word for either, nor for the modes, owners and times of files.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from functools import cache
from typing import Any

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
_FS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Rights over files that a version of Landlock knows (kernel documentation, "Landlock: unprivileged access control")."""
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_MOUNT_SETATTR, _AT_RECURSIVE, _AT_FDCWD, _READ_ONLY = 442, 0x8000, -100, 1
_FAMILIES = (2, 10, 16)
"""Sockets that the network needs: IPv4, IPv6, and netlink, which names are looked up with (socket(2))."""
_SHARED = "/dev/shm"  # noqa: S108 (a folder of its own is mounted over it)
_CAPSET = {"x86_64": 126, "aarch64": 91}
_EPERM = 1

_ARCHITECTURES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (0xC000003E, {
        "socket": 41, "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "bpf": 321, "keyctl": 250, "add_key": 248, "request_key": 249,
        "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176, "perf_event_open": 298,
        "userfaultfd": 323, "open_by_handle_at": 304, "reboot": 169, "swapon": 167, "swapoff": 168, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
        "fsmount": 432, "fspick": 433, "mount_setattr": 442, "pidfd_getfd": 438, "acct": 163, "quotactl": 179, "settimeofday": 164,
        "clock_settime": 227, "sethostname": 170, "iopl": 172, "ioperm": 173, "mknod": 133, "mknodat": 259, "personality": 135,
        "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "fchmodat": 268, "fchownat": 260, "fchmodat2": 452,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
        "utime": 132, "utimes": 235, "utimensat": 280, "futimesat": 261,
    }),
    "aarch64": (0xC00000B7, {
        "socket": 198, "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "bpf": 280, "keyctl": 219, "add_key": 217, "request_key": 218,
        "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106, "perf_event_open": 241,
        "userfaultfd": 282, "open_by_handle_at": 265, "reboot": 142, "swapon": 224, "swapoff": 225, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
        "fsmount": 432, "fspick": 433, "mount_setattr": 442, "pidfd_getfd": 438, "acct": 89, "quotactl": 60, "settimeofday": 170,
        "clock_settime": 112, "sethostname": 161, "mknodat": 33, "personality": 92, "fchmod": 52, "fchmodat": 53, "fchownat": 54,
        "fchown": 55, "fchmodat2": 452, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
        "fremovexattr": 16, "utimensat": 88,
    }),
}  # fmt: skip
"""For each architecture its audit number (linux/audit.h) and the numbers of the calls that are refused (asm/unistd.h).

Modes, owners and times of files are among them because Landlock does not cover them."""
_OF_METADATA = frozenset({
    "chmod", "fchmod", "chown", "fchown", "lchown", "fchmodat", "fchownat", "fchmodat2", "setxattr", "lsetxattr", "fsetxattr",
    "removexattr", "lremovexattr", "fremovexattr", "utime", "utimes", "utimensat", "futimesat", "mknod", "mknodat",
})  # fmt: skip
"""Left to what may write: no build does without them."""


def available() -> bool:
    """Whether this system can confine a process: Linux with Landlock, on a known architecture."""
    return sys.platform == "linux" and platform.machine() in _ARCHITECTURES and abi() >= 3


@cache
def abi() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    if sys.platform != "linux":
        return 0
    found = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return max(0, int(found))


def confine(order: dict[str, Any]) -> None:
    """Confine this process and all it starts. Cannot be undone.

    Args:
        order: ``read`` and ``write`` are lists of folders and files. With ``works``, modes and times may be changed and mounts are tried:
            ``keep`` are paths below ``write`` that stay as they are then, ``shared`` the folder that stands in for shared memory.
            ``network``: sockets of the internet are free. ``masked`` are paths in whose place ``empty_file`` or ``empty_folder`` is seen.

    Raises:
        OSError: the system refuses; nothing must be run then.
    """
    libc = _libc()
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if order.get("works"):
        masked = {path: str(order["empty_folder" if os.path.isdir(path) else "empty_file"]) for path in order.get("masked", ())}  # noqa: PTH112
        mounted = _mounts(libc, list(order["write"]), list(order["keep"]), str(order["shared"]), masked)
        if masked and not mounted:
            raise OSError(errno.EPERM, "the sandbox cannot hide the files that a rule denies")
    # Root reads the environment of any process by its capabilities alone, past Landlock; with no new privileges they stay gone.
    _check(libc.syscall(_CAPSET[platform.machine()], struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *(0,) * 6)))
    _files(libc, list(order["read"]), list(order["write"]), network=bool(order.get("network")))
    _calls(libc, works=bool(order.get("works")), network=bool(order.get("network")))


def _mounts(libc: ctypes.CDLL, write: list[str], keep: list[str], shared: str, masked: dict[str, str]) -> bool:
    """Give the process a view of the disk of its own, in which little can be written; False where the system does not let it.

    ``masked``: what is seen in the place of each path, the outermost first; one that lies in a masked folder is gone with it.
    """
    user, group, here = os.geteuid(), os.getegid(), os.getcwd()  # noqa: PTH109
    if libc.unshare(_NEW_MOUNTS | (_NEW_USER if user else 0)) < 0:
        return False
    try:
        if user:
            for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
                with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                    file.write(text)
        _mount(libc, "none", "/", _RECURSIVE | _PRIVATE)
        folders = [path for path in write if os.path.isdir(path)]  # noqa: PTH112
        for path in folders:
            _mount(libc, path, path, _BIND | _RECURSIVE)
        _mount(libc, shared, _SHARED, _BIND)
        _set(libc, "/", put=_READ_ONLY)
        for path in [*folders, _SHARED]:
            _set(libc, path, take=_READ_ONLY)
        for path in keep:
            try:
                _mount(libc, path, path, _BIND | _RECURSIVE)
            except (FileNotFoundError, NotADirectoryError):
                continue  # it went a moment ago: all others stay read-only
            _set(libc, path, put=_READ_ONLY)
        for path in sorted(masked):
            if os.path.lexists(path):
                _mount(libc, masked[path], path, _BIND)
                _set(libc, path, put=_READ_ONLY)
        # The folder it is in is still the one of the view before.
        os.chdir(here)
    except OSError:
        return False
    return True


def _mount(libc: ctypes.CDLL, source: str, target: str, flags: int) -> None:
    _check(libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None))


def _set(libc: ctypes.CDLL, path: str, *, put: int = 0, take: int = 0) -> None:
    attributes = struct.pack("QQQQ", put, take, 0, 0)
    said = libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), _AT_RECURSIVE, attributes, ctypes.c_size_t(len(attributes)))
    _check(said)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the sandbox cannot be set up: {os.strerror(number)}")
    return result


def _files(libc: ctypes.CDLL, read: list[str], write: list[str], *, network: bool) -> None:
    version = abi()
    handled = _FS_BY_ABI[min(version, 5)]
    net = 3 if version >= 4 and not network else 0
    scoped = 3 if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, net, scoped)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _check(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    for paths, rights in ((read, _READ), (write, handled)):
        for path in paths:
            try:
                opened = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                allowed = rights & handled
                if not os.path.isdir(path):  # noqa: PTH112
                    allowed &= _OF_FILES
                rule = struct.pack("=Qi", allowed, opened)
                added = libc.syscall(_ADD_RULE, ruleset, 1, rule, 0)
                # A name that leads to a pipe or a socket, as /dev/stdin does: there is no rule for those, and none is needed.
                if added >= 0 or ctypes.get_errno() != errno.EBADFD:
                    _check(added)
            finally:
                os.close(opened)
    _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _calls(libc: ctypes.CDLL, *, works: bool, network: bool) -> None:
    architecture, numbers = _ARCHITECTURES[platform.machine()]
    refused = sorted({number for name, number in numbers.items() if not (works and name in _OF_METADATA)})
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, refuse, kill = 0x7FFF0000, 0x00050000 | _EPERM, 0x80000000
    # Another architecture's calls have other numbers: whoever makes one is ended.
    lines = [(load, 0, 0, 4), (equal, 1, 0, architecture), (give, 0, 0, kill), (load, 0, 0, 0)]
    # x86_64 takes the same calls a second time, above this number.
    families = len(_FAMILIES)
    lines += [(at_least, (families + 4 if network else 0) + len(refused) + 1, 0, 0x40000000)]
    if network:
        lines += [(equal, 0, families + 3, numbers["socket"]), (load, 0, 0, 16)]
        lines += [(equal, families - place, 0, family) for place, family in enumerate(_FAMILIES)]
        lines += [(give, 0, 0, refuse), (give, 0, 0, allow)]
    lines += [(equal, len(refused) - place, 0, number) for place, number in enumerate(refused)]
    lines += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    program = b"".join(struct.pack("HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(lines), ctypes.addressof(buffer))
    _check(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.c_char_p(header), 0, 0))


def _try_mounts() -> int:
    """The exit status that says whether this process gets mounts of its own."""
    return 0 if _mounts(_libc(), [], [], _SHARED, {}) else 1


if __name__ == "__main__":
    sys.exit(_try_mounts())
