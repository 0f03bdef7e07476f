"""A database in memory, a clock that stands still, an embedder that is told what is alike, and contexts of calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from atelier_desk.tools.base import Outcome, ToolContext, ToolResult
from atelier_desk.tools.default import create_default_tool_registry
from atelier_desk.tools.memory.search import MemorySearch
from atelier_desk.tools.registry import ToolRegistry
from atelier_desk.tools.services import ToolServices
from tests.support.clock import ManualClock

DIMENSION = 8


class WordEmbedder:
    """Vectors by meaning as the test defines it: each known word has a direction, words of one group share it.

    Attributes:
        failing: raise instead of answering.
        asked: every text that was embedded.
    """

    dimension = DIMENSION

    def __init__(self, *groups: str, id: str = "words:8") -> None:
        self.id = id
        self._direction = {word: index for index, group in enumerate(groups) for word in group.split()}
        self.failing = False
        self.asked: list[str] = []
        self.closed = False

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        if self.failing:
            raise ProviderError("the embedder {what}", what="is out of order")
        self.asked.extend(texts)
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().replace("?", "").replace(".", "").split():
                vectors[row, self._direction.get(word, DIMENSION - 1)] += 1.0
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def repos(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Repositories]:
    store = await Store.open(None, clock=clock)
    datadir = DataDir(tmp_path)
    datadir.ensure()
    yield Repositories(store, datadir)
    await store.close()


@pytest.fixture
async def workflow(repos: Repositories) -> Workflow:
    created = Workflow(name="Test")
    await repos.workflows.create(created)
    return created


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder("cat chat feline", "car voiture automobile", "port harbour", "red rouge")


@pytest.fixture
def search(repos: Repositories, embedder: WordEmbedder, clock: ManualClock) -> MemorySearch:
    return MemorySearch(repos.memories, embedder, clock)


@pytest.fixture
def services(repos: Repositories, search: MemorySearch) -> ToolServices:
    return ToolServices(memories=repos.memories, memory_search=search, reports=repos.reports)


@pytest.fixture
def registry(services: ToolServices) -> ToolRegistry:
    return create_default_tool_registry(services)


class Calls:
    """Makes calls as a run would, each with an id of its own, and keeps what tasks announced."""

    def __init__(self, registry: ToolRegistry, context: ToolContext) -> None:
        self.registry = registry
        self.context = context
        self.announced: list[tuple[str, Task]] = []
        self.states: dict[str, dict[str, Any]] = {}
        self._count = 0

    async def outcome(self, tool: str, call_id: str = "", **arguments: Any) -> Outcome:
        from dataclasses import replace

        self._count += 1
        state = self.states.get(tool, {})
        context = replace(self.context, call_id=call_id or f"call-{self._count}", task_changed=self._changed, state=state)
        outcome = await self.registry.execute(tool, arguments, context)
        if isinstance(outcome, ToolResult) and outcome.state is not None:
            self.states[tool] = outcome.state
        return outcome

    async def __call__(self, tool: str, call_id: str = "", **arguments: Any) -> dict[str, Any]:
        result = await self.outcome(tool, call_id, **arguments)
        assert isinstance(result, ToolResult)
        return result.data

    async def _changed(self, action: str, task: Task) -> None:
        self.announced.append((action, task))


@pytest.fixture
def context(repos: Repositories, workflow: Workflow, clock: ManualClock) -> ToolContext:
    return ToolContext(
        workflow_id=workflow.id,
        run_id="run-1",
        call_id="call-0",
        agent_id="agent-1",
        agent_name="Assistant",
        tasks=repos.tasks,
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
