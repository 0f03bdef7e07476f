# ruff: noqa: PTH100, PTH120, SIM105, S606
"""Stands between Atelier and one command: sets its limits, starts it, and ends everything it started, however hidden.

Run as a file by its own interpreter without importing Atelier: ``python -I -S command_supervisor.py FD``, where FD is a
descriptor of a file with the order as JSON (see ``Order`` in ``command_process``). On Linux, orphans of the command
become children of this process, so that nothing outlives it; if Atelier is killed, this process is signalled and ends
everything too. In a writing sandbox the command has its own namespaces where possible (``linux_namespaces``): the
kernel then ends everything with its first process. The exit status is the command's; the reason why it was ended, and
what ``guarded_git_files`` restored, are written to a file.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

POLL_S = 0.1
LOST_S = 2.0
"""Seconds after which a command is ended whose processes cannot be listed any more."""
ENDS_S = 0.3
GONE_S = 5.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GUARD_FILES = 65_536
SANDBOX_EXEC = "/usr/bin/sandbox-exec"
"""The sandbox of macOS (see ``seatbelt``)."""
LINUX = sys.platform == "linux"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import resource_usage  # type: ignore[import-not-found]  # noqa: E402

CAN_LIST_CHILDREN = resource_usage.is_supported()


def below() -> list[int]:
    """Return the descendants of the command; unknown on macOS. Raises ``UnknownError``."""
    if LINUX and not CAN_LIST_CHILDREN:
        raise resource_usage.UnknownError
    return list(resource_usage.descendants(os.getpid())) if LINUX else []


def give(number: int, call: Callable[[int, int], None], targets: Iterable[int]) -> None:
    """Send a signal to processes or groups; missing ones are ignored."""
    for target in targets:
        try:
            call(target, number)
        except (ProcessLookupError, PermissionError):
            pass


def send(number: int, group: int) -> list[int]:
    """Send a signal to the command's group and to each descendant. Raises ``UnknownError``."""
    give(number, os.killpg, (group,))
    found = below()
    give(number, os.kill, found)
    return found


def kill(group: int) -> None:
    """Kill all descendants, even if they cannot be listed."""
    try:
        # Stop first, so that nothing forks between being listed and being killed.
        found = send(signal.SIGSTOP, group)
        # Killing a group is atomic: none of it can fork meanwhile.
        give(signal.SIGKILL, os.killpg, {each for pid in found if (each := group_of(pid)) not in (0, os.getpgrp())})
        send(signal.SIGKILL, group)
    except resource_usage.UnknownError:
        give(signal.SIGKILL, os.killpg, (group,))
        give(signal.SIGKILL, os.kill, resource_usage.children_by_number())


def group_of(pid: int) -> int:
    """Return the group of a process; 0 if it is gone."""
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def reap(ended: dict[int, int]) -> bool:
    """Collect ended children, adding statuses by process id; False if no child is left.

    Orphans of the command become children of this process, so this needs no /proc.
    """
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        ended[pid] = status


def end(group: int, ended: dict[int, int], *, gently: bool) -> bool:
    """End the command and all descendants; False if something is left."""
    if LINUX and not reap(ended):
        return True
    if gently:
        try:
            send(signal.SIGTERM, group)
        except resource_usage.UnknownError:
            pass
        until = time.monotonic() + ENDS_S
        while time.monotonic() < until and reap(ended):
            time.sleep(0.02)
    until = time.monotonic() + GONE_S
    while True:
        kill(group)
        if not reap(ended):
            return True
        if time.monotonic() > until:
            return False
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


def become(order: dict[str, Any], forked: object) -> None:
    """In the child: apply limits and the sandbox, then execute the program."""
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if LINUX:
            # If this program is killed, nobody would check what the command leaves behind.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        limit(order)
        box = order.get("sandbox")
        if box and box.get("profile"):
            os.execv(SANDBOX_EXEC, ["sandbox-exec", "-p", box["profile"], order["program"], *order["arguments"][1:]])
        if box:
            from landlock_sandbox import confine  # type: ignore[import-not-found]

            confine(box, forked)
        os.execv(order["program"], order["arguments"])
    except OSError as error:
        os.write(2, f"{order['arguments'][0]}: {error.strerror or error}\n".encode())
    except BaseException as error:
        os.write(2, f"{order['arguments'][0]}: {error}\n".encode())
    os._exit(126)


def guarded(order: dict[str, Any]) -> Any:
    """Record what git executes in the folders of a writing command; None for one that does not write."""
    box = order.get("sandbox") or {}
    if not box.get("roots"):
        return None
    # Each repository stays open, and each folder down to the deepest.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    open_files = GUARD_FILES if most == resource.RLIM_INFINITY else min(most, GUARD_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, most))
    from guarded_git_files import GuardedFiles  # type: ignore[import-not-found]

    written = [path for path in box.get("write", ()) if os.path.isdir(path)]  # noqa: PTH112
    return GuardedFiles(
        box["roots"], box.get("held", ""), may_change=bool(box.get("changes_repositories")), writable=written
    )


class Checks:
    """Periodically restores what git executes while the command runs: a person may use git in these folders meanwhile.

    Uses at most a tenth of the time. ``seconds`` is the minimum between two checks; 0 disables them. ``told`` is called
    with everything done so far whenever there is something new.
    """

    def __init__(self, guard: Any, seconds: float, told: Callable[[dict[str, object]], None]) -> None:
        self._guard = guard if seconds else None
        self._seconds = seconds
        self._on_report, self._last_report = told, ""
        self._next = time.monotonic() + seconds

    def check(self, go_on: Callable[[], bool]) -> str:
        """Check; return why the command has to be ended, empty if it has not. ``go_on``: see ``GuardedFiles.check``."""
        began = time.monotonic()
        if self._guard is None or began < self._next:
            return ""
        kept_within = self._guard.check(go_on)
        report = self._guard.report()
        if any(report.values()) and repr(report) != self._last_report:
            self._last_report = repr(report)
            self._on_report(report)
        self._next = time.monotonic() + max(self._seconds, 10 * (time.monotonic() - began))
        return "" if kept_within else "repositories"


def fork(order: dict[str, Any], alive: int) -> tuple[int, Any]:
    """Fork: return the child, and how it was created if it gets its own namespaces."""
    if LINUX and (order.get("sandbox") or {}).get("works"):
        import linux_namespaces  # type: ignore[import-not-found]

        forked = linux_namespaces.fork(alive)
        return int(forked.pid), forked
    return os.fork(), None


def write_report(report: int, said: dict[str, object]) -> None:
    """Replace the content of the report file."""
    text = json.dumps(said).encode()
    os.pwrite(report, text, 0)
    os.ftruncate(report, len(text))


class LaunchWatch:
    """Periodically checks the resource use of the command.

    Attributes:
        disks: the disks that it may fill.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.disks = resource_usage.Disks(order.get("disks", ()))
        self._processes, self._memory = order["processes"], order["memory"]
        self._held = resource_usage.Memory(str((order.get("sandbox") or {}).get("shared", "")))
        self._next = 0.0
        self._seen = time.monotonic()

    def check(self, forked: object) -> str:
        """Return why the command has to be ended, empty if it has not. Checks again only after a while."""
        now = time.monotonic()
        if now < self._next:
            return ""
        why = "disk" if self.disks.became_low() else ""
        if (CAN_LIST_CHILDREN or not LINUX) and not why:
            why = self._counted(forked, now)
        # If checking is slow, it takes only a fraction of the time.
        self._next = time.monotonic() + max(POLL_S, 10 * (time.monotonic() - now))
        return why

    def _counted(self, forked: Any, now: float) -> str:
        try:
            found = below()
        except resource_usage.UnknownError:
            return "unknown" if now - self._seen > LOST_S else ""
        self._seen = now
        if len(found) > self._processes:
            return "processes"
        keys = forked.keys if forked is not None else 0
        return "memory" if self._held.of(found, keys) > self._memory else ""


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
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != order["parent"]:
            return 1
    watch = LaunchWatch(order)
    child, forked = fork(order, woken)
    if child == 0:
        signal.set_wakeup_fd(-1)
        # ``woken`` stays open until the program begins: it signals that this process is gone.
        for each in (order["report"], wakes):
            os.close(each)
        become(order, forked)
    why = ""
    ended: dict[int, int] = {}
    checks = Checks(guard, float(order.get("check_s", 0)), lambda said: write_report(order["report"], said))

    def checked() -> str:
        return "stopped" if asked else watch.check(forked)

    while reap(ended) and child not in ended:
        why = checked() or checks.check(lambda: not checked())
        if why:
            break
        if select.select([woken], [], [], POLL_S)[0]:
            os.read(woken, 4096)
    others = not why and (reap(ended) or (forked is not None and forked.ended_others))
    gone = end(child, ended, gently=why == "stopped")
    status = ended.get(child, signal.SIGKILL)
    report = {
        "why": why,
        "low": watch.disks.low(),
        "left": not gone,
        "ended": others,
        **(guard.restore() if guard is not None else {}),
    }
    write_report(order["report"], {**report, "over": True})
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
