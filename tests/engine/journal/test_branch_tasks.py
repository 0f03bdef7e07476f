"""Tasks belong to the branch whose runs created them, in the pane, for the model, in forks, copies and replays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.events.run import RunEvent, TaskChanged
from atelier_desk.domain.model_messages import ChatRequest, Role, ToolCall
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.domain.workflow_branches import RunLink, branch_of
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.branch_tasks import tasks_of
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, create_workflow, exported_workflow, send_and_wait
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call


def todo(operation: str, **arguments: Any) -> list[ToolCall]:
    return [tool_call("TodoTool", f"{operation}-call", operation=operation, **arguments)]


def listed(request: ChatRequest) -> list[dict[str, Any]]:
    """The tasks in the result of the newest call of the request."""
    result: list[dict[str, Any]] = json.loads(
        [message for message in request.messages if message.role is Role.TOOL][-1].content
    )["tasks"]
    return result


def finishing(name: str) -> list[Step]:
    """A turn in which the model lists the tasks and completes one by its name."""

    def complete(request: ChatRequest) -> list[ToolCall]:
        return todo("complete", task_id=next(task["id"] for task in listed(request) if task["name"] == name))

    return [todo("list"), complete]


async def say(atelier: Atelier, workflow_id: str, text: str) -> str:
    run_id = await send_and_wait(atelier, workflow_id, text, agent=agent())
    return run_id


async def shown(atelier: Atelier, workflow_id: str) -> dict[str, str]:
    return {task.name: task.status.value for task in await atelier.tasks.list(workflow_id)}


async def two_versions(atelier: Atelier, model: ScriptedModel) -> tuple[str, str, str]:
    """A plan of one task, and a second turn with two versions: in the first it is completed and another created,
    in the second neither.
    """
    workflow_id = await create_workflow(atelier, "w")
    await say(atelier, workflow_id, "plan")
    first = await say(atelier, workflow_id, "work")
    assert await shown(atelier, workflow_id) == {"Plan": "completed", "More": "pending"}
    second = await atelier.runs.regenerate(workflow_id, first)
    await atelier.runs.wait(second)
    model.assert_complete()
    return workflow_id, first, second


def versions() -> ScriptedModel:
    plan: list[Step] = [todo("create", name="Plan"), "Planned.", "Later."]
    return ScriptedModel(
        [*plan, *finishing("Plan"), todo("create", name="More"), "Done.", "Really.", todo("list"), "Nothing done."]
    )


async def test_a_regenerated_turn_starts_with_the_tasks_of_the_turns_before(open_atelier: Opener) -> None:
    model = versions()
    async with open_atelier(model) as atelier:
        workflow_id, first, second = await two_versions(atelier, model)
        seen = next(request for request in reversed(model.requests) if request.messages[-1].role is Role.TOOL)
        assert [(task["name"], task["status"]) for task in listed(seen)] == [("Plan", "pending")]
        assert await shown(atelier, workflow_id) == {"Plan": "pending"}
        changed: list[tuple[str, str]] = []
        atelier.bus.on_changed(lambda topic, id: changed.append((topic, id)))
        await atelier.workflows.select_branch(workflow_id, first)
        assert ("task", workflow_id) in changed
        assert await shown(atelier, workflow_id) == {"Plan": "completed", "More": "pending"}
        assert {task.name for task in await atelier.tasks.across()} == {"More"}
        await atelier.workflows.select_branch(workflow_id, second)
        assert await shown(atelier, workflow_id) == {"Plan": "pending"}
        assert (await atelier.workflows.get(workflow_id)).head_run_id == second
    async with open_atelier() as atelier:
        assert await shown(atelier, workflow_id) == {"Plan": "pending"}
        await atelier.workflows.select_branch(workflow_id, first)
        assert await shown(atelier, workflow_id) == {"Plan": "completed", "More": "pending"}


async def test_a_persons_tasks_are_on_every_branch_and_their_edits_where_the_task_is(open_atelier: Opener) -> None:
    model = versions()
    async with open_atelier(model) as atelier:
        workflow_id, first, second = await two_versions(atelier, model)
        await atelier.tasks.create(workflow_id, "Mine")
        await atelier.workflows.select_branch(workflow_id, first)
        assert await shown(atelier, workflow_id) == {"Plan": "completed", "More": "pending", "Mine": "pending"}
        plan, more, _mine = await atelier.tasks.list(workflow_id)
        await atelier.tasks.update(workflow_id, plan.id, name="The plan")
        await atelier.tasks.move(workflow_id, plan.id, more.id)
        await atelier.tasks.set_status(workflow_id, more.id, "in_progress")
        await atelier.workflows.select_branch(workflow_id, second)
        assert await shown(atelier, workflow_id) == {"The plan": "pending", "Mine": "pending"}
        await atelier.workflows.select_branch(workflow_id, first)
        assert list(await shown(atelier, workflow_id)) == ["More", "The plan", "Mine"]


async def test_forks_and_copies_have_the_tasks_of_all_their_branches(open_atelier: Opener) -> None:
    model = versions()
    async with open_atelier(model) as atelier:
        workflow_id, first, _second = await two_versions(atelier, model)
        seq = (await atelier.workflows.get(workflow_id)).stream_seq
        fork = await atelier.runs.fork(workflow_id, seq)
        copy = await atelier.workflows.duplicate(workflow_id)
        ids = {task.id for task in await atelier.tasks.list(workflow_id)}
        for made in (fork, copy):
            assert await shown(atelier, made.id) == {"Plan": "pending"}
            branches = await atelier.workflows.branches(made.id)
            [[other, _]] = [branch.runs for branch in branches.values()]
            await atelier.workflows.select_branch(made.id, other)
            assert await shown(atelier, made.id) == {"Plan": "completed", "More": "pending"}
            assert not ids & {task.id for task in await atelier.tasks.list(made.id)}
        await atelier.workflows.select_branch(workflow_id, first)
        [earlier] = [
            event.seq async for event in atelier.runs.replay(workflow_id) if event.chunk_type == "task_complete"
        ]
        early = await atelier.runs.fork(workflow_id, earlier)
        assert await shown(atelier, early.id) == {"Plan": "completed"}


async def test_a_replay_shows_the_tasks_of_its_turn(open_atelier: Opener) -> None:
    model = versions()
    async with open_atelier(model) as atelier:
        workflow_id, first, second = await two_versions(atelier, model)
        end = (await atelier.workflows.get(workflow_id)).stream_seq
        assert [task.name for task in (await atelier.teams.at(workflow_id, first, end)).tasks] == ["Plan", "More"]
        [plan] = (await atelier.teams.at(workflow_id, second, end)).tasks
        assert plan.status is TaskStatus.PENDING


def change(run_id: str, action: str, task: Task, *fields: str) -> RunEvent:
    return RunEvent(workflow_id="w", run_id=run_id, body=TaskChanged(action=action, task=task, fields=fields or None))  # type: ignore[arg-type]


def test_only_tasks_of_the_branchs_runs_and_of_people_count() -> None:
    task = Task(id="t", workflow_id="w", run_id="r1", name="T")
    mine = Task(id="m", workflow_id="w", name="Mine")
    done = task.model_copy(update={"status": TaskStatus.COMPLETED})
    renamed = done.model_copy(update={"name": "New"})
    events = [
        change("r1", "create", task),
        change("", "create", mine),
        change("r2", "complete", done, "status"),
        change("r2", "delete", mine),
        change("", "update", renamed, "name"),
    ]
    assert tasks_of(events, {"r1", "r2"}) == {"t": renamed}
    assert tasks_of(events, {"r1", "r3"}) == {"t": task.model_copy(update={"name": "New"}), "m": mine}
    assert tasks_of(events, set()) == {"m": mine}


def test_a_branch_includes_the_sub_agents_of_its_turns_at_any_depth() -> None:
    runs = [
        RunLink("a", None, None),
        RunLink("a1", None, "a"),
        RunLink("b", "a", None),
        RunLink("c", "a", None),
        RunLink("c1", None, "c"),
        RunLink("c2", None, "c1"),
    ]
    assert branch_of(runs, "b") == {"a", "a1", "b"}
    assert branch_of(runs, "c") == branch_of(runs, "c2") == {"a", "a1", "c", "c1", "c2"}
    assert branch_of(runs, None) == branch_of(runs, "gone") == set()


async def test_a_file_that_changes_another_workflows_task_is_refused(open_atelier: Opener) -> None:
    model = versions()
    async with open_atelier(model) as atelier:
        workflow_id, _first, _second = await two_versions(atelier, model)
        other = await atelier.workflows.create("other")
        file = await exported_workflow(atelier, workflow_id)
        next(event for event in file["events"] if event["body"]["type"] == "task_changed")["body"]["task"][
            "workflow_id"
        ] = other.id
        with pytest.raises(UsageError, match="belongs to another workflow"):
            await atelier.workflows.import_(json.dumps(file), "rename")
