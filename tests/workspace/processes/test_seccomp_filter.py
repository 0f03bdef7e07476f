"""The system call filter, on both architectures: which calls it allows, by number and arguments."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from atelier_desk.workspace.processes import seccomp_filter

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
MISSING = 0x00050000 | errno.ENOSYS
MACHINES = tuple(seccomp_filter.ARCHITECTURES)
NEW_USER, THREAD = 0x10000000, 0x003D0F00
HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


def run(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """The kernel's verdict on a call (classic BPF, Documentation/networking/filter.rst)."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(each % 2**64 for each in (*arguments, *(0,) * 6)[:6]))
    lines = list(struct.iter_unpack("HBBI", program))
    at = loaded = 0
    while True:
        code, yes, no, value = lines[at]
        at += 1
        match code:
            case 0x20:
                loaded = int.from_bytes(data[value : value + 4], "little")
            case 0x15:
                at += yes if loaded == value else no
            case 0x35:
                at += yes if loaded >= value else no
            case 0x45:
                at += yes if loaded & value else no
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(code)


WORKS, READS = {"works": True, "network": False}, {"works": False, "network": False}
CALLS = [
    # call, arguments, the verdict with namespaces, and without
    ("fcntl", (3, 1031, 1 << 16), ALLOW, ALLOW), ("fcntl", (3, 1031, (1 << 16) + 1), REFUSE, REFUSE),
    ("fcntl", (3, 1031, -1), REFUSE, REFUSE), ("fcntl", (3, 1032, 1 << 20), ALLOW, ALLOW),
    ("prlimit64", (0,), ALLOW, ALLOW), ("prlimit64", (7,), ALLOW, REFUSE), ("prlimit64", (-1,), ALLOW, REFUSE),
    ("prlimit64", (1 << 32,), ALLOW, ALLOW), ("prlimit64", (1 << 32 | 7,), ALLOW, REFUSE),
    ("sched_setaffinity", (0,), ALLOW, ALLOW), ("sched_setaffinity", (7,), ALLOW, REFUSE),
    ("sched_setscheduler", (7,), ALLOW, REFUSE), ("sched_setparam", (7,), ALLOW, REFUSE),
    ("sched_setattr", (7,), ALLOW, REFUSE),
    ("setpriority", (0, 0, 5), ALLOW, ALLOW), ("setpriority", (0, 7, 5), ALLOW, REFUSE),
    ("setpriority", (1, 0, 5), ALLOW, REFUSE),
    ("setpriority", (2, 0, 5), ALLOW, REFUSE), ("ioprio_set", (1, 0, 1), ALLOW, ALLOW),
    ("ioprio_set", (1, 7, 1), ALLOW, REFUSE),
    ("ioprio_set", (3, 0, 1), ALLOW, REFUSE), ("move_pages", (0,), ALLOW, ALLOW), ("move_pages", (7,), ALLOW, REFUSE),
    ("migrate_pages", (7,), ALLOW, REFUSE), ("get_robust_list", (7,), ALLOW, REFUSE),
    *((name, (), ALLOW, REFUSE) for name in (seccomp_filter.KEYS + " " + seccomp_filter.PROCESSES).split()),
    ("clone", (THREAD,), ALLOW, ALLOW), ("clone", (17,), ALLOW, ALLOW), ("clone", (NEW_USER | 17,), REFUSE, REFUSE),
    ("clone", (0x20000000 | 17,), REFUSE, REFUSE), ("clone3", (), MISSING, MISSING), ("unshare", (0,), REFUSE, REFUSE),
    ("kcmp", (), REFUSE, REFUSE), ("ptrace", (), REFUSE, REFUSE), ("setns", (), REFUSE, REFUSE),
    ("socket", (2,), REFUSE, REFUSE),
    ("fanotify_init", (), REFUSE, REFUSE), ("open_tree_attr", (), REFUSE, REFUSE), ("fchmod", (), ALLOW, ALLOW),
    ("file_setattr", (), ALLOW, ALLOW), ("setxattrat", (), ALLOW, ALLOW),
]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_by_their_arguments(machine: str) -> None:
    architecture, numbers = seccomp_filter.ARCHITECTURES[machine]
    programs = [seccomp_filter.program(machine, works=True, network=False, alone=alone) for alone in (True, False)]
    for name, arguments, *expected in CALLS:
        said = [run(program, architecture, numbers[name], *arguments) for program in programs]
        assert said == expected, (name, arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_reading_command_changes_no_metadata_and_has_no_keys(machine: str) -> None:
    architecture, numbers = seccomp_filter.ARCHITECTURES[machine]
    program = seccomp_filter.program(machine, works=False, network=False, alone=False)
    for name in (seccomp_filter.METADATA + " " + seccomp_filter.KEYS).split():
        assert name not in numbers or run(program, architecture, numbers[name]) == REFUSE, name


@pytest.mark.parametrize("machine", MACHINES)
def test_only_internet_sockets_are_allowed(machine: str) -> None:
    architecture, numbers = seccomp_filter.ARCHITECTURES[machine]
    program = seccomp_filter.program(machine, works=True, network=True, alone=True)
    said = {family: run(program, architecture, numbers["socket"], family) for family in range(46)}
    assert {family for family, verdict in said.items() if verdict == ALLOW} == {2, 10, 16}
    assert run(program, architecture, numbers["socket"], 1 << 32 | 1) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_not_a_bypass(machine: str) -> None:
    program = seccomp_filter.program(machine, works=True, network=True, alone=True)
    assert run(program, 0x40000003, 1) == KILL
    assert run(program, seccomp_filter.ARCHITECTURES[machine][0], 0x40000000 + 1) == REFUSE


def test_every_call_of_the_tables_is_decided_once() -> None:
    left = [name for names in seccomp_filter.LEFT for name in names.split()]
    refused = seccomp_filter.names(works=False, network=False, alone=False)
    assert len(left) == len(set(left))
    assert refused & {*left, *seccomp_filter.OWN} == set()
    known = set().union(*(numbers for _, numbers in seccomp_filter.ARCHITECTURES.values()))
    assert refused | {*seccomp_filter.OWN, "clone", "clone3", "fcntl"} == known


@pytest.mark.parametrize("machine", MACHINES)
def test_the_call_numbers_are_those_of_the_kernel(machine: str) -> None:
    file = Path(HEADERS[machine])
    if not file.exists():
        pytest.skip("the headers of the kernel are not installed")
    numbers = seccomp_filter.ARCHITECTURES[machine][1]
    assert len(set(numbers.values())) == len(numbers)
    real = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", file.read_text())}
    assert {name: real[name] for name in numbers if name in real} == {
        name: numbers[name] for name in numbers if name in real
    }
    assert len(real.keys() & numbers.keys()) > 80
