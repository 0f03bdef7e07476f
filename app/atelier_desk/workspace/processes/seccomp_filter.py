"""The system calls that the sandbox refuses, as a seccomp filter. A leaf: the launcher loads it as a file.

Landlock covers files, and of other processes only ptrace and, from version 6 on, signals. The tables result from
reviewing all calls of Linux 6.18 (``syscall_64.tbl``, ``asm-generic/unistd.h``): every call that takes a process, a
thread, a user, a process group or a key, or otherwise affects something beyond the process and the files it may open.
Calls in none of the tables affect only the caller, its children and its open files.
"""

import ctypes
import errno
import os
import platform
import struct

ALWAYS = {
    "sockets": "socket",
    "other processes": "ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd perf_event_open userfaultfd",
    "mounts, namespaces, another root": (
        "mount umount2 pivot_root chroot unshare setns open_tree open_tree_attr move_mount fsopen fsconfig fsmount "
        "fspick mount_setattr"
    ),
    "files past their paths": (
        "open_by_handle_at fanotify_init fanotify_mark mknod mknodat uselib lookup_dcookie quotactl quotactl_fd acct"
    ),
    "calls that no filter sees": "io_uring_setup io_uring_enter io_uring_register",
    "keys of the kernel, which belong to a user": "keyctl add_key request_key",
    "the system as a whole": (
        "bpf kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff settimeofday "
        "clock_settime adjtimex clock_adjtime sethostname setdomainname iopl ioperm personality syslog vhangup"
    ),
}
"""Refused in every sandbox, grouped by what they affect."""
METADATA = (
    "chmod fchmod chown fchown lchown fchmodat fchownat fchmodat2 setxattr lsetxattr fsetxattr setxattrat "
    "removexattr lremovexattr "
    "fremovexattr removexattrat utime utimes utimensat futimesat mknod mknodat file_setattr"
)
"""Modes, owners and times of files, which Landlock does not cover.

Allowed in writing sandboxes: no build works without them.
"""
KEYS = (
    "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink "
    "mq_timedsend "
    "mq_timedreceive mq_notify mq_getsetattr"
)
"""System V and POSIX shared memory, semaphores and queues, accessible by key or name to every process of the user.

Refused unless the command has its own IPC namespace: fakeroot and PostgreSQL need them.
"""
PROCESSES = "process_madvise process_mrelease"
"""Take a process as a descriptor. Refused unless the command has its own PID namespace."""
F_SETPIPE_SZ = 1031
PIPE_BYTES = 64 * 1024
"""Default capacity of a pipe (pipe(7)).

Larger ones are refused: only our own limit (``usage``) counts data in pipes.
"""
_CALLER = {0: 0}
OWN = {
    "prlimit64": _CALLER, "sched_setaffinity": _CALLER, "sched_setscheduler": _CALLER, "sched_setparam": _CALLER,
    "sched_setattr": _CALLER, "migrate_pages": _CALLER, "move_pages": _CALLER, "get_robust_list": _CALLER,
    "setpriority": {0: 0, 1: 0}, "ioprio_set": {0: 1, 1: 0},
}  # fmt: skip
"""Take a process by number, with the user's rights.

Unless the command has its own PID namespace, the arguments at these positions must have these values: 0 for the caller
itself, and a process instead of a group or all of a user.
"""
LEFT = {
    "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal fcntl": (
        "Signals, for fcntl those of F_SETOWN. A PID namespace has no other processes; without one Landlock keeps "
        "them to "
        "the sandbox from version 6 on (Linux 6.12). No filter can tell one's own children from others, so with "
        "neither "
        "they reach all of the user's processes: ``doctor`` says so."
    ),
    "pidfd_open": "The descriptor tells when a process ends; what acts through one is refused or is a signal.",
    "setpgid setsid": "The kernel takes the caller and its children alone.",
    "wait4 waitid": "Children alone.",
    "getpgid getsid getpriority ioprio_get sched_getaffinity sched_getscheduler sched_getparam sched_getattr "
    "sched_rr_get_interval capget": "Only tell how a process is scheduled or grouped, as /proc does.",
    "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset": (
        "The command has no capabilities and gets none: among its own users and groups alone."
    ),
    "clock_gettime timer_create": "The processor time that another process used; not what it does.",
    "name_to_handle_at statmount listmount listns inotify_add_watch": (
        "Tell of mounts and of what happens below a folder, no content; watchers of builds need inotify."
    ),
    "prctl seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self": (
        "Only ever narrow the caller and its children; PR_SCHED_CORE asks for the rights of ptrace, which Landlock "
        "refuses."
    ),
    "socketpair pipe2 memfd_create mmap": (
        "Reached by nobody who was not given the descriptor or forked from the caller."
    ),
    "sync syncfs": "Wait for the disk; change nothing.",
}
"""Calls that take a process, a user or the like and are allowed, each with the reason."""
_NEW = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""Namespace flags of clone(2)."""
_FAMILIES = (2, 10, 16)
"""Sockets needed for networking: IPv4, IPv6, and netlink for name resolution (socket(2))."""

_SAME = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "process_mrelease": 448, "fchmodat2": 452,
    "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467, "file_setattr": 469,
}  # fmt: skip
ARCHITECTURES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (0xC000003E, _SAME | {
        "socket": 41, "clone": 56, "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
        "unshare": 272, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "bpf": 321,
        "keyctl": 250, "add_key": 248, "request_key": 249, "kexec_load": 246, "kexec_file_load": 320,
        "init_module": 175, "finit_module": 313, "delete_module": 176, "perf_event_open": 298, "userfaultfd": 323,
        "open_by_handle_at": 304, "fanotify_init": 300, "fanotify_mark": 301, "uselib": 134, "lookup_dcookie": 212,
        "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "settimeofday": 164,
        "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171,
        "iopl": 172, "ioperm": 173, "syslog": 103, "vhangup": 153, "mknod": 133, "mknodat": 259, "personality": 135,
        "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "fchmodat": 268, "fchownat": 260,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
        "fremovexattr": 199, "utime": 132, "utimes": 235, "utimensat": 280, "futimesat": 261, "shmget": 29,
        "shmat": 30, "shmctl": 31, "shmdt": 67, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220,
        "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "mq_open": 240, "mq_unlink": 241,
        "mq_timedsend": 242, "mq_timedreceive": 243, "mq_notify": 244, "mq_getsetattr": 245, "prlimit64": 302,
        "sched_setaffinity": 203, "sched_setscheduler": 144, "sched_setparam": 142, "sched_setattr": 314,
        "migrate_pages": 256, "move_pages": 279, "get_robust_list": 274, "setpriority": 141, "ioprio_set": 251,
        "fcntl": 72,
    }),
    "aarch64": (0xC00000B7, _SAME | {
        "socket": 198, "clone": 220, "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
        "unshare": 97, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "bpf": 280,
        "keyctl": 219, "add_key": 217, "request_key": 218, "kexec_load": 104, "kexec_file_load": 294,
        "init_module": 105, "finit_module": 273, "delete_module": 106, "perf_event_open": 241, "userfaultfd": 282,
        "open_by_handle_at": 265, "fanotify_init": 262, "fanotify_mark": 263, "lookup_dcookie": 18, "reboot": 142,
        "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60, "settimeofday": 170, "clock_settime": 112,
        "adjtimex": 171, "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162, "syslog": 116,
        "vhangup": 58, "mknodat": 33, "personality": 92, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55,
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
        "utimensat": 88, "shmget": 194, "shmctl": 195, "shmat": 196, "shmdt": 197, "semget": 190, "semctl": 191,
        "semtimedop": 192, "semop": 193, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "mq_open": 180,
        "mq_unlink": 181, "mq_timedsend": 182, "mq_timedreceive": 183, "mq_notify": 184, "mq_getsetattr": 185,
        "prlimit64": 261, "sched_setaffinity": 122, "sched_setscheduler": 119, "sched_setparam": 118,
        "sched_setattr": 274, "migrate_pages": 238, "move_pages": 239, "get_robust_list": 100, "setpriority": 140,
        "ioprio_set": 30, "fcntl": 25,
    }),
}  # fmt: skip
"""By architecture.

Its audit number (linux/audit.h) and the numbers of the calls above (asm/unistd.h), where they exist.
"""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_PR_SET_SECCOMP = 22


def names(*, works: bool, network: bool, alone: bool) -> set[str]:
    """Return the calls that are refused regardless of arguments.

    Args:
        works: it may write files, so it may change their modes and times.
        network: internet sockets are allowed.
        alone: it has its own PID and IPC namespaces.
    """
    found = set(" ".join(ALWAYS.values()).split())
    found = found - set(METADATA.split()) if works else found | set(METADATA.split())
    if network:
        found.discard("socket")
    return found if alone else found | set(KEYS.split()) | set(PROCESSES.split())


def program(machine: str, *, works: bool, network: bool, alone: bool) -> bytes:
    """Return the filter (struct sock_filter of linux/filter.h) for an architecture; arguments as in ``names``."""
    architecture, numbers = ARCHITECTURES[machine]
    refuse = (_GIVE, 0, 0, _ERROR | errno.EPERM)
    # Another architecture's calls have other numbers: a process that makes one is killed. x86_64 accepts the same calls
    # a second time above a number.
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_GIVE, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
    lines += [(_AT_LEAST, 0, 1, 0x40000000), refuse]
    refused = names(works=works, network=network, alone=alone) & numbers.keys()
    for name in sorted(refused):
        lines += [(_EQUAL, 0, 1, numbers[name]), refuse]
    # Its arguments are in memory, where filters cannot look. Told that the call does not exist, programs use the older
    # one.
    lines += [(_EQUAL, 0, 1, numbers["clone3"]), (_GIVE, 0, 0, _ERROR | errno.ENOSYS)]
    checks = {"clone": [_argument(0), (_ANY_BIT, 0, 1, _NEW), refuse]}
    checks["fcntl"] = [
        _argument(1),
        (_EQUAL, 0, 3, F_SETPIPE_SZ),
        _argument(2),
        (_AT_LEAST, 0, 1, PIPE_BYTES + 1),
        refuse,
    ]
    if not alone:
        # A process number is an int: the kernel uses only the low half of the argument.
        for name, values in OWN.items():
            checks[name] = []
            for place, value in values.items():
                checks[name] += [_argument(place), (_EQUAL, 1, 0, value), refuse]
    if network:
        free = [(_EQUAL, len(_FAMILIES) - place, 0, family) for place, family in enumerate(_FAMILIES)]
        checks["socket"] = [_argument(0), *free, refuse]
    for name, tests in checks.items():
        lines += [(_EQUAL, 0, len(tests) + 1, numbers[name]), *tests, (_GIVE, 0, 0, _ALLOW)]
    lines += [(_GIVE, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _argument(place: int) -> tuple[int, int, int, int]:
    """Load the low half of an argument; both architectures are little-endian."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * place)


def install(libc: ctypes.CDLL, *, works: bool, network: bool, alone: bool) -> None:
    """Irrevocably filter the calls of this process and everything it starts.

    Raises ``OSError`` if the system refuses.
    """
    lines = program(platform.machine(), works=works, network=network, alone=alone)
    buffer = ctypes.create_string_buffer(lines, len(lines))
    header = struct.pack("HP", len(lines) // 8, ctypes.addressof(buffer))
    if libc.prctl(_PR_SET_SECCOMP, 2, ctypes.c_char_p(header), 0, 0) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the sandbox cannot be set up: {os.strerror(number)}")
