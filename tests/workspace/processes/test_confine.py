"""40 ways out of the sandbox, tried for real by a process that stands in it: none succeeds."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from atelier_desk.workspace.processes import confine, sandbox

pytestmark = pytest.mark.skipif(not sandbox.available(), reason="this system has no Landlock")

PROBES = r"""
import ctypes, json, os, shutil, signal, socket, struct, sys

sys.path.insert(0, sys.argv[1])
from confine import confine

root, outside, port, victim, path_socket, datagrams = json.loads(sys.argv[2])
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
    "a program that was written before": lambda: os.execv(outside + "/program", ["program"]),
}
order = json.loads(sys.stdin.read())
if order.get("works"):
    del PROBES["a program that was written before"]
confine(order)
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
    except OSError:
        pass
os.write(1, json.dumps([len(PROBES), escaped]).encode())
"""


IN_THE_WORKSPACE = {
    *("write in the folder", "overwrite in the folder", "append in the folder", "truncate", "remove", "rename", "make a folder"),
    *("remove a folder", "link", "symbolic link", "mode", "times", "attribute", "node", "pipe with a name"),
}
READING = {"read outside", "read through a link", "read a link of a file", "list the root of the disk"}
"""What a command that was allowed may read; it is told to nobody."""
TALKS = {"loopback", "loopback, version 6", "datagram", "netlink", "listen"}


@pytest.mark.parametrize(
    ("kind", "free"),
    [
        ("reading", set()),
        ("workspace", IN_THE_WORKSPACE | READING),
        ("network", IN_THE_WORKSPACE | READING | TALKS),
    ],
)
def test_no_probe_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, free: set[str]) -> None:
    root, outside = tmp_path / "work", tmp_path / "home"
    for folder in (root / ".git/hooks", root / "empty", outside / ".ssh"):
        folder.mkdir(parents=True)
    for file in (root / "in.txt", root / ".git/config", outside / "secret", outside / ".ssh/id_rsa"):
        file.write_text("s3cret")
    (outside / "program").write_text("#!/bin/sh\nexit 0\n")
    (outside / "program").chmod(0o755)
    (root / "away").symlink_to(outside)
    (root / "linked").symlink_to(outside / "secret")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
        subprocess.Popen(["sleep", "60"], cwd=outside) as victim,
    ):
        try:
            datagrams.bind(("127.0.0.1", 0))
            path = os.path.relpath(root / "s")
            named.bind(path)
            named.listen()
            abstract.bind(f"\0atelier-{victim.pid}")
            abstract.listen()
            facts = [
                str(root),
                str(outside),
                server.getsockname()[1],
                victim.pid,
                os.path.relpath(root / "s", root),
                datagrams.getsockname()[1],
            ]
            monkeypatch.setenv("HOME", str(outside))
            temporary = tmp_path / "temporary"
            box = sandbox.reading(root) if kind == "reading" else sandbox.working([root], temporary, network=kind == "network")
            assert box is not None
            box["read"] += [sys.base_prefix, sys.prefix]
            ran = subprocess.run(
                [
                    sys.executable,
                    "-I",
                    "-c",
                    PROBES,
                    str(Path(confine.__file__).parent),
                    json.dumps(facts),
                ],
                input=json.dumps(box),
                env={"HOME": str(outside), "PATH": os.environ["PATH"]},
                cwd=root,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr
            tried, escaped = json.loads(ran.stdout)
            assert tried >= 40
            assert set(escaped) <= free
            assert free & IN_THE_WORKSPACE == set() or {"write in the folder", "remove", "make a folder"} <= set(escaped)
            assert kind != "network" or {"loopback", "datagram"} <= set(escaped)
            assert victim.poll() is None
        finally:
            victim.kill()
    assert free or (root / "in.txt").read_text() == "s3cret"
    assert (root / ".git/config").read_text() == "s3cret"
    assert (outside / "secret").read_text() == "s3cret"


def test_what_only_reads_gets_no_access_to_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root, other = tmp_path / "home", tmp_path / "work", tmp_path / "other"
    for folder in (home / ".ssh", home / ".config/git", root, other):
        folder.mkdir(parents=True)
    for file in (home / ".ssh/id", home / ".config/git/credentials", home / ".config/git/ignore"):
        file.write_text("x")
    monkeypatch.setenv("HOME", str(home))
    first, second = sandbox.reading(root, shown=[str(home)]), sandbox.working([root], tmp_path / "tmp", only=[other])
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


def test_nothing_that_keeps_anything_may_be_written(tmp_path: Path) -> None:
    box = sandbox.reading(tmp_path)
    assert box is not None
    assert str(tmp_path) in box["read"]
    assert not any(Path(path).is_dir() for path in box["write"])


@pytest.mark.skipif(not sandbox.has_mounts(), reason="this system has no mounts for a command")
@pytest.mark.parametrize("user", [None, 65534])
def test_masked_files_are_empty_and_read_only_ones_stay(user: int | None) -> None:
    if user is not None and os.geteuid():
        pytest.skip("only root can become somebody else")
    top = Path(tempfile.mkdtemp()).resolve()  # not below pytest's own folder, which its owner alone can enter
    root = top / "work"
    (root / "private").mkdir(parents=True)
    for name in (".env", "private/key", "AGENTS.md", "plain"):
        (root / name).write_text("s3cret")
    box = sandbox.working([root], top / "tmp", read_only=[root / "AGENTS.md"], masked=[root / ".env", root / "private"])
    assert box is not None
    for path in (top, *top.rglob("*")):
        os.chown(path, user or os.geteuid(), user or os.getegid())
    script = """
import ctypes, json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from confine import confine
box, user = json.loads(sys.stdin.read()), int(sys.argv[2])
if user:
    os.setgroups([]), os.setgid(user), os.setuid(user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as a process that was started by this user
confine(box)
tried = "cat .env; ls -A private; echo x > .env; echo x > AGENTS.md; mv .env gone; rm -rf private; echo made > made"
tried += "; cat AGENTS.md plain made"
print(subprocess.run(tried, shell=True, text=True, capture_output=True).stdout)
"""
    try:
        ran = subprocess.run(
            [sys.executable, "-I", "-c", script, str(Path(confine.__file__).parent), str(user or 0)],
            input=json.dumps(box), cwd=root, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert ran.stdout.strip() == "s3crets3cretmade", ran.stderr
        assert [(root / name).read_text() for name in (".env", "private/key", "AGENTS.md")] == ["s3cret"] * 3
    finally:
        shutil.rmtree(top)
