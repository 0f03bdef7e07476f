"""Order of tasks in the pane: a tree by dependency, siblings in the order set by the user. No widgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from atelier_desk.domain.task import Task, TaskStatus

MAX_INDENT = 3
"""Maximum indentation levels; longer chains are not indented further, as the pane is narrow."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A row of the pane.

    Attributes:
        depth: 0 for a task without dependencies, at most ``MAX_INDENT``.
        waits_for: its unfinished dependencies; with any, it is shown as blocked.
    """

    task: Task
    depth: int = 0
    waits_for: tuple[Task, ...] = ()

    @property
    def shown_status(self) -> TaskStatus:
        """The displayed status: a task that has not started is blocked while it has open dependencies."""
        if self.waits_for and self.task.status is TaskStatus.PENDING:
            return TaskStatus.BLOCKED
        return self.task.status


def _rank(task: Task) -> tuple[float, object, str]:
    return (task.position, task.created_at, task.id)


def arrange(tasks: Iterable[Task]) -> list[TaskRow]:
    """Rows from top to bottom: each task below the last of its dependencies, siblings in user order.

    Deleted dependencies are ignored; a cycle, which validation prevents, would be listed flat at the end.
    """
    ordered = sorted(tasks, key=_rank)
    by_id = {task.id: task for task in ordered}
    place = {task.id: index for index, task in enumerate(ordered)}
    children: dict[str | None, list[Task]] = {}
    for task in ordered:
        known = [key for key in task.dependencies if key in by_id]
        children.setdefault(max(known, key=place.__getitem__) if known else None, []).append(task)
    rows: list[TaskRow] = []
    seen: set[str] = set()

    def row(task: Task, depth: int) -> TaskRow:
        waits = (
            by_id[key] for key in task.dependencies if key in by_id and by_id[key].status is not TaskStatus.COMPLETED
        )
        return TaskRow(task, min(depth, MAX_INDENT), tuple(waits))

    pending = [(task, 0) for task in reversed(children.get(None, []))]
    while pending:
        task, depth = pending.pop()
        seen.add(task.id)
        rows.append(row(task, depth))
        pending.extend((child, depth + 1) for child in reversed(children.get(task.id, [])))
    rows.extend(row(task, 0) for task in ordered if task.id not in seen)
    return rows


def progress(tasks: Iterable[Task]) -> tuple[int, int]:
    """The number of completed tasks and of all."""
    every = list(tasks)
    return sum(task.status is TaskStatus.COMPLETED for task in every), len(every)


def moved(ids: Sequence[str], task_id: str, to: int) -> list[str]:
    """The order after ``task_id`` was dropped before the row at index ``to`` (``len(ids)``: at the end)."""
    before = [key for key in ids[:to] if key != task_id]
    after = [key for key in ids[to:] if key != task_id]
    return [*before, task_id, *after]


def possible_dependencies(tasks: Iterable[Task], task: Task | None) -> list[Task]:
    """Tasks on which ``task`` may depend without a cycle: not itself, nor those that depend on it, even indirectly."""
    every = sorted(tasks, key=_rank)
    if task is None:
        return every
    barred = {task.id}
    grew = True
    while grew:
        more = {other.id for other in every if other.id not in barred and barred.intersection(other.dependencies)}
        grew = bool(more)
        barred |= more
    return [other for other in every if other.id not in barred]
