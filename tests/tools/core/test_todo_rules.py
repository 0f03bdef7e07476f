"""The rules of tasks, and that no order of changes violates them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.tools.core import todo_rules
from atelier_desk.tools.core.todo_rules import TaskRuleError

START = datetime(2026, 1, 1, tzinfo=UTC)


def task(name: str, *dependencies: str, status: TaskStatus = TaskStatus.PENDING, **fields: object) -> Task:
    return Task.model_validate(
        {
            "id": name,
            "workflow_id": "w",
            "name": name.upper(),
            "dependencies": dependencies,
            "status": status,
            "created_at": START,
            **fields,
        }
    )


def tasks(*every: Task) -> dict[str, Task]:
    return {each.id: each for each in every}


def test_dependencies_are_stored_in_order_without_duplicates() -> None:
    assert todo_rules.check_dependencies("new", ["b", "a", "b"], tasks(task("a"), task("b"))) == ("b", "a")


def test_a_missing_dependency_is_named() -> None:
    with pytest.raises(TaskRuleError, match="ghost"):
        todo_rules.check_dependencies("new", ["a", "ghost"], tasks(task("a")))


def test_a_task_cannot_wait_for_itself() -> None:
    with pytest.raises(TaskRuleError, match="cycle: A → A"):
        todo_rules.check_dependencies("a", ["a"], tasks(task("a")))


def test_a_cycle_is_shown_as_a_path() -> None:
    with pytest.raises(TaskRuleError, match="cycle: C → A → B → C"):
        todo_rules.check_dependencies("c", ["a"], tasks(task("a", "b"), task("b", "c"), task("c")))


def test_a_diamond_is_not_a_cycle() -> None:
    known = tasks(task("a"), task("b", "a"), task("c", "a"))
    assert todo_rules.check_dependencies("d", ["b", "c"], known) == ("b", "c")


@pytest.mark.parametrize("status", [TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED])
def test_a_task_cannot_start_or_complete_before_its_dependencies(status: TaskStatus) -> None:
    known = tasks(task("a"), task("b", status=TaskStatus.COMPLETED), task("c", "a", "b"))
    with pytest.raises(TaskRuleError) as caught:
        todo_rules.change_status(known["c"], status, known, START)
    assert "A (a)" in str(caught.value)
    assert "B" not in str(caught.value)


def test_a_task_with_open_dependencies_shows_as_blocked() -> None:
    known = tasks(task("a"), task("b", "a"))
    assert todo_rules.displayed_status(known["b"], known) is TaskStatus.BLOCKED
    done = tasks(task("a", status=TaskStatus.COMPLETED), task("b", "a"), task("c", "a", status=TaskStatus.BLOCKED))
    assert todo_rules.displayed_status(done["b"], done) is TaskStatus.PENDING
    assert todo_rules.displayed_status(done["c"], done) is TaskStatus.BLOCKED
    finished = tasks(task("a"), task("b", "a", status=TaskStatus.COMPLETED))
    assert todo_rules.displayed_status(finished["b"], finished) is TaskStatus.COMPLETED


def test_the_duration_counts_from_the_start() -> None:
    known = tasks(task("a"))
    started = todo_rules.change_status(known["a"], TaskStatus.IN_PROGRESS, known, START + timedelta(seconds=5))
    done = todo_rules.complete(started, known, START + timedelta(seconds=7.25))
    assert done.duration_ms == 2_250
    assert done.completed_at == START + timedelta(seconds=7.25)


def test_a_task_that_never_started_has_no_duration() -> None:
    known = tasks(task("a"))
    done = todo_rules.complete(known["a"], known, START + timedelta(seconds=3))
    assert (done.started_at, done.duration_ms, done.completed_at) == (None, None, START + timedelta(seconds=3))


def test_a_given_duration_is_kept_afterwards() -> None:
    known = tasks(task("a"))
    done = todo_rules.complete(known["a"], known, START, 17)
    assert done.duration_ms == 17
    assert todo_rules.complete(done, known, START + timedelta(days=1)) == done
    assert todo_rules.complete(done, known, START, 18).duration_ms == 18


def test_reopening_clears_the_end_and_starting_again_starts_the_clock() -> None:
    known = tasks(task("a"))
    done = todo_rules.complete(known["a"], known, START + timedelta(seconds=3))
    reopened = todo_rules.change_status(done, TaskStatus.PENDING, known, START + timedelta(seconds=4))
    assert (reopened.completed_at, reopened.duration_ms) == (None, None)
    again = todo_rules.change_status(done, TaskStatus.IN_PROGRESS, known, START + timedelta(seconds=10))
    assert todo_rules.complete(again, known, START + timedelta(seconds=11)).duration_ms == 1_000


def test_deleting_a_task_unblocks_those_waiting_for_it() -> None:
    known = tasks(task("a"), task("b", "a", "c"), task("c"))
    released, gone = todo_rules.deletion(known["a"], known)
    assert (released.action, released.task.id, released.task.dependencies, released.fields) == (
        "update",
        "b",
        ("c",),
        ("dependencies",),
    )
    assert (gone.action, gone.task) == ("delete", known["a"])


NAMES = "abcdef"
changes = st.lists(
    st.tuples(
        st.sampled_from(["depend", "status", "delete"]),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(NAMES), max_size=3),
        st.sampled_from(TaskStatus),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(changes)
def test_no_order_of_changes_makes_a_cycle_or_a_dangling_dependency(
    steps: list[tuple[str, str, list[str], TaskStatus]],
) -> None:
    known = tasks(*(task(name) for name in NAMES))
    for action, name, others, status in steps:
        if name not in known:
            continue
        try:
            if action == "depend":
                found = todo_rules.check_dependencies(name, others, known)
                known[name] = known[name].model_copy(update={"dependencies": found})
            elif action == "status":
                changed = todo_rules.change_status(known[name], status, known, START)
                if (
                    status in (TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED)
                    and known[name].status is not TaskStatus.COMPLETED
                ):
                    assert not todo_rules.open_dependencies(changed, known)
                known[name] = changed
            else:
                known |= {change.task.id: change.task for change in todo_rules.deletion(known[name], known)}
                del known[name]
        except TaskRuleError:
            continue
        assert all(dependency in known for each in known.values() for dependency in each.dependencies)
        assert not any(reaches_itself(each, known) for each in known)


def reaches_itself(name: str, known: dict[str, Task]) -> bool:
    seen: set[str] = set()
    queue = list(known[name].dependencies)
    while queue:
        current = queue.pop()
        if current == name:
            return True
        if current not in seen:
            seen.add(current)
            queue.extend(known[current].dependencies)
    return False
