"""TodoTool with a real repository."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.base import ToolResult
from tests.helpers.manual_clock import ManualClock
from tests.tools.conftest import Calls, MakeCalls

TODO = "TodoTool"
FIELDS = {
    "id",
    "workflow_id",
    "name",
    "description",
    "agent_assigned",
    "priority",
    "status",
    "dependencies",
    "duration_ms",
    "created_at",
    "completed_at",
}


async def create(calls: Calls, name: str, **fields: Any) -> str:
    data = await calls(TODO, operation="create", name=name, **fields)
    assert data["success"], data
    task_id: str = data["task_id"]
    return task_id


async def test_a_task_is_created_with_defaults_and_announced(calls: Calls) -> None:
    task_id = await create(calls, "Write tests")
    data = await calls(TODO, operation="get", task_id=task_id)
    task = data["task"]
    assert set(task) == FIELDS
    assert (task["name"], task["priority"], task["status"], task["description"]) == ("Write tests", 3, "pending", "")
    assert task["agent_assigned"] == "Assistant"
    assert task["workflow_id"] == calls.context.workflow_id
    ((action, announced),) = calls.announced
    assert (action, announced.id) == ("create", task_id)


async def test_it_writes_nothing_itself_and_returns_the_changes(calls: Calls, repos: Repositories) -> None:
    task_id = await create(calls, "Once")
    outcome = await calls.outcome(TODO, operation="complete", task_id=task_id)
    assert isinstance(outcome, ToolResult)
    [changed] = outcome.tasks
    assert changed.fields == ("status", "completed_at")
    assert await repos.tasks.list(calls.context.workflow_id) == []


async def test_a_dependency_blocks_until_it_is_completed(calls: Calls) -> None:
    code = await create(calls, "Code")
    tests = await create(calls, "Test", dependencies=[code])
    shown = (await calls(TODO, operation="get", task_id=tests))["task"]
    assert shown["status"] == "blocked"
    assert shown["blocked_by"] == [{"id": code, "name": "Code", "status": "pending"}]
    refused = await calls(TODO, operation="update_status", task_id=tests, status="in_progress")
    assert refused["code"] == "task_rule"
    assert "Code" in refused["error"]
    assert code in refused["error"]
    assert (await calls(TODO, operation="complete", task_id=tests))["code"] == "task_rule"
    await calls(TODO, operation="complete", task_id=code)
    assert (await calls(TODO, operation="update_status", task_id=tests, status="in_progress"))["task"][
        "status"
    ] == "in_progress"


async def test_a_dependency_must_exist_in_this_workflow(
    calls: Calls, calls_with: MakeCalls, repos: Repositories
) -> None:
    other = Workflow(name="Other")
    await repos.workflows.create(other)
    elsewhere = calls_with(workflow_id=other.id)
    foreign = await create(elsewhere, "Foreign")
    calls.stored = elsewhere.stored
    data = await calls(TODO, operation="create", name="Mine", dependencies=[foreign])
    assert data["code"] == "task_rule"
    assert foreign in data["error"]


async def test_completing_measures_the_time_since_the_start(calls: Calls, clock: ManualClock) -> None:
    task_id = await create(calls, "Work")
    await clock.advance(60)
    await calls(TODO, operation="update_status", task_id=task_id, status="in_progress")
    await clock.advance(2.5)
    data = await calls(TODO, operation="complete", task_id=task_id)
    assert data["task"]["duration_ms"] == 2_500
    assert data["task"]["completed_at"] is not None
    assert [action for action, _ in calls.announced] == ["create", "update", "complete"]


async def test_a_given_duration_is_used(calls: Calls) -> None:
    task_id = await create(calls, "Work")
    assert (await calls(TODO, operation="complete", task_id=task_id, duration_ms=5_000))["task"]["duration_ms"] == 5_000


async def test_update_status_completed_announces_completion(calls: Calls) -> None:
    task_id = await create(calls, "Work")
    await calls(TODO, operation="update_status", task_id=task_id, status="completed")
    action, task = calls.announced[-1]
    assert action == "complete"
    assert task.status is TaskStatus.COMPLETED


async def test_tasks_are_listed_by_their_displayed_status(calls: Calls) -> None:
    first = await create(calls, "First")
    await create(calls, "Second", dependencies=[first])
    await create(calls, "Third")
    everything = await calls(TODO, operation="list")
    assert [task["name"] for task in everything["tasks"]] == ["First", "Second", "Third"]
    assert [task["name"] for task in (await calls(TODO, operation="list", status_filter="blocked"))["tasks"]] == [
        "Second"
    ]
    pending = await calls(TODO, operation="list", status_filter="pending", limit=1)
    assert (pending["count"], pending["total"]) == (1, 2)


async def test_deleting_a_task_unblocks_those_waiting_for_it(calls: Calls) -> None:
    first = await create(calls, "First")
    second = await create(calls, "Second", dependencies=[first])
    await calls(TODO, operation="delete", task_id=first)
    assert calls.stored[second].dependencies == ()
    assert [action for action, _ in calls.announced] == ["create", "create", "update", "delete"]
    assert (await calls(TODO, operation="delete", task_id=first))["code"] == "not_found"


@pytest.mark.parametrize("operation", ["get", "complete", "delete"])
async def test_another_workflows_task_is_not_found(
    calls: Calls, calls_with: MakeCalls, repos: Repositories, operation: str
) -> None:
    other = Workflow(name="Other")
    await repos.workflows.create(other)
    elsewhere = calls_with(workflow_id=other.id)
    foreign = await create(elsewhere, "Foreign")
    calls.stored = elsewhere.stored
    data = await calls(TODO, operation=operation, task_id=foreign)
    assert data["code"] == "not_found"
    assert "not found in this workflow" in data["error"]


async def test_a_blank_name_is_refused(calls: Calls) -> None:
    assert "blank" in (await calls(TODO, operation="create", name="   "))["error"]


async def test_a_workflow_has_a_limited_number_of_tasks(calls: Calls) -> None:
    many = [Task(workflow_id=calls.context.workflow_id, name=str(number)) for number in range(limits.LIST_MAX)]
    calls.stored = {task.id: task for task in many}
    assert "at most 1000 tasks" in (await calls(TODO, operation="create", name="One more"))["error"]


async def test_without_a_workflow_there_are_no_tasks(calls_with: MakeCalls) -> None:
    assert (await calls_with(workflow_id="")(TODO, operation="list"))["code"] == "no_workflow"


async def test_quotes_and_statements_are_plain_text(calls: Calls) -> None:
    name = "'; DELETE task; --"
    task_id = await create(calls, name, description='"} RETURN 1')
    assert (await calls(TODO, operation="get", task_id=task_id))["task"]["name"] == name
    assert (await calls(TODO, operation="get", task_id="x' OR 1=1"))["code"] == "not_found"


def test_limits_in_the_description_come_from_the_constants(calls: Calls) -> None:
    tool = calls.registry.get_tool(TODO)
    assert tool is not None
    assert f"name {limits.TASK_NAME} characters" in tool.description
    assert calls.registry.prepare(tool, {"operation": "list"}).described.effect == "read"
    assert calls.registry.prepare(tool, {"operation": "create", "name": "a"}).described.effect == "write"
