"""Tasks changed by a person: the same rules as for agents, the journal, the order."""

from __future__ import annotations

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, NotFoundError, UsageError
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.task import TaskStatus
from atelier_desk.engine import Atelier
from atelier_desk.tools.core.todo_rules import TaskRuleError
from tests.engine.conftest import Opener, Recorder
from tests.helpers.manual_clock import ManualClock


async def test_changes_are_events_of_the_workflow(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    recorder = Recorder(atelier)
    task = await atelier.tasks.create(workflow.id, " Write ", "the text", 1)
    await atelier.tasks.update(workflow.id, task.id, name="Write it", priority=2)
    await atelier.tasks.set_status(workflow.id, task.id, "in_progress")
    await atelier.tasks.complete(workflow.id, task.id)
    await atelier.tasks.delete(workflow.id, task.id)
    assert recorder.kinds() == ["task_create", "task_update", "task_update", "task_complete", "task_delete"]
    assert [event.seq for event in recorder.events] == [1, 2, 3, 4, 5]
    assert recorder.events[1].data["task_name"] == "Write it"
    replayed = [event.chunk_type async for event in atelier.runs.replay(workflow.id)]
    assert replayed[-1] is ChunkType.TASK_DELETE
    assert await atelier.tasks.list(workflow.id) == []


async def test_dependencies_are_enforced(open_atelier: Opener, clock: ManualClock) -> None:
    async with open_atelier(clock=clock) as atelier:
        workflow = await atelier.workflows.create("x")
        first = await atelier.tasks.create(workflow.id, "First")
        second = await atelier.tasks.create(workflow.id, "Second", dependencies=[first.id])
        statuses = {task.name: task.status for task in await atelier.tasks.list(workflow.id)}
        assert statuses == {"First": TaskStatus.PENDING, "Second": TaskStatus.BLOCKED}
        with pytest.raises(TaskRuleError, match="First"):
            await atelier.tasks.complete(workflow.id, second.id)
        with pytest.raises(TaskRuleError, match="cycle"):
            await atelier.tasks.update(workflow.id, first.id, dependencies=[second.id])
        with pytest.raises(TaskRuleError):
            await atelier.tasks.create(workflow.id, "Third", dependencies=["missing"])
        await atelier.tasks.set_status(workflow.id, first.id, TaskStatus.IN_PROGRESS)
        await clock.advance(2)
        done = await atelier.tasks.complete(workflow.id, first.id)
        assert done.duration_ms == 2000
        assert (await atelier.tasks.complete(workflow.id, second.id)).status is TaskStatus.COMPLETED


async def test_a_deleted_task_unblocks_others_and_can_be_restored(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    first = await atelier.tasks.create(workflow.id, "First")
    second = await atelier.tasks.create(workflow.id, "Second", dependencies=[first.id])
    gone = await atelier.tasks.delete(workflow.id, first.id)
    assert (await atelier.tasks.get(workflow.id, second.id)).dependencies == ()
    assert await atelier.tasks.restore(gone) == first
    assert [task.name for task in await atelier.tasks.list(workflow.id)] == ["First", "Second"]


async def test_a_task_is_moved_behind_another_one_or_first(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    a, b, c = [await atelier.tasks.create(workflow.id, name) for name in "abc"]
    recorder = Recorder(atelier)
    assert (await atelier.tasks.move(workflow.id, c.id, a.id)).position == 2.0
    assert [task.name for task in await atelier.tasks.list(workflow.id)] == ["a", "c", "b"]
    await atelier.tasks.move(workflow.id, b.id)
    assert [task.name for task in await atelier.tasks.list(workflow.id)] == ["b", "a", "c"]
    told = len(recorder.events)
    await atelier.tasks.move(workflow.id, b.id)
    await atelier.tasks.move(workflow.id, b.id, b.id)
    assert len(recorder.events) == told
    for wrong in (("missing", ""), (a.id, "missing")):
        with pytest.raises(NotFoundError):
            await atelier.tasks.move(workflow.id, *wrong)


async def test_an_edit_saves_the_differences_and_durations_last(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    task = await atelier.tasks.create(workflow.id, "Write")
    recorder = Recorder(atelier)
    same = await atelier.tasks.edit(task, name=task.name, priority=task.priority, status=task.status)
    assert (same, recorder.kinds()) == (task, [])
    done = await atelier.tasks.edit(task, priority=1, status=TaskStatus.COMPLETED, duration_ms=5_400_000)
    assert (done.priority, done.status, done.duration_ms) == (1, TaskStatus.COMPLETED, 5_400_000)
    assert recorder.kinds() == ["task_update", "task_complete", "task_update"]


async def test_invalid_input_is_explained(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    other = await atelier.workflows.create("y")
    task = await atelier.tasks.create(workflow.id, "First")
    with pytest.raises(UsageError, match="blank"):
        await atelier.tasks.create(workflow.id, " ")
    with pytest.raises(LimitError, match="128"):
        await atelier.tasks.create(workflow.id, "x" * (limits.TASK_NAME + 1))
    with pytest.raises(UsageError, match="priority"):
        await atelier.tasks.create(workflow.id, "x", priority=9)
    with pytest.raises(UsageError, match="pending, in_progress, completed, blocked"):
        await atelier.tasks.set_status(workflow.id, task.id, "done")
    with pytest.raises(UsageError, match="status"):
        await atelier.tasks.update(workflow.id, task.id, status="completed")
    with pytest.raises(NotFoundError):
        await atelier.tasks.complete(other.id, task.id)
    with pytest.raises(NotFoundError):
        await atelier.tasks.create("missing", "x")
