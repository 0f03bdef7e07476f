"""Tasks as a tree by dependency, in user order."""

from __future__ import annotations

from atelier_desk.desktop.panes.tasks.task_tree import MAX_INDENT, arrange, moved, possible_dependencies, progress
from atelier_desk.domain.task import Task, TaskStatus


def task(key: str, position: float, *after: str, status: TaskStatus = TaskStatus.PENDING) -> Task:
    return Task(id=key, workflow_id="w", name=key, position=position, dependencies=after, status=status)


def shape(tasks: list[Task]) -> list[tuple[str, int]]:
    return [(row.task.id, row.depth) for row in arrange(tasks)]


def test_each_task_is_below_its_dependency() -> None:
    tasks = [task("c", 3, "a"), task("a", 1), task("b", 2), task("d", 4, "c"), task("e", 5, "a")]
    assert shape(tasks) == [("a", 0), ("c", 1), ("d", 2), ("e", 1), ("b", 0)]


def test_open_dependencies_show_as_blocked_until_they_are_done() -> None:
    waiting = arrange([task("a", 1), task("b", 2, "a")])[1]
    assert waiting.shown_status is TaskStatus.BLOCKED
    assert [t.id for t in waiting.waits_for] == ["a"]
    free = arrange([task("a", 1, status=TaskStatus.COMPLETED), task("b", 2, "a")])[1]
    assert free.shown_status is TaskStatus.PENDING


def test_long_chains_stop_indenting_and_nothing_is_lost() -> None:
    chain = [task("t0", 0), *(task(f"t{n}", n, f"t{n - 1}") for n in range(1, 8))]
    assert max(depth for _, depth in shape(chain)) == MAX_INDENT
    broken = [task("x", 1, "gone"), task("y", 2, "z"), task("z", 3, "y")]
    assert shape(broken) == [("x", 0), ("y", 0), ("z", 0)]


def test_moving_counting_and_choosing_dependencies() -> None:
    assert moved(["a", "b", "c"], "c", 0) == ["c", "a", "b"]
    assert moved(["a", "b", "c"], "a", 3) == ["b", "c", "a"]
    assert moved(["a", "b", "c"], "b", 1) == ["a", "b", "c"]
    tasks = [task("a", 1, status=TaskStatus.COMPLETED), task("b", 2, "a"), task("c", 3, "b"), task("d", 4)]
    assert progress(tasks) == (1, 4)
    assert [t.id for t in possible_dependencies(tasks, tasks[1])] == ["a", "d"]
    assert len(possible_dependencies(tasks, None)) == 4
