# ruff: noqa: PTH100, PTH120, PTH123, PTH208, SIM105, S606
"""Stands between Atelier and one command: sets its limits, starts it, and ends all of it, whatever it started and however it hides.

Run as a file by its own interpreter, with nothing of Atelier imported: ``python -I -S launch.py FD``, where FD is a descriptor of a file
with the order as JSON (see ``Order`` in ``process``). On Linux what the command started and left behind becomes this process's child, so
that nothing outlives it; when Atelier is killed, this process is told and ends everything too. Its exit status is the command's; why it was
ended, if it was, and what ``guarded_files`` restored, is written to a file.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

LOOK_S = 0.1
ENDS_S = 0.3
GONE_S = 5.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GUARD_FILES = 65_536
SANDBOX_EXEC = "/usr/bin/sandbox-exec"
"""The sandbox of macOS (see ``seatbelt``)."""
LINUX = sys.platform == "linux"
PAGE = os.sysconf("SC_PAGE_SIZE")


def children_of(pid: int) -> list[int]:
    """The processes that a process started and that are not collected yet."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def descendants(top: int) -> list[int]:
    """Process ids below ``top``; empty where there is no /proc."""
    found: list[int] = []
    waiting = [top]
    while waiting:
        children = children_of(waiting.pop())
        found += children
        waiting += children
    return found


def memory(pids: list[int]) -> int:
    """Bytes that processes hold in memory together."""
    pages = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                pages += int(file.read().split()[1])
        except (OSError, IndexError):
            pass
    return pages * PAGE


def send(number: int, group: int) -> None:
    for call, target in ((os.killpg, group), *((os.kill, each) for each in descendants(os.getpid()))):
        try:
            call(target, number)
        except (ProcessLookupError, PermissionError):
            pass


def reap() -> dict[int, int]:
    """Collect what has ended: statuses by process id."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def end(group: int, *, gently: bool) -> dict[int, int]:
    """End the command and everything below this process."""
    ended: dict[int, int] = {}
    if gently:
        send(signal.SIGTERM, group)
        until = time.monotonic() + ENDS_S
        while time.monotonic() < until and descendants(os.getpid()):
            ended |= reap()
            time.sleep(0.02)
    until = time.monotonic() + GONE_S
    while True:
        # Stopped first, so that nothing forks away between being listed and being killed.
        send(signal.SIGSTOP, group)
        send(signal.SIGKILL, group)
        ended |= reap()
        if not descendants(os.getpid()) or time.monotonic() > until:
            return ended
        time.sleep(0.01)


def limit(order: dict[str, Any]) -> None:
    for name, value in order["limits"].items():
        number = getattr(resource, name, None)
        if number is None or value is None:
            continue
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(number, (value, value))
        except (ValueError, OSError):
            pass


def become(order: dict[str, Any]) -> None:
    """In the child: limits, the sandbox, the program."""
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if LINUX:
            # Should this program be killed, nobody would look at what the command leaves behind.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        limit(order)
        box = order.get("sandbox")
        if box and box.get("profile"):
            os.execv(SANDBOX_EXEC, ["sandbox-exec", "-p", box["profile"], order["program"], *order["arguments"][1:]])
        if box:
            here()
            from confine import confine  # type: ignore[import-not-found]

            confine(box)
        os.execv(order["program"], order["arguments"])
    except OSError as error:
        os.write(2, f"{order['arguments'][0]}: {error.strerror or error}\n".encode())
    except BaseException as error:
        os.write(2, f"{order['arguments'][0]}: {error}\n".encode())
    os._exit(126)


def guarded(order: dict[str, Any]) -> Any:
    """What git runs in the folders of a command that may write, as it is before it; None for one that may not."""
    box = order.get("sandbox") or {}
    if not box.get("roots"):
        return None
    # Each repository stays open, and each folder on the way down to the deepest.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    open_files = GUARD_FILES if most == resource.RLIM_INFINITY else min(most, GUARD_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, most))
    here()
    from guarded_files import GuardedFiles  # type: ignore[import-not-found]

    return GuardedFiles(box["roots"], box.get("held", ""), may_change=bool(box.get("changes_repositories")))


def here() -> None:
    """Let the files beside this one be imported."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if folder not in sys.path:
        sys.path.insert(0, folder)


def main() -> int:
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        order = json.load(file)
    try:
        guard = guarded(order)
    except OSError as error:
        os.write(2, f"{order['arguments'][0]}: {error}\n".encode())
        return 126
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, frame: asked.append(received))
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda received, frame: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    if LINUX:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != order["parent"]:
            return 1
    child = os.fork()
    if child == 0:
        for each in (order["report"], woken, wakes):
            os.close(each)
        become(order)
    why, looked = "", 0.0
    status: int | None = None
    while status is None:
        ended = reap()
        if child in ended:
            status = ended[child]
            break
        if asked:
            status = end(child, gently=True).get(child, 9)
            why = "stopped"
            break
        if time.monotonic() - looked > LOOK_S:
            looked = time.monotonic()
            found = descendants(os.getpid())
            if len(found) > order["processes"]:
                why = "processes"
            elif memory(found) > order["memory"]:
                why = "memory"
            if why:
                status = end(child, gently=False).get(child, 9)
                break
        if select.select([woken], [], [], LOOK_S)[0]:
            os.read(woken, 4096)
    end(child, gently=False)
    report = {"why": why, **(guard.restore() if guard is not None else {})}
    with os.fdopen(order["report"], "wb") as file:
        file.write(json.dumps(report).encode())
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
