"""``atelier tasks``: tasks of one workflow or of all, by status."""

from __future__ import annotations

import json
from typing import Any

from atelier_desk.domain.task import TaskStatus
from tests.cli.conftest import Cli


def test_tasks_of_all_workflows_by_status(cli: Cli) -> None:
    def add(workflow: str, name: str, **more: Any) -> str:
        given = {"operation": "create", "name": name, **more}
        result = cli("tools", "call", "TodoTool", json.dumps(given), "--workflow", workflow, "--json")
        assert result.status == 0, result.err
        tasks = cli("tasks", "list", "--workflow", workflow, "--json").json
        return str(next(task["id"] for task in tasks if task["name"] == name))

    first = cli("run", "one", "--json", steps=["1"]).events[0]["workflow_id"]
    second = cli("run", "two", "--json", steps=["2"]).events[0]["workflow_id"]
    fish = add(first, "Fish")
    add(first, "Cook", dependencies=[fish])
    add(second, "Urgent", priority=1)
    listed = cli("tasks", "list", "--json").json
    assert [(task["name"], task["status"]) for task in listed] == [
        ("Urgent", "pending"),
        ("Cook", "blocked"),
        ("Fish", "pending"),
    ]
    assert [task["name"] for task in cli("tasks", "list", "--status", "blocked", "--json").json] == ["Cook"]
    assert [task["name"] for task in cli("tasks", "list", "--limit", "1", "--offset", "1", "--json").json] == ["Cook"]
    cli("tools", "call", "TodoTool", json.dumps({"operation": "complete", "task_id": fish}), "--workflow", first)
    assert [task["name"] for task in cli("tasks", "list", "--status", "completed", "--json").json] == ["Fish"]
    assert {task["name"] for task in cli("tasks", "list", "--workflow", first[:-1], "--json").json} == {"Fish", "Cook"}
    shown = cli("tasks", "list").out
    assert "two" in shown
    assert "Fish" not in shown
    assert cli("tasks", "list", "--status", "lost").status == 2


def test_the_offered_statuses_are_those_of_the_domain() -> None:
    from atelier_desk.cli.command_arguments import tasks
    from atelier_desk.cli.event_text import TASK_STATES

    assert set(tasks.STATUSES) == {status.value for status in TaskStatus} == set(TASK_STATES)
