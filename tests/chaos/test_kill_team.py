"""Kills while 8 sub-agents work side by side at depth 2: each of them ends exactly once, the report is whole, nothing is done twice.

``ATELIER_TEAM_KILLS`` sets the number of random kills (50 when it is not set) beside one at every commit that concerns two runs; the
figures are printed, and added to the JSON of ``ATELIER_CHAOS_JSON`` when that is set.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from app.domain.events import ChildFinished, ChildStarted, RunFinished, ToolCallFinished, ToolCallStarted
from app.domain.workflow import Run
from app.engine import Atelier
from app.engine.journal import run_events
from app.llm.secrets import KeyVault
from tests.chaos.team_worker import LINES, WIDTH

KILLS = int(os.environ.get("ATELIER_TEAM_KILLS", "50"))
EVENTS = {"children_planned": 2, "user_message": 2, "child_finished": WIDTH, "tool_call_started": 20, "tool_call_finished": 20}
"""By the last event of a commit, how often it comes at least."""
POINTS = [f"{when}_commit:{event}" for event in EVENTS for when in ("before", "after")] + ["before_tool", "after_tool"]


@dataclass
class Figures:
    """What happened over all kills."""

    kills: int = 0
    teams: int = 0
    sub_agents: int = 0
    acknowledged: int = 0
    lost: int = 0
    done_twice: int = 0
    ended_twice: int = 0
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
        path = Path(target)
        beside = path.with_name(f"{path.stem}-team{path.suffix}")
        beside.write_text(json.dumps(asdict(FIGURES), indent=1), encoding="utf-8")


@dataclass
class World:
    """One team and everything that was acknowledged of it."""

    folder: Path
    acknowledged: set[int] = field(default_factory=set)
    status: str = ""

    def start(self, *fault: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.chaos.team_worker", str(self.folder / "data"), str(self.folder / "effects"), *fault]
        root = Path(__file__).resolve().parents[2]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root)

    def finish(self, worker: subprocess.Popen[bytes]) -> bool:
        """Read everything it said; True when it was killed."""
        output, errors = worker.communicate(timeout=120)
        for line in output.decode().splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "ack":
                self.acknowledged.add(int(rest.split()[0]))
            elif kind == "status":
                self.status = rest
        assert worker.returncode in (0, -signal.SIGKILL), errors.decode()[-2000:]
        return worker.returncode != 0

    def run_to_the_end(self) -> None:
        for _ in range(3):
            if not self.finish(self.start()):
                break


def check(world: World) -> None:
    """The promises, counted in the database and in the file the tool wrote."""
    asyncio.run(_check(world))


async def _check(world: World) -> None:
    vault = KeyVault(environ={})
    async with Atelier.open(world.folder / "data", model_factory=lambda _: (_ for _ in ()).throw(AssertionError), vault=vault) as atelier:
        workflow = (await atelier.workflows.list())[0]
        rows = await atelier.repos.runs.list(workflow.id)
        stored = {event.seq async for event in atelier.runs.replay(workflow.id)}
        lost = world.acknowledged - stored
        FIGURES.teams += 1
        FIGURES.sub_agents += len(rows) - 1
        FIGURES.acknowledged += len(world.acknowledged)
        FIGURES.lost += len(lost)
        interrupted = sum([await _check_run(atelier, row, rows) for row in rows])
        FIGURES.interrupted_calls += interrupted
        assert not lost
        assert sorted((row.agent_name, row.depth) for row in rows) == [("Captain", 1), ("Root", 0), *[("Sailor", 2)] * WIDTH]
        root = next(row for row in rows if row.parent_run_id is None)
        (end,) = [e.body for e in await run_events(atelier.repos, root.id) if isinstance(e.body, RunFinished)]
        assert f"**Completed**: {WIDTH} / {WIDTH}" in end.result
        assert [number for number in range(WIDTH) if f"sailor {number} is done" not in end.result] == []
        _check_effects(world, [task.name for task in await atelier.repos.tasks.list(workflow.id)], interrupted)


async def _check_run(atelier: Atelier, row: Run, rows: list[Run]) -> int:
    """One run is over exactly once, for itself and for its parent; returns how many of its calls were interrupted."""
    bodies = [event.body for event in await run_events(atelier.repos, row.id)]
    ends = sum(isinstance(body, RunFinished) for body in bodies)
    FIGURES.unfinished += row.status != "completed"
    FIGURES.ended_twice += ends > 1
    assert (row.status, ends) == ("completed", 1)
    begun = Counter(body.child_id for body in bodies if isinstance(body, ChildStarted))
    ended = Counter(body.child_id for body in bodies if isinstance(body, ChildFinished))
    assert begun == ended == Counter(child.id for child in rows if child.parent_run_id == row.id)
    made = Counter(body.call_id for body in bodies if isinstance(body, ToolCallStarted))
    done = Counter(body.call_id for body in bodies if isinstance(body, ToolCallFinished))
    assert made == done
    assert set(made.values()) <= {1}
    return sum(isinstance(body, ToolCallFinished) and body.status == "interrupted" for body in bodies)


def _check_effects(world: World, tasks: list[str], interrupted: int) -> None:
    lines = (world.folder / "effects").read_text(encoding="utf-8").splitlines()
    twice = len(lines) - len(set(lines)) + len(tasks) - len(set(tasks))
    FIGURES.done_twice += twice
    assert twice == 0
    assert len(tasks) == WIDTH
    assert 0 <= WIDTH * LINES - len(lines) <= interrupted, "a line is missing that nobody said was interrupted"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS)
def test_kill_at_a_commit_of_a_team(point: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    most = EVENTS.get(point.partition(":")[2], 20)
    count = random.Random(point).randint(1, most)
    assert world.finish(world.start(point, str(count))), f"{point} was not reached {count} times"
    FIGURES.kills += 1
    FIGURES.points.append(f"{point}#{count}")
    world.run_to_the_end()
    check(world)


@pytest.mark.timeout(3600)
def test_kills_at_random_moments_of_a_team(tmp_path: Path) -> None:
    rng = random.Random(20261122)
    kills = number = 0
    while kills < KILLS:
        world = World(tmp_path / f"world-{number}")
        world.folder.mkdir()
        number += 1
        for _ in range(6):
            worker = world.start()
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"open\n"
            deadline = time.monotonic() + rng.uniform(0.0, 0.5)
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
