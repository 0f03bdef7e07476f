"""Kills while 8 sub-agents work in parallel at depth 2: each of them ends exactly once, the report is complete,
nothing is done twice.

``ATELIER_TEAM_KILLS`` sets the number of random kills (default 50) in addition to one at every commit that
concerns two runs; the figures are printed, and added to the JSON of ``ATELIER_CHAOS_JSON`` when that is set.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from atelier_desk.domain.events.run import ChildFinished, ChildStarted, RunFinished, ToolCallFinished, ToolCallStarted
from atelier_desk.domain.workflow import Run
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from tests.chaos.kill_harness import Figures, World, duplicates, kill_at, kill_at_random, reported
from tests.chaos.team_worker import LINES, WIDTH

KILLS = int(os.environ.get("ATELIER_TEAM_KILLS", "50"))
WORKER = "tests.chaos.team_worker"
EVENTS = {
    "children_planned": 2,
    "user_message": 2,
    "child_finished": WIDTH,
    "tool_call_started": 20,
    "tool_call_finished": 20,
}
"""By the last event of a commit, the minimum number of such commits."""
POINTS = [f"{when}_commit:{event}" for event in EVENTS for when in ("before", "after")] + ["before_tool", "after_tool"]


@dataclass
class TeamFigures(Figures):
    teams: int = 0
    sub_agents: int = 0
    ended_twice: int = 0


FIGURES = TeamFigures()


@pytest.fixture(scope="module", autouse=True)
def _report() -> Iterator[None]:
    yield from reported(FIGURES, "-team")


def check(world: World) -> None:
    """Check the promises in the database and in the file that the tool wrote."""
    asyncio.run(_check(world))


async def _check(world: World) -> None:
    async with world.read() as atelier:
        workflow = (await atelier.workflows.list())[0]
        rows = await atelier.repos.runs.list(workflow.id)
        lost = await world.lost(atelier, workflow.id)
        FIGURES.teams += 1
        FIGURES.sub_agents += len(rows) - 1
        FIGURES.acknowledged += len(world.acknowledged)
        FIGURES.lost += len(lost)
        interrupted = sum([await _check_run(atelier, row, rows) for row in rows])
        FIGURES.interrupted_calls += interrupted
        assert not lost
        assert sorted((row.agent_name, row.depth) for row in rows) == [
            ("Captain", 1),
            ("Root", 0),
            *[("Sailor", 2)] * WIDTH,
        ]
        root = next(row for row in rows if row.parent_run_id is None)
        (end,) = [e.body for e in await run_events(atelier.repos, root.id) if isinstance(e.body, RunFinished)]
        assert f"**Completed**: {WIDTH} / {WIDTH}" in end.result
        assert [number for number in range(WIDTH) if f"sailor {number} is done" not in end.result] == []
        _check_effects(world, [task.name for task in await atelier.repos.tasks.list(workflow.id)], interrupted)


async def _check_run(atelier: Atelier, row: Run, rows: list[Run]) -> int:
    """Check that one run has ended exactly once, for itself and for its parent; returns how many of its calls were
    interrupted.
    """
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
    return sum(isinstance(body, ToolCallFinished) and body.status == "unknown" for body in bodies)


def _check_effects(world: World, tasks: list[str], interrupted: int) -> None:
    lines = world.effects()
    twice = duplicates(lines) + duplicates(tasks)
    FIGURES.done_twice += twice
    assert twice == 0
    assert len(tasks) == WIDTH
    assert 0 <= WIDTH * LINES - len(lines) <= interrupted, "a line is missing that nobody said was interrupted"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS)
def test_kill_at_a_commit_of_a_team(point: str, tmp_path: Path) -> None:
    world = World(tmp_path, WORKER)
    most = EVENTS.get(point.partition(":")[2], 20)
    kill_at(world, point, random.Random(point).randint(1, most), FIGURES)
    check(world)


@pytest.mark.timeout(3600)
def test_kills_at_random_moments_of_a_team(tmp_path: Path) -> None:
    kill_at_random(tmp_path, WORKER, KILLS, 0.5, 20261122, FIGURES, check)
    assert FIGURES.kills >= KILLS
