"""90 attempts to escape the sandbox, made for real by a process inside it: none succeeds."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.workspace.processes import landlock_sandbox, sandbox_contents
from tests.workspace.processes.run_launcher import NOBODY, interpreter, launch

pytestmark = pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no Landlock")

PROBES = r"""
import ctypes, errno, fcntl, json, os, resource, shutil, signal, socket, struct, sys

works, root, outside, port, victim, path_socket, datagrams, key, queue = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)

def read(path):
    with open(path, "rb") as file:
        found = file.read(8)
    if not found:
        raise OSError("nothing is there")
    return found

def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result

def connect(family, kind, address):
    made = socket.socket(family, kind)
    made.settimeout(2)
    if kind == socket.SOCK_DGRAM:
        made.sendto(b"x", address)
    else:
        made.connect(address)

def attach():
    if libc.ptrace(16, victim, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    libc.ptrace(17, victim, 0, 0)

def swapped():
    os.symlink(outside, root + "/swap")

def owned():
    # A signal that the kernel sends when there is something to read.
    read_end, write_end = os.pipe()
    fcntl.fcntl(read_end, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(read_end, fcntl.F_SETOWN, victim)
    fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_ASYNC)
    os.write(write_end, b"x")
    raise OSError("whether it arrived is seen by the victim")

def cloned(flags):
    made = call(56 if x86 else 220, ctypes.c_ulong(flags | signal.SIGCHLD), None, None, None, None)
    if made == 0:
        os._exit(0)

inside = root + "/in.txt"
x86 = os.uname().machine == "x86_64"
PROBES = {
    "write in the folder": lambda: write(root + "/new"),
    "overwrite in the folder": lambda: write(inside),
    "append in the folder": lambda: open(inside, "a").write("x"),
    "truncate": lambda: os.truncate(inside, 0),
    "remove": lambda: os.remove(inside),
    "rename": lambda: os.rename(inside, root + "/b"),
    "make a folder": lambda: os.mkdir(root + "/d"),
    "remove a folder": lambda: os.rmdir(root + "/empty"),
    "link": lambda: os.link(inside, root + "/hard"),
    "another name for a file outside": lambda: os.link(outside + "/secret", root + "/hers"),
    "a name outside for a file": lambda: os.link(inside, outside + "/mine"),
    "symbolic link": lambda: swapped(),
    "hook": lambda: write(root + "/.git/hooks/post-checkout"),
    "git settings": lambda: write(root + "/.git/config"),
    "write outside": lambda: write(outside + "/new"),
    "write to /tmp": lambda: write("/tmp/atelier-probe"),
    "write through a link": lambda: write(root + "/away/new"),
    "read outside": lambda: read(outside + "/secret"),
    "read through a link": lambda: read(root + "/away/secret"),
    "read a link of a file": lambda: read(root + "/linked"),
    "read ~/.ssh": lambda: read(os.path.expanduser("~/.ssh/id_rsa")),
    "list the home": lambda: os.listdir(os.path.expanduser("~")),
    "list the root of the disk": lambda: os.listdir("/"),
    "mode": lambda: os.chmod(inside, 0o777),
    "times": lambda: os.utime(inside, (1, 1)),
    "attribute": lambda: os.setxattr(inside, "user.x", b"x"),
    "node": lambda: os.mknod(root + "/node", 0o600),
    "pipe with a name": lambda: os.mkfifo(root + "/fifo"),
    "loopback": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
    "loopback, version 6": lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", port)),
    "datagram": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", datagrams)),
    "socket of Unix": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, path_socket),
    "abstract socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, f"\0atelier-{victim}"),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "raw socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)),
    "memory of another": lambda: open(f"/proc/{victim}/mem", "rb+"),
    "environment of another": lambda: read(f"/proc/{victim}/environ"),
    "its files": lambda: read(f"/proc/{victim}/root{outside}/secret"),
    "its folder": lambda: read(f"/proc/{victim}/cwd/secret"),
    "ptrace": attach,
    "kill another": lambda: os.kill(victim, signal.SIGKILL),
    "mount": lambda: call(165 if x86 else 40, b"none", root.encode(), b"tmpfs", 0, 0),
    "namespaces": lambda: call(272 if x86 else 97, 0x10000000),
    "chroot": lambda: os.chroot(root),
    "io_uring": lambda: call(425, 8, ctypes.create_string_buffer(120)),
    "open by handle": lambda: call(304 if x86 else 265, -100, ctypes.create_string_buffer(64), 0),
    "bpf": lambda: call(321 if x86 else 280, 0, ctypes.create_string_buffer(64), 64),
    "keys": lambda: call(250 if x86 else 219, 0, 0, 0),
    # What reaches other processes of the user past Landlock, the numbers of x86_64 first.
    "limits of another": lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (0, 0)),
    "limits of another, read": lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE),
    "limits, with a high half": lambda: call(302 if x86 else 261, ctypes.c_ulong(victim | 1 << 32), 7,
        struct.pack("QQ", 0, 0), None),
    "priority of another": lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
    "priority of a group": lambda: os.setpriority(os.PRIO_PGRP, victim, 19),
    "priority of the user": lambda: os.setpriority(os.PRIO_USER, os.getuid() or 65533, 19),
    "disk priority of another": lambda: call(251 if x86 else 30, 1, victim, 3 << 13),
    "disk priority of the user": lambda: call(251 if x86 else 30, 3, os.getuid() or 65533, 3 << 13),
    "processors of another": lambda: os.sched_setaffinity(victim, {min(os.sched_getaffinity(0))}),
    "scheduler of another": lambda: os.sched_setscheduler(victim, os.SCHED_BATCH, os.sched_param(0)),
    "scheduler parameter": lambda: os.sched_setparam(victim, os.sched_param(0)),
    "scheduler attributes": lambda: call(314 if x86 else 274, victim,
        struct.pack("IIQiIQQQ", 48, 3, 0, 0, 0, 0, 0, 0), 0),
    "pages of another, moved": lambda: call(256 if x86 else 238, victim, 64, struct.pack("Q", 1), struct.pack("Q", 1)),
    "pages of another, looked at": lambda: call(279 if x86 else 239, victim, 0, None, None, None, 2),
    "locks of another": lambda: call(274 if x86 else 100, victim,
        ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)),
    "compared with another": lambda: call(312 if x86 else 272, victim, victim, 0, 0, 0),
    "advice for another": lambda: call(440, os.pidfd_open(victim), struct.pack("QQ", 0, 0), 1, 4, 0),
    "memory of a dying one": lambda: call(448, os.pidfd_open(victim), 0),
    "file of another": lambda: call(438, os.pidfd_open(victim), 0, 0),
    "signal to a thread": lambda: call(200 if x86 else 130, victim, 9),
    "signal to its thread": lambda: call(234 if x86 else 131, victim, victim, 9),
    "signal to a group": lambda: os.killpg(victim, signal.SIGKILL),
    "signal with a value": lambda: call(129 if x86 else 138, victim, 9,
        struct.pack("iii4xii", 9, 0, -1, os.getpid(), 0) + bytes(104)),
    "signal to a descriptor": lambda: signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGKILL),
    "signal of a pipe": lambda: owned(),
    "perf": lambda: call(298 if x86 else 241, struct.pack("II", 0, 64) + bytes(112), victim, -1, -1, 0),
    "page faults": lambda: call(323 if x86 else 282, 1),
    "command line of another": lambda: read(f"/proc/{victim}/cmdline"),
    "shared memory of others": lambda: call(29 if x86 else 194, key, 0, 0),
    "semaphores of others": lambda: call(64 if x86 else 190, key, 0, 0),
    "messages of others": lambda: call(68 if x86 else 186, key, 0),
    "queue of others": lambda: call(240 if x86 else 180, queue.encode(), 0),
    "queue of others, removed": lambda: call(241 if x86 else 181, queue.encode()),
    "shared memory": lambda: call(29 if x86 else 194, 0, 4096, 0o1600),
    "semaphores": lambda: call(64 if x86 else 190, 0, 1, 0o1600),
    "messages": lambda: call(68 if x86 else 186, 0, 0o1600),
    "namespace of users, by clone": lambda: cloned(0x10000000),
    "namespace of mounts, by clone": lambda: cloned(0x00020000),
    "namespace of users, by clone3": lambda: call(435, struct.pack("QQQQQQQQ", 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64),
    "namespaces of another": lambda: call(308 if x86 else 268, os.pidfd_open(os.getpid()), 0x10000000),
    "mounts as a tree": lambda: call(428, -100, b"/", 1),
    "mounts as a tree, with attributes": lambda: call(467, -100, b"/", 1, struct.pack("QQQQ", 1, 0, 0, 0), 32),
    "attributes of a mount": lambda: call(442, -100, b"/", 0, struct.pack("QQQQ", 0, 1, 0, 0), 32),
    "watch of everything": lambda: call(300 if x86 else 262, 0x200, 0),
    "log of the kernel": lambda: call(103 if x86 else 116, 10, None, 0),
    "time": lambda: call(159 if x86 else 171, ctypes.create_string_buffer(208))
        if os.getuid() else call(227 if x86 else 112, 0, None),
    "name of the machine": lambda: call(170 if x86 else 161, b"x", 1),
    "quota": lambda: call(443, 0, 0x80000700, 0, None),
    "personality": lambda: call(135 if x86 else 92, 0x0040000),
    "attribute by a newer call": lambda: call(463, -100, inside.encode(), 0, b"user.y",
        struct.pack("QII", 0, 0, 0), 16),
    "a program that was written before": lambda: os.execv(outside + "/program", ["program"]),
}
if works:
    del PROBES["a program that was written before"]
write("/dev/null")
assert read(inside)
child = os.fork()
if child == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
escaped = []
for name, probe in PROBES.items():
    try:
        probe()
        escaped.append(name)
    except (OSError, OverflowError):
        pass
os.write(1, json.dumps([len(PROBES), escaped]).encode())
"""


IN_THE_WORKSPACE = {
    *(
        "write in the folder",
        "overwrite in the folder",
        "append in the folder",
        "truncate",
        "remove",
        "rename",
        "make a folder",
    ),
    *("remove a folder", "link", "symbolic link", "mode", "times", "attribute", "node", "pipe with a name"),
}
READING = {"read outside", "read through a link", "read a link of a file", "list the root of the disk"}
"""What an approved command may read; it is reported to nobody."""
TALKS = {"loopback", "loopback, version 6", "datagram", "netlink", "listen"}
OWN_KEYS = {"shared memory", "semaphores", "messages"}
"""With an IPC namespace they reach no other process."""
OWN_PROCESSES = {"priority of the user", "disk priority of the user"}
"""With a PID namespace only the command's own processes are visible."""
PUT_BACK = {"hook", "git settings"}
"""Blocked where there are mounts, otherwise restored afterwards."""
NAMES = {"command line of another"}
"""Visible where /proc shows all processes; useless to an attacker."""


@pytest.mark.parametrize("where", ["this user", "another user", "without namespaces"])
@pytest.mark.parametrize(
    ("kind", "free"),
    [
        ("reading", set()),
        ("workspace", IN_THE_WORKSPACE | READING),
        ("network", IN_THE_WORKSPACE | READING | TALKS),
    ],
)
def test_no_probe_succeeds(
    monkeypatch: pytest.MonkeyPatch, keyed: tuple[int, str], kind: str, free: set[str], where: str
) -> None:
    user = NOBODY if where == "another user" else None
    python = interpreter(user)
    alone = kind != "reading" and where != "without namespaces" and sandbox_contents.has_processes()
    if user is not None and os.geteuid():
        pytest.skip("only root can become somebody else")
    top = Path(tempfile.mkdtemp()).resolve()  # not below pytest's own folder, which only its owner can enter
    top.chmod(0o755)
    root, outside = top / "work", top / "home"
    for folder in (root / ".git/hooks", root / "empty", outside / ".ssh"):
        folder.mkdir(parents=True)
    for file in (root / "in.txt", root / ".git/config", outside / "secret", outside / ".ssh/id_rsa"):
        file.write_text("s3cret")
    (outside / "program").write_text("#!/bin/sh\nexit 0\n")
    (outside / "program").chmod(0o755)
    (root / "away").symlink_to(outside)
    (root / "linked").symlink_to(outside / "secret")
    monkeypatch.chdir(root)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
        subprocess.Popen(["sleep", "60"], cwd=outside, user=user, start_new_session=True) as victim,
    ):
        try:
            datagrams.bind(("127.0.0.1", 0))
            named.bind("s")
            named.listen()
            abstract.bind(f"\0atelier-{victim.pid}")
            abstract.listen()
            ports = (server.getsockname()[1], datagrams.getsockname()[1])
            facts = [kind != "reading", str(root), str(outside), ports[0], victim.pid, "s", ports[1], *keyed]
            monkeypatch.setenv("HOME", str(outside))
            temporary = top / "temporary"
            box = (
                sandbox_contents.reading(root)
                if kind == "reading"
                else sandbox_contents.working([root], temporary, network=kind == "network")
            )
            assert box is not None
            box["read"] += [sys.base_prefix, sys.prefix]
            for path in (top, *top.rglob("*")):
                os.chown(path, user or os.geteuid(), user or os.getegid(), follow_symlinks=False)
            words = (python, "-I", "-c", PROBES, json.dumps(facts))
            ran = launch(
                words,
                root,
                box=box,
                user=user,
                namespaces=where != "without namespaces",
                environment={"HOME": str(outside)},
            )
            assert ran.status == 0, ran.output
            tried, escaped = json.loads(ran.output)
            assert tried >= 90
            allowed = (
                free
                | (OWN_KEYS | OWN_PROCESSES if alone else set())
                | (set() if alone and sandbox_contents.has_proc() else NAMES)
            )
            allowed |= (
                set()
                if where != "without namespaces" and sandbox_contents.has_mounts()
                else PUT_BACK
                if kind != "reading"
                else set()
            )
            assert set(escaped) <= allowed
            assert free & IN_THE_WORKSPACE == set() or {"write in the folder", "remove", "make a folder"} <= set(
                escaped
            )
            assert kind != "network" or {"loopback", "datagram"} <= set(escaped)
            assert not alone or set(escaped) >= OWN_KEYS
            assert victim.poll() is None
            assert Path(f"/proc/{victim.pid}/limits").read_text() == Path("/proc/self/limits").read_text()
            assert os.getpriority(os.PRIO_PROCESS, victim.pid) == os.getpriority(os.PRIO_PROCESS, 0)
            assert free or (root / "in.txt").read_text() == "s3cret"
            assert (root / ".git/config").read_text() == "s3cret"
            assert not list((root / ".git/hooks").iterdir())
            assert (outside / "secret").read_text() == "s3cret"
        finally:
            victim.kill()
            shutil.rmtree(top)


@pytest.fixture(scope="module")
def keyed() -> Iterator[tuple[int, str]]:
    """Shared memory, semaphores and messages under one key, and a named queue, which everybody may use."""
    libc = ctypes.CDLL(None, use_errno=True)
    key, queue = 0x41544C00 | os.getpid() & 0xFF, f"atelier-{os.getpid()}"
    shared, semaphores, messages = libc.shmget(key, 4096, 0o1666), libc.semget(key, 1, 0o1666), libc.msgget(key, 0o1666)
    opened = libc.mq_open(f"/{queue}".encode(), os.O_RDWR | os.O_CREAT, 0o666, None)
    assert min(shared, semaphores, messages, opened) >= 0
    yield key, queue
    libc.shmctl(shared, 0, None)
    libc.semctl(semaphores, 0, 0)
    libc.msgctl(messages, 0, None)
    libc.mq_unlink(f"/{queue}".encode())
    os.close(opened)


def test_a_reading_command_has_no_access_to_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root, other = tmp_path / "home", tmp_path / "work", tmp_path / "other"
    for folder in (home / ".ssh", home / ".config/git", root, other):
        folder.mkdir(parents=True)
    for file in (home / ".ssh/id", home / ".config/git/credentials", home / ".config/git/ignore"):
        file.write_text("x")
    monkeypatch.setenv("HOME", str(home))
    first, second = (
        sandbox_contents.reading(root, shown=[str(home)]),
        sandbox_contents.working([root], tmp_path / "tmp", only=[other]),
    )
    assert first is not None
    assert second is not None
    if "read" not in first:
        pytest.skip("another kind of sandbox")
    ours = {path for path in first["read"] if path.startswith(str(tmp_path))}
    assert ours == {str(root), str(home / ".config/git/ignore")}
    assert {path for path in second["read"] if path.startswith(str(tmp_path))} == {str(root), str(other)}
    for box in (first, second):
        assert not {"/", "/etc", "/etc/shadow", "/home", "/root", "/var", "/tmp"} & set(box["read"])
        assert {"/usr", "/etc/passwd"} <= set(box["read"])


def test_no_persistent_location_is_writable(tmp_path: Path) -> None:
    box = sandbox_contents.reading(tmp_path)
    assert box is not None
    assert str(tmp_path) in box["read"]
    assert not any(Path(path).is_dir() for path in box["write"])


@pytest.mark.skipif(not sandbox_contents.has_mounts(), reason="this system has no mounts for a command")
@pytest.mark.parametrize("user", [None, 65534])
@pytest.mark.parametrize("where", [None, "/dev/shm"], ids=["", "shared memory"])
def test_masked_files_are_empty_and_read_only_ones_stay(user: int | None, where: str | None) -> None:
    if user is not None and os.geteuid():
        pytest.skip("only root can become somebody else")
    top = Path(tempfile.mkdtemp(dir=where)).resolve()  # not below pytest's own folder, which only its owner can enter
    root = top / "work"
    (root / "private").mkdir(parents=True)
    for name in (".env", "private/key", "AGENTS.md", "plain"):
        (root / name).write_text("s3cret")
    box = sandbox_contents.working(
        [root], top / "tmp", read_only=[root / "AGENTS.md"], masked=[root / ".env", root / "private"]
    )
    assert box is not None
    for path in (top, *top.rglob("*")):
        os.chown(path, user or os.geteuid(), user or os.getegid())
    tried = "cat .env; ls -A private; echo x > .env; echo x > AGENTS.md; mv .env gone; rm -rf private; echo made > made"
    try:
        assert confined(box, root, f"{tried}; cat AGENTS.md plain made", user) == "s3crets3cretmade"
        assert [(root / name).read_text() for name in (".env", "private/key", "AGENTS.md")] == ["s3cret"] * 3
        assert (root / "made").read_text() == "made\n"
        reads = sandbox_contents.reading(root, masked=[root / ".env"])
        assert reads is not None
        assert (
            confined(reads, root, "cat .env plain; echo x > plain; echo x > /dev/shm/x; ls /dev/shm/x", user)
            == "s3cret"
        )
        assert (root / "plain").read_text() == "s3cret"
    finally:
        shutil.rmtree(top)


def confined(box: Mapping[str, Any], root: Path, tried: str, user: int | None) -> str:
    """The output of some commands in a sandbox."""
    script = """
import ctypes, json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from landlock_sandbox import confine
box, user = json.loads(sys.stdin.read()), int(sys.argv[2])
if user:
    os.setgroups([]), os.setgid(user), os.setuid(user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as a process that was started by this user
confine(box)
print(subprocess.run(sys.argv[3], shell=True, text=True, capture_output=True).stdout)
"""
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script, str(Path(landlock_sandbox.__file__).parent), str(user or 0), tried],
        input=json.dumps(box), cwd=root, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert not ran.stderr, ran.stderr
    return ran.stdout.strip()
