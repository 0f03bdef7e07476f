"""Task changes by people: the same rules as the agents' TodoTool, in the same journal."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, NotFoundError, UsageError
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.engine.services.common.service import Service
from atelier_desk.support.i18n import N_, _
from atelier_desk.tools.core import todo_rules

if TYPE_CHECKING:
    from atelier_desk.domain.events.run import TaskChanged

EDITABLE = frozenset({"name", "description", "priority", "dependencies", "agent_assigned", "duration_ms"})


class TaskService(Service):
    """Tasks of a workflow. Every change is a journal event, which announces it."""

    async def list(
        self, workflow_id: str, status: TaskStatus | None = None, limit: int = limits.LIST_MAX
    ) -> list[Task]:
        """Return tasks in pane order with display status: one with open dependencies is blocked."""
        input_checks.page(limit)
        tasks = await self._context.repos.tasks.by_id(workflow_id)
        shown = [
            task.model_copy(update={"status": todo_rules.displayed_status(task, tasks)}) for task in tasks.values()
        ]
        return [task for task in sorted(shown, key=_place) if status is None or task.status is status][:limit]

    async def across(
        self, status: TaskStatus | None = None, limit: int = limits.LIST_DEFAULT, offset: int = 0
    ) -> builtins.list[Task]:
        """Return tasks of all workflows with display status, urgent ones first, then newest.

        Done ones only on request.
        """
        input_checks.page(limit, offset, most=None)
        everywhere: dict[str, dict[str, Task]] = {}
        for task in await all_rows(lambda start, most: self._context.repos.tasks.across(most, start)):
            everywhere.setdefault(task.workflow_id, {})[task.id] = task
        found = []
        for tasks in everywhere.values():
            for task in tasks.values():
                shown = todo_rules.displayed_status(task, tasks)
                if shown is status or (status is None and shown is not TaskStatus.COMPLETED):
                    found.append(task.model_copy(update={"status": shown}))
        found.sort(key=lambda task: task.created_at, reverse=True)
        found.sort(key=lambda task: task.priority)
        return found[offset : offset + limit]

    async def get(self, workflow_id: str, task_id: str) -> Task:
        return await self._context.repos.tasks.get(workflow_id, task_id)

    async def create(
        self,
        workflow_id: str,
        name: str,
        description: str = "",
        priority: int = limits.TASK_PRIORITY_DEFAULT,
        dependencies: Sequence[str] = (),
        agent_assigned: str = "",
    ) -> Task:
        """Create a task at the end of the list.

        Raises:
            UsageError: a field is blank, too long or out of range.
            TaskRuleError: a dependency does not exist in the workflow.
        """

        def decide(tasks: dict[str, Task]) -> list[TaskChanged]:
            if len(tasks) >= limits.LIST_MAX:
                raise LimitError(N_("A workflow can have at most {most} tasks."), most=limits.LIST_MAX)
            task = input_checks.build(
                Task,
                _("task"),
                workflow_id=workflow_id,
                name=input_checks.text(name, _("name"), limits.TASK_NAME),
                description=description,
                priority=priority,
                agent_assigned=agent_assigned,
                position=todo_rules.last_position(tasks) + 1.0,
                created_at=self._context.clock.now(),
            )
            task = task.model_copy(update={"dependencies": todo_rules.check_dependencies(task.id, dependencies, tasks)})
            return [todo_rules.creation(task)]

        return await self._change(workflow_id, decide)

    async def update(self, workflow_id: str, task_id: str, **fields: Any) -> Task:
        """Change name, description, priority, dependencies, assigned agent, or duration in milliseconds."""
        unknown = sorted(set(fields) - EDITABLE)
        if unknown:
            raise UsageError(N_("These task fields cannot be changed here: {names}. Fields you can change: {allowed}."),
            names=", ".join(unknown),
                             allowed=", ".join(sorted(EDITABLE)))  # fmt: skip

        def decide(tasks: dict[str, Task]) -> list[TaskChanged]:
            task = _find(tasks, task_id)
            if "name" in fields:
                fields["name"] = input_checks.text(fields["name"], _("name"), limits.TASK_NAME)
            if "dependencies" in fields:
                fields["dependencies"] = todo_rules.check_dependencies(task_id, fields["dependencies"], tasks)
            return [todo_rules.change(task, input_checks.changed(task, _("task"), **fields))]

        return await self._change(workflow_id, decide)

    async def set_status(self, workflow_id: str, task_id: str, status: TaskStatus | str) -> Task:
        """Change the status; a task cannot start or complete before its dependencies (``TaskRuleError`` names them)."""
        try:
            wanted = TaskStatus(status)
        except ValueError:
            allowed = ", ".join(each.value for each in TaskStatus)
            raise UsageError(
                N_("Unknown status {status}; allowed: {allowed}."), status=status, allowed=allowed
            ) from None
        now = self._context.clock.now()

        def decide(tasks: dict[str, Task]) -> list[TaskChanged]:
            task = _find(tasks, task_id)
            return [todo_rules.change(task, todo_rules.change_status(task, wanted, tasks, now))]

        return await self._change(workflow_id, decide)

    async def edit(self, task: Task, **fields: Any) -> Task:
        """Save differences from ``task``.

        Fields first, then the status, which depends on them, then the duration, which completing measures.
        """
        status, duration = fields.pop("status", task.status), fields.pop("duration_ms", None)
        changed = {name: value for name, value in fields.items() if value != getattr(task, name)}
        if changed:
            await self.update(task.workflow_id, task.id, **changed)
        if status is not task.status:
            await self.set_status(task.workflow_id, task.id, status)
        if duration is not None:
            await self.update(task.workflow_id, task.id, duration_ms=duration)
        return await self.get(task.workflow_id, task.id)

    async def complete(self, workflow_id: str, task_id: str) -> Task:
        return await self.set_status(workflow_id, task_id, TaskStatus.COMPLETED)

    async def delete(self, workflow_id: str, task_id: str) -> Task:
        """Delete and return a task, for ``restore``; others no longer depend on it."""
        return await self._change(workflow_id, lambda tasks: todo_rules.deletion(_find(tasks, task_id), tasks))

    async def restore(self, task: Task) -> Task:
        """Restore a deleted task with its id; missing dependencies are dropped."""

        def decide(tasks: dict[str, Task]) -> list[TaskChanged]:
            kept = tuple(name for name in task.dependencies if name in tasks)
            return [todo_rules.creation(task.model_copy(update={"dependencies": kept}))]

        return await self._change(task.workflow_id, decide)

    async def move(self, workflow_id: str, task_id: str, after: str = "") -> Task:
        """Move a task after another one; an empty ``after`` moves it first. Only changed positions are recorded.

        Raises:
            NotFoundError: one of them does not exist.
        """

        def decide(tasks: dict[str, Task]) -> list[TaskChanged]:
            task = _find(tasks, task_id)
            if after == task_id:
                return []
            ordered = [each for each in sorted(tasks.values(), key=_place) if each.id != task_id]
            ordered.insert(ordered.index(_find(tasks, after)) + 1 if after else 0, task)
            placed = [each.model_copy(update={"position": float(number)}) for number, each in enumerate(ordered, 1)]
            return [
                todo_rules.change(tasks[each.id], each) for each in placed if each.position != tasks[each.id].position
            ]

        await self._context.journal.change_tasks(workflow_id, decide)
        return await self.get(workflow_id, task_id)

    async def _change(self, workflow_id: str, decide: Callable[[dict[str, Task]], Sequence[TaskChanged]]) -> Task:
        """Commit the events of ``decide``; return the task of the last one."""
        changes = await self._context.journal.change_tasks(workflow_id, decide)
        return changes[-1].task


def _place(task: Task) -> tuple[float, str]:
    return task.position, task.id


def _find(tasks: dict[str, Task], task_id: str) -> Task:
    if task_id not in tasks:
        raise NotFoundError(N_("There is no task {id} in this workflow."), id=task_id)
    return tasks[task_id]
