"""Rules of tasks, for agents and people alike: dependencies exist, are acyclic, and are completed first.

Pure functions over the tasks of one workflow; callers load and save.
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
    """A change that violates the rules of tasks."""

    code = "task_rule"


def check_dependencies(task_id: str, dependencies: Sequence[str], tasks: Tasks) -> tuple[str, ...]:
    """Return the distinct dependencies, in order.

    Raises:
        TaskRuleError: one does not exist in the workflow, is the task itself, or leads back to it.
    """
    unique = tuple(dict.fromkeys(dependencies))
    missing = [name for name in unique if name not in tasks and name != task_id]
    if missing:
        raise TaskRuleError(
            N_("No such task in this workflow: {missing}. Dependencies must be ids of existing tasks."),
            missing=", ".join(missing),
        )
    for first in unique:
        path = _path(first, task_id, tasks)
        if path:
            raise TaskRuleError(N_("These dependencies form a cycle: {path}."), path=_path_text(task_id, path, tasks))
    return unique


def open_dependencies(task: Task, tasks: Tasks) -> list[Task]:
    """Return the unfinished dependencies, in order. Deleted ones are ignored."""
    found = (tasks.get(name) for name in task.dependencies)
    return [other for other in found if other is not None and other.status is not TaskStatus.COMPLETED]


def displayed_status(task: Task, tasks: Tasks) -> TaskStatus:
    """Return the status for display: an unfinished task with open dependencies is blocked."""
    if task.status is not TaskStatus.COMPLETED and open_dependencies(task, tasks):
        return TaskStatus.BLOCKED
    return task.status


def change_status(task: Task, status: TaskStatus, tasks: Tasks, now: datetime) -> Task:
    """Return the task with a new status.

    Starting sets the start time, completing sets end and duration, reopening clears the end.

    Raises:
        TaskRuleError: it cannot start or complete before its dependencies.
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
    """Return the completed task. Without ``duration_ms``, the time since its start is used, if it was started.

    A completed task stays unchanged unless a duration is given.

    Raises:
        TaskRuleError: it cannot complete before its dependencies.
    """
    if task.status is TaskStatus.COMPLETED:
        return task if duration_ms is None else task.model_copy(update={"duration_ms": duration_ms})
    _require_no_open(task, tasks, N_("Task {name} cannot be completed before these: {open}."))
    duration = duration_ms
    if duration is None and task.started_at is not None:
        duration = max(0, round((now - task.started_at).total_seconds() * 1000))
    return task.model_copy(update={"status": TaskStatus.COMPLETED, "completed_at": now, "duration_ms": duration})


def last_position(tasks: Tasks) -> float:
    """Return the position of the last task, 0 if there is none."""
    return max((task.position for task in tasks.values()), default=0.0)


def creation(task: Task) -> TaskChanged:
    return _changed("create", task)


def change(before: Task, after: Task) -> TaskChanged:
    """Return the event for a change of a task."""
    completed = after.status is TaskStatus.COMPLETED and before.status is not TaskStatus.COMPLETED
    fields = tuple(name for name in Task.model_fields if getattr(before, name) != getattr(after, name))
    return _changed("complete" if completed else "update", after, fields)


def deletion(task: Task, tasks: Tasks) -> tuple[TaskChanged, ...]:
    """Return the events of a deletion: dependants lose the dependency, then the task is deleted."""
    released = [
        change(
            other,
            other.model_copy(update={"dependencies": tuple(name for name in other.dependencies if name != task.id)}),
        )
        for other in tasks.values()
        if task.id in other.dependencies
    ]
    return (*released, _changed("delete", task))


def _changed(
    action: Literal["create", "update", "complete", "delete"], task: Task, fields: tuple[str, ...] | None = None
) -> TaskChanged:
    from atelier_desk.domain.events.run import TaskChanged  # listing tasks does not need it

    return TaskChanged(action=action, task=task, fields=fields)


def _require_no_open(task: Task, tasks: Tasks, template: str) -> None:
    waiting = open_dependencies(task, tasks)
    if waiting:
        raise TaskRuleError(template, name=task.name, open=", ".join(f"{other.name} ({other.id})" for other in waiting))


def _path(start: str, goal: str, tasks: Tasks) -> list[str]:
    """Return ids from ``start`` to ``goal`` along dependencies, empty if there is no path."""
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
