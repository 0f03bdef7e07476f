"""At least 100 kills, at random moments and at every fault point: nothing acknowledged is lost, nothing is done twice, every run ends.

``ATELIER_KILLS`` sets the number of random kills (100 when it is not set); the figures are printed, and written as JSON to
``ATELIER_CHAOS_JSON`` when that is set.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from app.domain.events import ToolCallFinished, ToolCallStarted
from app.engine import Atelier
from app.engine.journal import run_events
from app.llm.secrets import KeyVault
from tests.chaos.worker import CALLS

KILLS = int(os.environ.get("ATELIER_KILLS", "100"))
EVENTS = ("run_resumed", "user_message", "model_replied", "tool_call_started", "tool_call_finished", "task_changed", "run_finished")
POINTS = [f"{when}_commit:{event}" for event in EVENTS for when in ("before", "after")] + ["before_tool", "after_tool"]


@dataclass
class Figures:
    """What happened over all kills."""

    kills: int = 0
    runs: int = 0
    acknowledged: int = 0
    lost: int = 0
    done_twice: int = 0
    unfinished: int = 0
    interrupted_calls: int = 0
    points: list[str] = field(default_factory=list)


FIGURES = Figures()


@pytest.fixture(scope="module", autouse=True)
def _report() -> object:
    yield None
    print("\n" + json.dumps(asdict(FIGURES), indent=1))
    target = os.environ.get("ATELIER_CHAOS_JSON")
    if target:
        Path(target).write_text(json.dumps(asdict(FIGURES), indent=1), encoding="utf-8")


@dataclass
class World:
    """One run and everything that was acknowledged of it."""

    folder: Path
    acknowledged: set[int] = field(default_factory=set)
    status: str = ""

    def start(self, *fault: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.chaos.worker", str(self.folder / "data"), str(self.folder / "effects"), *fault]
        root = Path(__file__).resolve().parents[2]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root)

    def take(self, output: bytes) -> None:
        for line in output.decode().splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "ack":
                self.acknowledged.add(int(rest.split()[0]))
            elif kind == "status":
                self.status = rest

    def finish(self, worker: subprocess.Popen[bytes]) -> bool:
        """Read everything it said; True when it was killed."""
        output, errors = worker.communicate(timeout=120)
        self.take(output)
        assert worker.returncode in (0, -signal.SIGKILL), errors.decode()[-2000:]
        return worker.returncode != 0

    def run_to_the_end(self) -> None:
        for _ in range(3):
            if not self.finish(self.start()):
                break


def check(world: World) -> None:
    """The promises, counted in the database and in the file the tool wrote."""
    events, tasks, status = asyncio.run(read(world.folder / "data"))
    stored = {number for first, count in events["stream"] for number in range(first, first + count)}
    lost = world.acknowledged - stored
    lines = (world.folder / "effects").read_text(encoding="utf-8").splitlines()
    twice = len(lines) - len(set(lines)) + len(tasks) - len(set(tasks))
    FIGURES.runs += 1
    FIGURES.acknowledged += len(world.acknowledged)
    FIGURES.lost += len(lost)
    FIGURES.done_twice += twice
    FIGURES.unfinished += status != "completed"
    FIGURES.interrupted_calls += events["interrupted"]
    assert not lost
    assert twice == 0
    assert status == "completed"
    assert events["finished"] == CALLS
    missing = CALLS // 2 - len(lines)
    assert 0 <= missing <= events["interrupted"], "a call is missing that nobody said was interrupted"


async def read(data: Path) -> tuple[dict[str, object], list[str], str]:
    async with Atelier.open(data, model_factory=lambda _: (_ for _ in ()).throw(AssertionError), vault=KeyVault(environ={})) as atelier:
        workflow = (await atelier.workflows.list())[0]
        run = await atelier.repos.runs.get(workflow.head_run_id or "")
        events = await run_events(atelier.repos, run.id)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        bounds = [event.stream_from for event in events] + [workflow.stream_seq + 1]
        stream = [(first, after - first) for first, after in itertools.pairwise(bounds)]
        started = {event.body.call_id for event in events if isinstance(event.body, ToolCallStarted)}
        done = [event.body for event in events if isinstance(event.body, ToolCallFinished)]
        assert started == {body.call_id for body in done}
        interrupted = sum(body.status == "interrupted" for body in done)
        tasks = [task.name for task in await atelier.repos.tasks.list(workflow.id)]
        found: dict[str, object] = {"stream": stream, "finished": len(done), "interrupted": interrupted}
        return found, tasks, run.status.value


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS)
def test_kill_at_a_fault_point(point: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    rng = random.Random(point)
    if "run_resumed" in point:
        FIGURES.kills += world.finish(world.start("after_commit:tool_call_finished", "3"))
    count = 1 if any(each in point for each in ("run_resumed", "user_message", "run_finished")) else rng.randint(1, CALLS // 2)
    killed = world.finish(world.start(point, str(count)))
    assert killed, f"{point} was not reached {count} times"
    FIGURES.kills += 1
    FIGURES.points.append(f"{point}#{count}")
    world.run_to_the_end()
    check(world)


@pytest.mark.timeout(3600)
def test_kills_at_random_moments(tmp_path: Path) -> None:
    rng = random.Random(20261121)
    kills = 0
    number = 0
    while kills < KILLS:
        world = World(tmp_path / f"world-{number}")
        world.folder.mkdir()
        number += 1
        for _ in range(6):
            worker = world.start()
            assert worker.stdout is not None
            opened = worker.stdout.readline()
            assert opened == b"open\n", worker.communicate()[1].decode()[-2000:]
            pause = rng.uniform(0.0, 0.35)
            deadline = time.monotonic() + pause
            while worker.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            worker.kill()
            if world.finish(worker):
                kills += 1
                FIGURES.kills += 1
            if world.status:
                break
        world.run_to_the_end()
        check(world)
