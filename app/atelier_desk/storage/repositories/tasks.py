"""Tasks of a workflow."""

from __future__ import annotations

import builtins

from atelier_desk.domain import limits
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base_repository import Repository, page_size
from atelier_desk.storage.row_mapping import record
from atelier_desk.support.i18n import N_


class TaskRepository(Repository[Task]):
    """Tasks of the branch that each workflow shows.

    Written by the journal's commits. Only tasks of the given workflow are found.
    """

    table = tables.TASKS
    what = "task"
    absent = N_("There is no task {id}.")

    async def get(self, workflow_id: str, task_id: object = None) -> Task:
        """Return one task of a workflow.

        Raises:
            NotFoundError: there is none, or it belongs to another workflow.
        """
        found = await self._find(task_id)
        if found is None or found.workflow_id != workflow_id:
            raise self.missing(task_id)
        return found

    async def list(self, workflow_id: str, status: TaskStatus | None = None, limit: int = 100) -> list[Task]:
        """Return tasks in the order of the pane."""
        wanted = "AND status = $status" if status is not None else ""
        return await self._select(
            f"WHERE workflow = $workflow {wanted} ORDER BY position, created_at, id LIMIT $limit",
            workflow=record("workflow", workflow_id),
            status=status.value if status is not None else "",
            limit=page_size(limit),
        )

    async def by_id(self, workflow_id: str) -> dict[str, Task]:
        """Return all tasks of a workflow by id, in the order of the pane."""
        return {task.id: task for task in await self.list(workflow_id, limit=limits.LIST_MAX)}

    async def across(self, limit: int, offset: int = 0) -> builtins.list[Task]:
        """Return tasks of all workflows outside the bin, grouped by workflow, in the order of the pane."""
        return await self._select(
            "WHERE workflow.deleted = false ORDER BY workflow, position, created_at, id LIMIT $limit START $offset",
            limit=page_size(limit),
            offset=offset,
        )
