"""The rules of tasks, the same for agents and for people: dependencies exist, make no cycle, and are completed first.

Pure functions over the tasks of one workflow; who calls them loads and saves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.events.run import TaskChanged

Tasks = Mapping[str, Task]
"""All tasks of the workflow, by id."""


class TaskRuleError(ConflictError):
    """A change that the rules of tasks forbid."""

    code = "task_rule"


def check_dependencies(task_id: str, dependencies: Sequence[str], tasks: Tasks) -> tuple[str, ...]:
    """The dependencies without repetitions, in their order.

    Raises:
        TaskRuleError: one does not exist in the workflow, is the task itself, or leads back to it.
    """
    unique = tuple(dict.fromkeys(dependencies))
    missing = [name for name in unique if name not in tasks and name != task_id]
    if missing:
        raise TaskRuleError(
            N_("No such task in this workflow: {missing}. Dependencies must be ids of existing tasks."), missing=", ".join(missing)
        )
    for first in unique:
        path = _path(first, task_id, tasks)
        if path:
            raise TaskRuleError(N_("These dependencies make a cycle: {path}."), path=_path_text(task_id, path, tasks))
    return unique


def open_dependencies(task: Task, tasks: Tasks) -> list[Task]:
    """The tasks it waits for, in the order of its dependencies. A dependency that was deleted no longer holds it up."""
    found = (tasks.get(name) for name in task.dependencies)
    return [other for other in found if other is not None and other.status is not TaskStatus.COMPLETED]


def displayed_status(task: Task, tasks: Tasks) -> TaskStatus:
    """The status to show: a task that is not completed and waits for another one shows as blocked."""
    if task.status is not TaskStatus.COMPLETED and open_dependencies(task, tasks):
        return TaskStatus.BLOCKED
    return task.status


def change_status(task: Task, status: TaskStatus, tasks: Tasks, now: datetime) -> Task:
    """The task with a new status; starting sets the start time, completing the end and the duration, reopening clears the end.

    Raises:
        TaskRuleError: it cannot start or complete before the tasks it depends on.
    """
    if status is TaskStatus.COMPLETED:
        return complete(task, tasks, now)
    if status is TaskStatus.IN_PROGRESS:
        _require_no_open(task, tasks, N_("Task {name} cannot start before these are completed: {open}."))
    changed: dict[str, object] = {"status": status, "completed_at": None}
    if task.status is TaskStatus.COMPLETED:
        changed["duration_ms"] = None
    if status is TaskStatus.IN_PROGRESS and (task.started_at is None or task.status is TaskStatus.COMPLETED):
        changed["started_at"] = now
    return task.model_copy(update=changed)


def complete(task: Task, tasks: Tasks, now: datetime, duration_ms: int | None = None) -> Task:
    """The completed task. Without ``duration_ms`` the time since its start counts; one that never started has none.

    A task that is completed already stays as it is, unless a duration is given.

    Raises:
        TaskRuleError: it cannot complete before the tasks it depends on.
    """
    if task.status is TaskStatus.COMPLETED:
        return task if duration_ms is None else task.model_copy(update={"duration_ms": duration_ms})
    _require_no_open(task, tasks, N_("Task {name} cannot complete before these are completed: {open}."))
    taken = duration_ms
    if taken is None and task.started_at is not None:
        taken = max(0, round((now - task.started_at).total_seconds() * 1000))
    return task.model_copy(update={"status": TaskStatus.COMPLETED, "completed_at": now, "duration_ms": taken})


def last_position(tasks: Tasks) -> float:
    """The place of the last task, 0 when there is none."""
    return max((task.position for task in tasks.values()), default=0.0)


def creation(task: Task) -> TaskChanged:
    """A new task."""
    return _changed("create", task)


def change(before: Task, after: Task) -> TaskChanged:
    """The change from one state of a task to another."""
    completed = after.status is TaskStatus.COMPLETED and before.status is not TaskStatus.COMPLETED
    fields = tuple(name for name in Task.model_fields if getattr(before, name) != getattr(after, name))
    return _changed("complete" if completed else "update", after, fields)


def deletion(task: Task, tasks: Tasks) -> tuple[TaskChanged, ...]:
    """What deleting a task means: those that depended on it no longer do, for dependencies always exist; then it is gone."""
    released = [
        change(other, other.model_copy(update={"dependencies": tuple(name for name in other.dependencies if name != task.id)}))
        for other in tasks.values()
        if task.id in other.dependencies
    ]
    return (*released, _changed("delete", task))


def _changed(action: Literal["create", "update", "complete", "delete"], task: Task, fields: tuple[str, ...] | None = None) -> TaskChanged:
    from atelier_desk.domain.events.run import TaskChanged  # a command that lists tasks changes none

    return TaskChanged(action=action, task=task, fields=fields)


def _require_no_open(task: Task, tasks: Tasks, template: str) -> None:
    waiting = open_dependencies(task, tasks)
    if waiting:
        raise TaskRuleError(template, name=task.name, open=", ".join(f"{other.name} ({other.id})" for other in waiting))


def _path(start: str, goal: str, tasks: Tasks) -> list[str]:
    """Ids from ``start`` to ``goal`` along dependencies, empty when there is no way."""
    if start == goal:
        return [goal]
    came_from: dict[str, str] = {}
    queue = [start]
    for current in queue:
        task = tasks.get(current)
        for following in task.dependencies if task is not None else ():
            if following == start or following in came_from:
                continue
            came_from[following] = current
            if following == goal:
                return _walk_back(start, goal, came_from)
            queue.append(following)
    return []


def _walk_back(start: str, goal: str, came_from: Mapping[str, str]) -> list[str]:
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def _path_text(task_id: str, path: Sequence[str], tasks: Tasks) -> str:
    return " → ".join(tasks[name].name if name in tasks else name for name in (task_id, *path))
