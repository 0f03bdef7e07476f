"""A sample of ``tests/chaos``: the change of a call is stored exactly once, whenever the process is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.kill_harness import World


async def test_a_task_is_created_once_when_the_process_is_killed_before_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATELIER_CALLS", "2")
    world = World(tmp_path, "tests.chaos.run_worker")
    assert world.finish(world.start("before_commit:task_changed", "1"))
    world.run_to_the_end()
    assert world.status == "completed"
    async with world.read() as atelier:
        [workflow] = await atelier.workflows.list()
        assert [task.name for task in await atelier.tasks.list(workflow.id)] == ["task 1"]
        assert not await world.lost(atelier, workflow.id)
        assert (
            len([event async for event in atelier.runs.replay(workflow.id) if event.chunk_type == "task_create"]) == 1
        )
    assert world.effects() == ["line 0"]
