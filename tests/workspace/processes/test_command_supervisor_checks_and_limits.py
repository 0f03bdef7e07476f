"""Parts of the launcher: its check interval on a simulated clock, the limits it sets, and its report when a
command cannot start.
"""

# equivalent: command_supervisor.py main: `2` → `1`
#   What a command prints and what it complains of go into the same pipe.
# equivalent: command_supervisor.py main: `1` → `2` (3)
#   The status of a launcher whose parent is gone: nobody is there to read it.
from __future__ import annotations

import asyncio
import importlib
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import psutil
import pytest

from atelier_desk.workspace.processes.command_output import Output
from atelier_desk.workspace.processes.command_process import SUPERVISED, Limits, Order, Process
from tests.workspace.processes.launcher_fixtures import WHERE, left, root, run, started, until
from tests.workspace.processes.run_launcher import Launched, interpreter
from tests.workspace.processes.run_launcher import launch as launched

pytestmark = pytest.mark.skipif(not SUPERVISED, reason="nothing stands between on this system")
__all__ = ["root"]

SHELL = ("/bin/bash", "-c")


@pytest.fixture(scope="module")
def launch() -> Iterator[ModuleType]:
    """The launcher as a module; it puts its own folder first in the path, which nobody else here needs."""
    before = sys.path[:]
    yield importlib.import_module("atelier_desk.workspace.processes.command_supervisor")
    sys.path[:] = before


class Clock:
    """Advances only by sleeping or when moved; records the time slept."""

    def __init__(self) -> None:
        self.now, self.slept = 100.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(launch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(launch, "time", clock)
    return clock


class Guard:
    """Replaces ``GuardedFiles``: each check takes ``takes`` seconds."""

    def __init__(self, clock: Clock, takes: float = 0.0) -> None:
        self.clock, self.takes, self.checks, self.kept = clock, takes, 0, True
        self.done: dict[str, list[str]] = {"put_back": []}

    def check(self, go_on: Any) -> bool:
        assert go_on()
        self.checks += 1
        self.clock.now += self.takes
        return self.kept

    def report(self) -> dict[str, Any]:
        return {name: list(paths) for name, paths in self.done.items()}


@pytest.mark.parametrize(("seconds", "takes", "due"), [(1.0, 0.0, 1.0), (1.0, 0.25, 2.5), (4.0, 0.25, 4.0)])
def test_guarded_files_are_checked_for_at_most_a_tenth_of_the_time(
    launch: ModuleType, clock: Clock, seconds: float, takes: float, due: float
) -> None:
    guard = Guard(clock, takes)
    checks = launch.Checks(guard, seconds, lambda said: None)
    looks = [(clock.now + seconds - 0.01, 0), (clock.now + seconds, 1)]
    looks += [(looks[1][0] + takes + due - 0.01, 1), (looks[1][0] + takes + due, 2)]
    for now, count in looks:
        clock.now = now
        assert checks.check(lambda: True) == ""
        assert guard.checks == count


def test_only_new_violations_are_reported_and_a_repeating_command_is_ended(launch: ModuleType, clock: Clock) -> None:
    guard, told = Guard(clock), list[dict[str, Any]]()
    checks = launch.Checks(guard, 1.0, told.append)
    for paths in ([], ["a"], ["a"], ["a", "b"]):
        guard.done["put_back"] = paths
        clock.now += 1.0
        assert checks.check(lambda: True) == ""
    assert told == [{"put_back": ["a"]}, {"put_back": ["a", "b"]}]
    guard.kept = False
    clock.now += 1.0
    assert checks.check(lambda: True) == "repositories"
    never = launch.Checks(Guard(clock), 0, told.append)
    clock.now += 1000.0
    assert (never.check(lambda: True), len(told)) == ("", 2)
    assert launch.Checks(None, 1.0, told.append).check(lambda: True) == ""


@pytest.fixture
def watch(launch: ModuleType, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The watcher of a command that may have three processes and 1000 bytes, on a system where ``found`` exist,
    with ``held`` bytes.
    """
    monkeypatch.setattr(launch, "CAN_LIST_CHILDREN", True)
    watch = launch.LaunchWatch({"processes": 3, "memory": 1000})
    watch.found, watch.held = [], 0
    asked: list[tuple[list[int], int]] = []

    def below() -> list[int]:
        if watch.found is None:
            raise launch.resource_usage.UnknownError
        return list(watch.found)

    def of(found: list[int], keys: int) -> int:
        asked.append((found, keys))
        return int(watch.held)

    monkeypatch.setattr(launch, "below", below)
    watch._held = SimpleNamespace(of=of)
    watch.asked = asked
    return watch


@pytest.mark.parametrize(("count", "held", "why"), [
    (3, 1000, ""), (4, 0, "processes"), (3, 1001, "memory"), (0, 0, ""), (4, 1001, "processes"),
])  # fmt: skip
def test_a_command_may_use_exactly_its_limits(watch: Any, count: int, held: int, why: str) -> None:
    watch.found, watch.held = list(range(count)), held
    assert watch.check(None) == why
    assert watch.asked in ([], [(watch.found, 0)])


def test_shared_memory_of_its_own_namespace_is_counted(watch: Any) -> None:
    watch.check(SimpleNamespace(keys=7))
    assert watch.asked == [([], 7)]


def test_a_command_that_is_invisible_for_two_seconds_is_ended(watch: Any, clock: Clock) -> None:
    clock.now += 50.0
    assert watch.check(None) == ""
    watch.found = None
    for step, why in ((1.0, ""), (1.0, ""), (0.5, "unknown")):
        clock.now += step
        assert watch.check(None) == why


def test_a_command_is_checked_ten_times_a_second(watch: Any, clock: Clock) -> None:
    for step, looks in ((0.0, 1), (0.05, 1), (0.06, 2), (0.09, 2), (0.02, 3)):
        clock.now += step
        watch.check(None)
        assert len(watch.asked) == looks


@pytest.mark.parametrize(
    ("gently", "kills", "lasts", "gone"), [(True, 1, 0.3, True), (False, 1, 0.0, True), (False, 9999, 5.0, False)]
)
def test_a_command_that_does_not_end_gracefully_is_killed_after_a_moment(
    launch: ModuleType,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    gently: bool,
    kills: int,
    lasts: float,
    gone: bool,
) -> None:
    done: list[str] = []
    monkeypatch.setattr(launch, "reap", lambda ended: done.count("kill") < kills)
    monkeypatch.setattr(launch, "send", lambda number, group: done.append(signal.Signals(number).name))
    monkeypatch.setattr(launch, "kill", lambda group: done.append("kill"))
    began = clock.now
    assert launch.end(1, {}, gently=gently) is gone
    assert clock.now - began == pytest.approx(lasts, abs=0.05)
    assert [each for each in done if each != "kill"] == ["SIGTERM"] * gently
    assert max(clock.slept, default=0.0) <= 0.02, "what is over is seen at once"


class Resource(SimpleNamespace):
    """The system's limits of one kind, and the limits set."""

    def __init__(self, soft: int, hard: int) -> None:
        super().__init__(RLIM_INFINITY=resource.RLIM_INFINITY, RLIMIT_NOFILE=7, RLIMIT_CORE=4)
        self.soft, self.hard, self.done = soft, hard, list[tuple[int, tuple[int, int]]]()

    def getrlimit(self, number: int) -> tuple[int, int]:
        return self.soft, self.hard

    def setrlimit(self, number: int, both: tuple[int, int]) -> None:
        self.done.append((number, both))


@pytest.mark.parametrize(("soft", "hard", "given"), [
    (50, 100, 80), (50, 60, 60), (50, resource.RLIM_INFINITY, 80), (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 80),
])  # fmt: skip
def test_a_limit_is_the_requested_one_or_the_systems_maximum(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, given: int
) -> None:
    system = Resource(soft, hard)
    monkeypatch.setattr(launch, "resource", system)
    launch.limit({"limits": {"RLIMIT_UNKNOWN": 1, "RLIMIT_NOFILE": 80, "RLIMIT_CORE": None}})
    assert system.done == [(7, (given, given))]


@pytest.mark.parametrize(("hard", "files"), [(resource.RLIM_INFINITY, 65_536), (100_000, 65_536), (4_096, 4_096)])
def test_guarding_repositories_raises_the_file_limit_and_resolves_links(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hard: int, files: int
) -> None:
    made: list[tuple[Any, ...]] = []
    guard = SimpleNamespace(GuardedFiles=lambda *given, **more: made.append((*given, more)))
    system = Resource(50, hard)
    monkeypatch.setattr(launch, "resource", system)
    monkeypatch.setitem(sys.modules, "guarded_git_files", guard)
    launch.guarded(
        {
            "sandbox": {
                "roots": ["/w"],
                "write": [str(tmp_path), str(tmp_path / "gone")],
                "held": "/h",
                "changes_repositories": 1,
            }
        }
    )
    launch.guarded({"sandbox": {"roots": ["/w"]}})
    assert made == [(["/w"], "/h", {"may_change": True, "writable": [str(tmp_path)]}),
                    (["/w"], "", {"may_change": False, "writable": []})]  # fmt: skip
    assert system.done == [(7, (files, hard))] * 2
    assert (
        launch.guarded({"sandbox": {"roots": []}}),
        launch.guarded({"sandbox": None}),
        launch.guarded({}),
        len(made),
    ) == (
        *[None] * 3,
        2,
    )


def changed(
    script: str, root: Path, words: tuple[str, ...], box: dict[str, Any] | None = None, **more: Any
) -> Launched:
    """Run a command by a launcher on a system changed by a script."""
    start = (
        f"import os, runpy, sys\n{script}\nsys.argv[:] = sys.argv[4:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return launched(words, root, box=box, before=(interpreter(None), "-I", "-c", start), **more)


def test_the_limits_reach_the_command(root: Path) -> None:
    ran = run(
        root, (*SHELL, "ulimit -n; ulimit -Hn; ulimit -c; ulimit -f"), limits=Limits(open_files=123, file=2048 * 1024)
    )
    assert ran.output.split() == ["123", "123", "0", "2048"]


def test_the_sandbox_of_macos_gets_a_profile_with_the_command(root: Path) -> None:
    script = "os.execv = lambda *given: (print(*given, flush=True), os._exit(0))"
    ran = changed(script, root, ("/bin/echo", "one", "two"), {"profile": "(deny default)"})
    words = ["sandbox-exec", "-p", "(deny default)", "/bin/echo", "one", "two"]
    assert (ran.status, ran.output) == (0, f"/usr/bin/sandbox-exec {words}\n")


@pytest.mark.parametrize(("script", "words", "box", "said"), [
    ("", ("/bin/a\0b",), None, "embedded null byte"),
    ("", ("/nowhere/program",), None, "No such file or directory"),
    ((
        "sys.modules['guarded_git_files'] = type('G', (), {'GuardedFiles': staticmethod(lambda *_, **__: "
        "os.stat('/nowhere/at/all'))})"
    ),
     ("/bin/true",), {"roots": ["/nowhere"]}, "No such file or directory: '/nowhere/at/all'"),
])  # fmt: skip
def test_a_command_that_cannot_be_started_is_reported_in_one_line(
    root: Path, script: str, words: tuple[str, ...], box: dict[str, Any] | None, said: str
) -> None:
    ran = changed(script, root, words, box)
    assert (ran.status, ran.output.count("\n"), ran.output.startswith(words[0])) == (126, 1, True), ran.output
    assert said in ran.output


def test_the_end_of_a_descendant_wakes_the_launcher_once(root: Path) -> None:
    """Unless the wake-up is read, it would check without pause as long as the command runs."""
    script = """
import select
count, end, wait = [], os._exit, select.select
select.select = lambda *given: (count.append(1), wait(*given))[1]
os._exit = lambda status: (print(len(count), flush=True), end(status))
"""
    ran = changed(script, root, (*SHELL, "(setsid true &); (setsid true &); sleep 0.7"))
    assert (ran.status, int(ran.output) < 40) == (0, True), ran.output


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    ("line", "others"),
    [("true", False), ("setsid sleep 100 >/dev/null 2>&1 &", True), ("sleep 100 & kill %1; wait", False)],
)
def test_remaining_processes_are_reported(root: Path, where: str, line: str, others: bool) -> None:
    ran = run(root, (*SHELL, line), where)
    assert (ran.report["ended"], ran.report["left"], ran.report["over"], ran.report["why"]) == (others, False, True, "")


@pytest.mark.parametrize("where", [*WHERE, "no sandbox"])
@pytest.mark.parametrize(("signalled", "status"), [("KILL", 137), ("TERM", 143)])
def test_a_command_that_ends_its_own_group_does_not_end_the_launcher(
    root: Path, where: str, signalled: str, status: int
) -> None:
    words = (*SHELL, f"kill -{signalled} 0; sleep 100")
    ran = run(root, words, where) if where in WHERE else launched(words, root, box=None)
    assert (ran.status, ran.report.get("over"), ran.report.get("why")) == (status, True, "")


async def test_processes_that_left_the_group_are_ended_too(root: Path) -> None:
    process = await started(
        root, "setsid bash -c \"trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.01; done\"; sleep 100"
    )
    await until(process, "ready")
    await process.end()
    assert (process.ended_by, "asked" in process.output.shown().text.split()) == ("stopped", True)


async def test_without_namespaces_a_command_ends_with_its_launcher_too(root: Path) -> None:
    mark = f"mark-{root.parent.name}"
    order = Order(
        "/bin/bash", ("bash", "-c", f"echo ready; sleep 300; : {mark}", mark), root, {"PATH": os.environ["PATH"]}
    )
    process = await Process.start(order, Output(root.parent / "out"))
    await until(process, "ready")
    watched = [psutil.Process(pid) for pid in left(mark)]
    assert watched
    os.kill(process.pid, signal.SIGKILL)
    _gone, alive = await asyncio.to_thread(psutil.wait_procs, watched, 10)
    for each in psutil.process_iter(["cmdline", "cwd"]):
        if each.info["cwd"] == str(root) and each.info["cmdline"] == ["sleep", "300"]:
            each.kill()  # without namespaces the command's own descendants get no signal
    assert alive == []
    assert await process.wait(20)
