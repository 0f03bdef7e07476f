"""A Linux sandbox made of system calls only: Landlock for files, seccomp for the rest. A leaf: the launcher loads it as
a file.

A confined process reads only the given folders, writes only to the given ones, and has no network: no sockets of any
family (Landlock alone would allow UDP), and no calls that affect other processes, mount or load code
(``seccomp_filter``). It needs no privileges and confines root too.

If the system allows namespaces (``linux_namespaces``), everything except the writable folders is also read-only, as are
protected paths in these, and other processes are invisible. Landlock covers none of this, nor modes, owners and times
of files.
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
"""File rights by Landlock version (kernel documentation, "Landlock: unprivileged access control")."""
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS = 38
_MACHINES = ("x86_64", "aarch64")
"""The architectures of ``seccomp_filter.ARCHITECTURES``."""


def available() -> bool:
    """Whether this system can confine a process: Linux with Landlock, on a known architecture."""
    return sys.platform == "linux" and platform.machine() in _MACHINES and abi() >= 3


@cache
def abi() -> int:
    """Return the kernel's Landlock version; 0 if unsupported."""
    if sys.platform != "linux":
        return 0
    found = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return max(0, int(found))


def confine(order: dict[str, Any], forked: Any = None) -> None:
    """Irrevocably confine this process and everything it starts.

    Args:
        order: ``read`` and ``write`` are lists of folders and files. With ``works``, modes and times may be changed and
            mounts are tried: ``keep`` are paths below ``write`` that are then read-only, ``shared`` the folder that
            replaces shared memory. ``pinned`` are folders below ``write`` that cannot be renamed, ``network`` allows
            internet sockets. ``masked``, with or without ``works``, are paths replaced by ``empty_file`` or
            ``empty_folder``.
        forked: how this process was created, by ``linux_namespaces.fork``; without it at most mounts are available. If
            it has its own namespaces, this returns in a process that it starts: the command is not the first in them.

    Raises:
        OSError: the system refuses; nothing must be run then.
    """
    # The folder of these files is on the caller's path (``here`` in ``launch``).
    import linux_namespaces  # type: ignore[import-not-found]
    import seccomp_filter  # type: ignore[import-not-found]

    libc = _libc()
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    works, network, alone = bool(order.get("works")), bool(order.get("network")), forked is not None and forked.alone
    if works or order.get("masked"):
        masked = {
            path: str(order["empty_folder" if os.path.isdir(path) else "empty_file"])  # noqa: PTH112
            for path in order.get("masked", ())
        }
        keep, pinned = list(order.get("keep", ())), list(order.get("pinned", ()))
        view = linux_namespaces.View(
            list(order["write"]), list(order["read"]), keep, str(order["shared"]), masked, pinned
        )
        mounted = forked.mounts(view) if alone else linux_namespaces.mounts(view)
        if masked and not mounted:
            raise OSError(errno.EPERM, "the sandbox cannot hide the files that a rule denies")
    if alone:
        forked.begin()
    # Capabilities alone let root read any process's environment, past Landlock; with no_new_privs they cannot return.
    linux_namespaces.drop_capabilities(libc)
    _files(libc, list(order["read"]), list(order["write"]), network=network)
    seccomp_filter.install(libc, works=works, network=network, alone=alone)


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
                # A name that leads to a pipe or a socket, as /dev/stdin does: no rule is possible or needed.
                if added >= 0 or ctypes.get_errno() != errno.EBADFD:
                    _check(added)
            finally:
                os.close(opened)
    _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)
