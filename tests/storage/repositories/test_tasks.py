"""Tasks belong to their workflow."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.writing.journal_commit import Commit


async def test_order_filter_and_limit(repos: Repositories, workflow: Workflow) -> None:
    tasks = [Task(workflow_id=workflow.id, name=f"t{number}", position=float(number)) for number in range(4)]
    tasks[2] = tasks[2].model_copy(update={"status": TaskStatus.COMPLETED, "duration_ms": 5})
    await repos.journal.commit(Commit(tasks=tuple(reversed(tasks))))
    assert await repos.tasks.list(workflow.id) == tasks
    assert await repos.tasks.list(workflow.id, TaskStatus.COMPLETED) == [tasks[2]]
    assert await repos.tasks.list(workflow.id, limit=2) == tasks[:2]


async def test_another_workflows_task_is_not_found(repos: Repositories, workflow: Workflow) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    task = Task(workflow_id=workflow.id, name="t")
    await repos.journal.commit(Commit(tasks=(task,)))
    assert await repos.tasks.get(workflow.id, task.id) == task
    for place in ((other.id, task.id), (workflow.id, "missing")):
        with pytest.raises(NotFoundError):
            await repos.tasks.get(*place)
