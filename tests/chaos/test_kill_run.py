"""At least 100 kills, at random moments and at every fault point: nothing acknowledged is lost, nothing is done
twice, every run ends.

``ATELIER_KILLS`` sets the number of random kills (default 100), ``ATELIER_MOVE_KILLS`` that of kills while the log
is moved (default 6), and ``ATELIER_GROWN`` names a large data folder whose copies those use; the figures are
printed, and written as JSON to ``ATELIER_CHAOS_JSON`` when that is set.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from atelier_desk.domain.events.run import TaskChanged, ToolCallFinished, ToolCallStarted
from atelier_desk.engine.journal.journal import run_events
from tests.chaos.kill_harness import Figures, World, duplicates, kill_at, kill_at_random, reported
from tests.chaos.run_worker import CALLS

KILLS = int(os.environ.get("ATELIER_KILLS", "100"))
MOVE_KILLS = int(os.environ.get("ATELIER_MOVE_KILLS", "6"))
LOG_BYTES = 40_000
"""Bytes of log after which it is moved in the test of moves: about eight events."""
WORKER = "tests.chaos.run_worker"
EVENTS = (
    "run_resumed",
    "user_message",
    "model_replied",
    "tool_call_started",
    "tool_call_finished",
    "task_changed",
    "run_finished",
)
POINTS = [f"{when}_commit:{event}" for event in EVENTS for when in ("before", "after")] + ["before_tool", "after_tool"]


@dataclass
class RunFigures(Figures):
    runs: int = 0


FIGURES = RunFigures()


@pytest.fixture(scope="module", autouse=True)
def _report() -> Iterator[None]:
    yield from reported(FIGURES)


def check(world: World) -> None:
    """Check the promises in the database and in the file that the tool wrote."""
    asyncio.run(_check(world))


async def _check(world: World) -> None:
    async with world.read() as atelier:
        workflow = (await atelier.workflows.list())[0]
        run = await atelier.repos.runs.get(workflow.head_run_id or "")
        events = await run_events(atelier.repos, run.id)
        tasks = [task.name for task in await atelier.repos.tasks.list(workflow.id)]
        lost = await world.lost(atelier, workflow.id)
    started = {event.body.call_id for event in events if isinstance(event.body, ToolCallStarted)}
    done = [event.body for event in events if isinstance(event.body, ToolCallFinished)]
    interrupted = sum(body.status == "unknown" for body in done)
    lines = world.effects()
    twice = duplicates(lines) + duplicates(tasks)
    made = [event.body for event in events if isinstance(event.body, TaskChanged)]
    FIGURES.runs += 1
    FIGURES.acknowledged += len(world.acknowledged)
    FIGURES.lost += len(lost)
    FIGURES.done_twice += twice
    FIGURES.unfinished += run.status != "completed"
    FIGURES.interrupted_calls += interrupted
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert not lost
    assert twice == 0
    # An idempotent tool is run again after a kill: each call created exactly one task.
    assert len(tasks) == len(made) == CALLS // 2
    assert run.status == "completed"
    assert started == {body.call_id for body in done}
    assert len(done) == CALLS
    missing = CALLS // 2 - len(lines)
    assert 0 <= missing <= interrupted, "a call is missing that nobody said was interrupted"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS)
def test_kill_at_a_fault_point(point: str, tmp_path: Path) -> None:
    world = World(tmp_path, WORKER)
    if "run_resumed" in point:
        FIGURES.kills += world.finish(world.start("after_commit:tool_call_finished", "3"))
    once = any(each in point for each in ("run_resumed", "user_message", "run_finished"))
    kill_at(world, point, 1 if once else random.Random(point).randint(1, CALLS // 2), FIGURES)
    check(world)


@pytest.mark.timeout(3600)
def test_kills_at_random_moments(tmp_path: Path) -> None:
    kill_at_random(tmp_path, WORKER, KILLS, 0.35, 20261121, FIGURES, check)
    assert FIGURES.kills >= KILLS


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", ["before_commit:approval_decided", "after_commit:approval_decided"])
def test_kill_while_a_standing_rule_is_made(point: str, tmp_path: Path) -> None:
    """The rule and the decision it came with are stored together, or neither is."""
    world = World(tmp_path, "tests.chaos.standing_rule_worker")
    kill_at(world, point, 1, FIGURES)
    assert world.status == "completed"
    assert world.effects() == ["once"]


@pytest.mark.timeout(7200)
def test_kills_while_the_log_is_moved_or_tables_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is moved all the time here, and every fourth move is followed by a merge of the tables."""
    grown = os.environ.get("ATELIER_GROWN")
    monkeypatch.setenv("ATELIER_LOG_BYTES", str(LOG_BYTES))
    before = FIGURES.kills
    longest_s = 6.0 if grown else 0.3
    kill_at_random(
        tmp_path,
        WORKER,
        MOVE_KILLS,
        longest_s,
        20261128,
        FIGURES,
        check,
        after=b"moving\n",
        like=Path(grown) if grown else None,
    )
    assert FIGURES.kills - before >= MOVE_KILLS
