"""Contexts of calls, with an in-memory database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Workflow
from atelier_desk.knowledge.memory_search import MemorySearch
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.base import Outcome, ToolContext, ToolResult
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.tool_services import ToolServices
from tests.helpers import memory_fixtures
from tests.helpers.manual_clock import ManualClock

embedder, repos, search, workflow = (
    memory_fixtures.embedder,
    memory_fixtures.repos,
    memory_fixtures.search,
    memory_fixtures.workflow,
)


@pytest.fixture
def services(repos: Repositories, search: MemorySearch) -> ToolServices:
    return ToolServices(memories=repos.memories, memory_search=search, reports=repos.reports)


@pytest.fixture
def registry(services: ToolServices) -> ToolRegistry:
    return create_default_tool_registry(services)


class Calls:
    """Makes calls as a run would, each with a unique id, and stores the tasks as its journal would."""

    def __init__(self, registry: ToolRegistry, context: ToolContext) -> None:
        self.registry = registry
        self.context = context
        self.announced: list[tuple[str, Task]] = []
        self.states: dict[str, dict[str, Any]] = {}
        self.stored: dict[str, Task] = {}
        self._count = 0

    async def outcome(self, tool: str, call_id: str = "", **arguments: Any) -> Outcome:
        from dataclasses import replace

        self._count += 1
        known = self.registry.get_tool(tool)
        kept = (known.state_of if known is not None else "") or tool
        state = self.states.get(kept, {})
        context = replace(self.context, call_id=call_id or f"call-{self._count}", tasks=self.tasks, state=state)
        outcome = await self.registry.execute(tool, arguments, context)
        if isinstance(outcome, ToolResult) and outcome.state is not None:
            self.states[kept] = {**state, **outcome.state} if kept != tool else outcome.state
        for changed in outcome.tasks if isinstance(outcome, ToolResult) else ():
            self.announced.append((changed.action, changed.task))
            if changed.action == "delete":
                del self.stored[changed.task.id]
            else:
                self.stored[changed.task.id] = changed.task
        return outcome

    async def tasks(self) -> dict[str, Task]:
        """The tasks of the context's workflow."""
        return {task.id: task for task in self.stored.values() if task.workflow_id == self.context.workflow_id}

    async def __call__(self, tool: str, call_id: str = "", **arguments: Any) -> dict[str, Any]:
        result = await self.outcome(tool, call_id, **arguments)
        assert isinstance(result, ToolResult)
        return result.data


@pytest.fixture
def context(repos: Repositories, workflow: Workflow, clock: ManualClock) -> ToolContext:
    return ToolContext(
        workflow_id=workflow.id,
        run_id="run-1",
        call_id="call-0",
        agent_id="agent-1",
        agent_name="Assistant",
        now=clock.now,
    )


@pytest.fixture
def calls(registry: ToolRegistry, context: ToolContext) -> Calls:
    return Calls(registry, context)


MakeCalls = Callable[..., Calls]


@pytest.fixture
def calls_with(registry: ToolRegistry, context: ToolContext, services: ToolServices) -> MakeCalls:
    """Calls with other facts, or with other services for all calls of the test."""
    from dataclasses import replace

    def make(**changes: Any) -> Calls:
        for name in ToolServices.__slots__:
            if name in changes:
                setattr(services, name, changes.pop(name))
        return Calls(registry, replace(context, **changes))

    return make
