"""Commands end with all their descendants and report why: with namespaces, as another user, and where the system
has none.
"""

# judges: app/atelier_desk/workspace/processes/sandbox_contents.py
from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from atelier_desk.workspace.processes import sandbox_contents
from atelier_desk.workspace.processes.command_process import SUPERVISED, Limits
from tests.workspace.processes.launcher_fixtures import WHERE, left, root, run, started, until
from tests.workspace.processes.run_launcher import FOLDER, interpreter, launch

__all__ = ["root"]

pytestmark = pytest.mark.skipif(not SUPERVISED or not sandbox_contents.available(), reason="this system has no sandbox")

MB = 1024**2


SHELL = ("/bin/bash", "-c")


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("true", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("kill -SEGV $$", 139),
        ("sh -c 'kill -9 $$'", 137),
        ("kill -INT $$", 130), ("kill -HUP $$", 129), ("exec /nowhere", 127),
        ("trap '' PIPE; yes | head -1 >/dev/null; exit 3", 3),
    ],
)  # fmt: skip
def test_the_status_is_that_of_the_command(root: Path, where: str, line: str, status: int) -> None:
    assert run(root, (*SHELL, line), where).status == status


def test_a_program_that_cannot_be_started_is_reported(root: Path) -> None:
    ran = run(root, ("/nowhere/program",))
    assert (ran.status, "No such file" in ran.output) == (126, True)


@pytest.mark.skipif(not sandbox_contents.has_processes(), reason="this system has no PID namespaces")
@pytest.mark.parametrize("where", ["namespaces", "another user"])
def test_a_command_sees_no_other_processes(root: Path, where: str) -> None:
    ran = run(
        root,
        (*SHELL, "echo $$ $PPID $(ps -o pgid= -o sid= -p $$); ls /proc | grep -c '^[0-9]'; exec cat /proc/sysvipc/shm"),
        where,
    )
    numbers, count, *shared = ran.output.splitlines()
    assert numbers.split() == ["2", "1", "2", "2"]
    assert int(count) <= 6 or not sandbox_contents.has_proc()
    assert len(shared) == 1  # the column headings


ORPHANS = """
import os, sys, time
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 100)
        time.sleep(300)
if "chain" in sys.argv:
    for number in range(4):
        if os.fork() == 0:
            os.setsid()
            os.closerange(0, 100)
            end = time.monotonic() + 60
            while time.monotonic() < end:  # ended and somebody else before anybody could look
                if os.fork():
                    os._exit(0)
if "limits" in sys.argv:
    import resource
    try:
        resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))
    except PermissionError:
        pass
time.sleep(0.3)
print("over")
"""


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("kind", ["plain", "chain", "limits"])
def test_no_descendant_survives(root: Path, where: str, kind: str) -> None:
    mark = f"mark-{root.parent.name}"
    ran = run(root, ("python", "-I", "-c", ORPHANS, kind, mark), where)
    assert (ran.status, ran.output) == (0, "over\n")
    assert ran.report["left"] is False
    assert left(mark) == []


def test_a_launcher_that_sees_no_processes_still_ends_them_all(root: Path) -> None:
    """Without a sandbox a command can close its descriptors; then the kernel is asked for its children one by one."""
    mark = f"mark-{root.parent.name}"
    ran = launch((interpreter(None), "-I", "-c", ORPHANS, "limits", mark), root, box=None)
    assert (ran.status, ran.output, ran.report["left"]) == (0, "over\n", False)
    assert left(mark) == []


def test_a_command_that_can_no_longer_be_watched_is_ended(root: Path) -> None:
    script = "import os, resource, time; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0)); time.sleep(60)"
    ran = launch((interpreter(None), "-I", "-c", script), root, box=None)
    assert (ran.status, ran.report["why"]) == (137, "unknown")


GENTLE = """
trap 'echo parent; exit 9' TERM
(trap 'for i in 1 2 3; do :; done; echo child; exit' TERM; echo ready; while :; do sleep 0.01; done) &
while :; do sleep 0.01; done
"""


async def test_a_command_and_its_descendants_end_gracefully(root: Path) -> None:
    process = await started(root, GENTLE)
    await until(process, "ready")
    await process.end()
    assert (process.status, process.ended_by) == (9, "stopped")
    assert {"child", "parent"} <= set(process.output.shown().text.split())


async def test_a_command_gets_its_input(root: Path) -> None:
    process = await started(root, "read a; echo got $a; cat >/dev/null; echo end", interactive=True)
    await process.write("x\n")
    await until(process, "got x")
    await process.write("", close=True)
    assert await process.wait(20)
    assert (process.status, process.output.shown().text) == (0, "got x\nend\n")


@pytest.mark.skipif(not sandbox_contents.has_processes(), reason="this system has no PID namespaces")
async def test_a_command_ends_with_its_launcher(root: Path) -> None:
    mark = f"mark-{root.parent.name}"
    process = await started(root, f"setsid bash -c 'echo ready; sleep 300; :' {mark} & sleep 300; : {mark}")
    await until(process, "ready")
    watched = [psutil.Process(pid) for pid in left(mark)]
    assert watched
    os.kill(process.pid, signal.SIGKILL)
    gone, alive = await asyncio.to_thread(psutil.wait_procs, watched, 10)
    assert (len(gone), alive) == (len(watched), [])
    # And so that its pipe is closed before the loop is.
    assert await process.wait(20)


SHARED = """
import ctypes, mmap, os, resource, sys, time
size, part = 160 << 20, b"x" * (1 << 20)
how = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
if how in ("open", "closed"):
    file = os.memfd_create("a")
    for _ in range(160):
        os.write(file, part)
if how == "closed":
    mapped = mmap.mmap(file, size)
    os.close(file)
if how == "given back":
    mapped = mmap.mmap(-1, size)
    for place in range(160):
        mapped[place << 20 : (place + 1) << 20] = part
        mapped.madvise(mmap.MADV_DONTNEED)
if how == "detached":
    resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))  # who counts it cannot be kept from it
    for _ in range(10):
        at = libc.shmat(libc.shmget(0, 16 << 20, 0o1600), None, 0)
        ctypes.memset(at, 1, 16 << 20)
        libc.shmdt(ctypes.c_void_p(at))
if how == "own":
    held = bytearray(b"x") * size
if how == "shared by four":
    mapped = mmap.mmap(-1, 40 << 20)
    mapped[:] = b"x" * len(mapped)
    for _ in range(3):
        if os.fork() == 0:
            mapped[::4096]
            time.sleep(1)
            os._exit(0)
    time.sleep(1)
    sys.exit(0)
time.sleep(30)
"""


@pytest.mark.parametrize("where", ["namespaces", "another user"])
@pytest.mark.parametrize(
    ("how", "why"),
    [("open", "memory"), ("closed", "memory"), ("given back", "memory"), ("own", "memory"), ("shared by four", "")],
)
def test_shared_memory_counts_once(root: Path, where: str, how: str, why: str) -> None:
    ran = run(root, ("python", "-I", "-c", SHARED, how), where, limits=Limits(memory=120 * MB))
    assert (ran.report["why"], ran.status) == (why, 137 if why else 0), ran.output


@pytest.mark.skipif(not sandbox_contents.has_processes(), reason="this system has no PID namespaces")
def test_system_v_memory_counts(root: Path) -> None:
    ran = run(root, ("python", "-I", "-c", SHARED, "detached"), limits=Limits(memory=120 * MB))
    assert (ran.report["why"], ran.status) == ("memory", 137), ran.output


FULL = """
import os, runpy, sys
big = sys.argv[1]
class Disk:
    def __init__(self, path):
        self.f_frsize, self.f_blocks = 1, 100 << 30
        self.f_bavail = (1 << 30) - 1 if os.path.exists(big) else 1 << 30
os.statvfs = Disk
sys.argv[:] = sys.argv[5:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""The launcher with a disk that has 1 GB free until a file exists, and less afterwards."""


@pytest.mark.parametrize(
    ("line", "why", "low"),
    [
        ("echo fits", "", False),
        ("echo x > big; sleep 30", "disk", True),
        ("echo x > big", "", True),  # it ended before the first check
    ],
)
def test_a_disk_running_low_ends_the_command(root: Path, line: str, why: str, low: bool) -> None:
    before = (interpreter(None), "-I", "-c", FULL, str(root / "big"))
    ran = run(root, (*SHELL, line), before=before)
    assert (ran.report["why"], ran.status) == (why, 137 if why else 0), ran.output
    assert ran.report["low"] == ([str(root)] if low else [])


def test_a_disk_that_was_low_before_is_reported_and_the_command_runs(root: Path) -> None:
    (root / "big").touch()
    ran = run(
        root, (*SHELL, "echo x > more; cat more"), before=(interpreter(None), "-I", "-c", FULL, str(root / "big"))
    )
    assert (ran.status, ran.output, ran.report["why"], ran.report["low"]) == (0, "x\n", "", [str(root)])


def test_the_launcher_needs_only_its_own_files() -> None:
    """They are loaded by name from its folder, by an interpreter that does not know the package."""
    names = ("landlock_sandbox", "guarded_git_files", "linux_namespaces", "seccomp_filter", "resource_usage")
    script = f"import sys; sys.path.insert(0, sys.argv[1]); import {', '.join(names)}; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(FOLDER)], capture_output=True, text=True, check=True
    )
    assert {"guarded_git_files", "repository_state"} <= set(ran.stdout.split())
    assert "atelier_desk" not in ran.stdout
