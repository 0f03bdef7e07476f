"""TodoTool: the tasks of a workflow, with enforced dependencies."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.call_presentation_and_subjects import CallText
from atelier_desk.domain.errors import NotFoundError, ToolError
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, Effect, Input, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.core import todo_rules
from atelier_desk.tools.core.todo_rules import Tasks
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import CORE

TaskId = Annotated[str, Field(min_length=1, max_length=64, description="Id of the task, as create or list gave it.")]


class Create(Input):
    operation: Literal["create"]
    name: str = Field(min_length=1, max_length=limits.TASK_NAME, description="Short name of the task.")
    description: str = Field(default="", max_length=limits.TASK_DESCRIPTION, description="What is to be done.")
    priority: int = Field(
        default=limits.TASK_PRIORITY_DEFAULT,
        ge=limits.TASK_PRIORITY[0],
        le=limits.TASK_PRIORITY[1],
        description="1 is most urgent, 5 least.",
    )
    dependencies: list[str] = Field(
        default=[], max_length=limits.TASK_LIST_MAX, description="Ids of tasks that must be completed first."
    )
    agent_assigned: str = Field(
        default="", max_length=limits.AGENT_NAME, description="Agent that will do it; you, when left out."
    )


class Get(Input):
    operation: Literal["get"]
    task_id: TaskId


class UpdateStatus(Input):
    operation: Literal["update_status"]
    task_id: TaskId
    status: Literal["pending", "in_progress", "completed", "blocked"] = Field(description="The new status.")


class List(Input):
    operation: Literal["list"]
    status_filter: Literal["pending", "in_progress", "completed", "blocked"] | None = Field(
        default=None, description="Only this status."
    )
    limit: int = Field(default=limits.TASK_LIST_MAX, ge=1, le=limits.TASK_LIST_MAX, description="Most tasks to return.")


class Complete(Input):
    operation: Literal["complete"]
    task_id: TaskId
    duration_ms: int | None = Field(
        default=None, ge=0, description="Milliseconds it took; measured from its start when left out."
    )


class Delete(Input):
    operation: Literal["delete"]
    task_id: TaskId


TodoInput = Annotated[Create | Get | UpdateStatus | List | Complete | Delete, Field(discriminator="operation")]


_MOVES = {
    "pending": N_("Task reopened"),
    "in_progress": N_("Task started"),
    "completed": N_("Task done"),
    "blocked": N_("Task blocked"),
}


@builtin(order=110)
class TodoTool(DescribedTool):
    """Create, follow and complete the workflow's tasks."""

    name = "TodoTool"
    title = N_("Tasks")
    purpose = N_("Plans the agent's work as tasks that you can see and change")
    icon = "list-todo"
    summaries = {
        "create": N_("Create the task: {name}"),
        "get": N_("Read a task"),
        "list": N_("List the tasks"),
        "complete": N_("Complete a task"),
        "delete": N_("Delete a task"),
    }
    done = {
        "create": N_("New task: {name}"),
        "get": N_("Viewed a task"),
        "list": N_("Viewed the tasks"),
        "complete": N_("Completed a task"),
        "delete": N_("Deleted a task"),
    }
    category = ToolCategory.COMMON
    section = CORE
    effect = Effect.WRITE
    reading = frozenset({"get", "list"})
    idempotent = True
    input = TodoInput
    rest_hint = "Use list with status_filter or a lower limit, or get for one task."
    about = About(
        what="Keeps the task list of this workflow; the user sees it live.",
        when="the work has three or more steps, or steps that depend on each other; start and complete each one here.",
        when_not="one short answer or one tool call does the job, or for facts to remember (MemoryTool).",
        operations={
            "create": "make a task; gives its task_id",
            "get": "read one task",
            "update_status": "set pending, in_progress, completed or blocked",
            "list": "read the tasks",
            "complete": "finish a task",
            "delete": "remove a task; tasks that waited for it no longer do",
        },
        example={
            "operation": "create",
            "name": "Write the tests",
            "priority": 2,
            "dependencies": ["<task_id of the code task>"],
        },
        limits=(
            f"name {limits.TASK_NAME} characters",
            f"description {limits.TASK_DESCRIPTION} characters",
            (
                f"priority {limits.TASK_PRIORITY[0]} (most urgent) to {limits.TASK_PRIORITY[1]}, "
                f"{limits.TASK_PRIORITY_DEFAULT} by default"
            ),
            f"list {limits.TASK_LIST_MAX} tasks",
            "a task cannot start or complete before its dependencies are completed; until then it shows as blocked",
        ),
    )
    abilities = {"add": "create", "list": "list", "done": "complete"}

    def describe(self, input: TodoInput) -> Call:
        call = super().describe(input)
        return replace(call, summary=CallText(text=_MOVES[input.status])) if isinstance(input, UpdateStatus) else call

    async def run(self, input: TodoInput, context: ToolContext) -> ToolResult:
        if context.tasks is None or not context.workflow_id:
            raise ToolError("Tasks belong to a workflow, and this call runs in none.", code="no_workflow")
        tasks = await context.tasks()
        match input:
            case Create():
                return _create(input, tasks, context)
            case Get():
                return ToolResult.ok(task=_shown(_find(tasks, input.task_id), tasks))
            case UpdateStatus():
                return _changed(
                    todo_rules.change_status(
                        _find(tasks, input.task_id), TaskStatus(input.status), tasks, context.now()
                    ),
                    tasks,
                )
            case Complete():
                return _changed(
                    todo_rules.complete(_find(tasks, input.task_id), tasks, context.now(), input.duration_ms), tasks
                )
            case List():
                return _list(input, tasks)
            case _:
                return _delete(_find(tasks, input.task_id), tasks)


def _create(input: Create, tasks: Tasks, context: ToolContext) -> ToolResult:
    if not input.name.strip():
        raise ToolError("name must not be blank")
    if len(tasks) >= limits.LIST_MAX:
        raise ToolError(
            "A workflow has at most {most} tasks. Delete those that are done first.", most=limits.LIST_MAX, code="limit"
        )
    task_id = new_id()
    task = Task(
        id=task_id,
        workflow_id=context.workflow_id,
        run_id=context.run_id,
        name=input.name,
        description=input.description,
        priority=input.priority,
        dependencies=todo_rules.check_dependencies(task_id, input.dependencies, tasks),
        agent_assigned=input.agent_assigned or context.agent_name or context.agent_id,
        position=todo_rules.last_position(tasks) + 1.0,
        created_at=context.now(),
    )
    status = todo_rules.displayed_status(task, tasks)
    result = ToolResult.ok(task_id=task.id, status=status.value, message=f"Task {task.name!r} created")
    return replace(result, tasks=(todo_rules.creation(task),))


def _changed(task: Task, tasks: Tasks) -> ToolResult:
    shown = _shown(task, {**tasks, task.id: task})
    result = ToolResult.ok(task=shown, message=f"Task {task.name!r} is now {task.status.value}")
    return replace(result, tasks=(todo_rules.change(tasks[task.id], task),))


def _list(input: List, tasks: Tasks) -> ToolResult:
    shown = [_shown(task, tasks) for task in tasks.values()]
    if input.status_filter is not None:
        shown = [task for task in shown if task["status"] == input.status_filter]
    return ToolResult.ok(count=min(len(shown), input.limit), total=len(shown), tasks=shown[: input.limit])


def _delete(task: Task, tasks: Tasks) -> ToolResult:
    result = ToolResult.ok(task_id=task.id, task={"name": task.name}, message=f"Task {task.name!r} deleted")
    return replace(result, tasks=todo_rules.deletion(task, tasks))


def _find(tasks: Tasks, task_id: str) -> Task:
    if task_id not in tasks:
        raise NotFoundError(
            "Task {task_id} not found in this workflow. Use list to see the tasks and their ids.", task_id=task_id
        )
    return tasks[task_id]


def _shown(task: Task, tasks: Tasks) -> dict[str, object]:
    """Return the task for the model; ``blocked_by`` lists what a blocked task waits for."""
    data = task.model_dump(mode="json", exclude={"run_id", "position", "started_at"})
    data["status"] = todo_rules.displayed_status(task, tasks).value
    waiting = todo_rules.open_dependencies(task, tasks)
    if waiting and task.status is not TaskStatus.COMPLETED:
        data["blocked_by"] = [{"id": other.id, "name": other.name, "status": other.status.value} for other in waiting]
    return data
