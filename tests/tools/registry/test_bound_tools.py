"""Tools bound to a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.registry.bound_tools import ToolFactory
from atelier_desk.tools.registry.registry import ToolRegistry
from tests.tools.conftest import Calls


async def test_a_tool_is_bound_to_a_workflow_and_an_agent(
    registry: ToolRegistry, context: ToolContext, repos: Repositories
) -> None:
    other = Workflow(name="Other")
    await repos.workflows.create(other)
    calls = Calls(registry, replace(context, workflow_id=other.id))
    bound = ToolFactory(registry, replace(context, tasks=calls.tasks)).create(
        "TodoTool", other.id, "agent-9", run_id="run-9"
    )
    assert bound.name == "TodoTool"
    assert bound.tool.definition().name == "TodoTool"
    for name in ("one", "two"):
        result = await bound.execute({"operation": "create", "name": name})
        assert isinstance(result, ToolResult)
        [made] = result.tasks
        assert (made.task.name, made.task.workflow_id, made.task.run_id) == (name, other.id, "run-9")


async def test_the_same_call_id_is_the_same_call(
    registry: ToolRegistry, context: ToolContext, repos: Repositories
) -> None:
    bound = ToolFactory(registry, context).create("MemoryTool", context.workflow_id, "agent-1")
    for _attempt in range(2):
        await bound.execute({"operation": "add", "type": "decision", "content": "once"}, call_id="c")
    assert len(await repos.memories.list(workflow_id=context.workflow_id)) == 1


def test_an_unknown_tool_suggests_the_closest(registry: ToolRegistry, context: ToolContext) -> None:
    with pytest.raises(NotFoundError, match="MemoryTool"):
        ToolFactory(registry, context).create("MemryTool", "w", "a")


async def test_each_bound_tool_has_its_own_state(registry: ToolRegistry, context: ToolContext) -> None:
    factory = ToolFactory(registry, context)
    first, second = (
        factory.create("MemoryTool", context.workflow_id, "a"),
        factory.create("MemoryTool", context.workflow_id, "b"),
    )
    await first.execute({"operation": "activate_general"})
    assert (first.state, second.state) == ({"workflow_id": None}, {})
    assert (await first.execute({"operation": "describe"})).data["workflow_id"] is None  # type: ignore[union-attr]
