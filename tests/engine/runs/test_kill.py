"""A sample of ``tests/chaos``: what a call or a decision changes is there once, whenever the process is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.kills import World


async def test_a_task_is_there_once_when_the_process_is_killed_before_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATELIER_CALLS", "2")
    world = World(tmp_path, "tests.chaos.worker")
    assert world.finish(world.start("before_commit:task_changed", "1"))
    world.run_to_the_end()
    assert world.status == "completed"
    async with world.read() as atelier:
        [workflow] = await atelier.workflows.list()
        assert [task.name for task in await atelier.tasks.list(workflow.id)] == ["task 1"]
        assert not await world.lost(atelier, workflow.id)
        assert len([event async for event in atelier.runs.replay(workflow.id) if event.chunk_type == "task_create"]) == 1
    assert world.effects() == ["line 0"]


async def test_a_rule_is_there_with_the_decision_it_came_with_when_the_process_is_killed_after_it(tmp_path: Path) -> None:
    world = World(tmp_path, "tests.chaos.approval_worker")
    assert world.finish(world.start("after_commit:approval_decided", "1"))
    world.run_to_the_end()
    assert world.status == "completed"
    async with world.read() as atelier:
        assert [rule.text for rule in await atelier.permissions.rules()] == ["append_line"]
    assert world.effects() == ["once"]
