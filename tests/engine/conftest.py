"""An open engine with a real database, a scripted model and no embedder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import ModelFactory
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.data_folder.datadir import DataDir
from tests.helpers.database_templates import PlaceDatabase


class WordEmbedder:
    """Vectors from hashed words: cheap, deterministic, and close for texts that share words."""

    id = "test:words:64"
    dimension = 64

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                out[row, sum(word.encode()) % self.dimension] += 1
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        unit: np.ndarray = out / np.where(norms == 0, 1, norms)
        return unit

    async def aclose(self) -> None:
        return None


Opener = Callable[..., AbstractAsyncContextManager[Atelier]]


@pytest.fixture
def open_atelier(tmp_path: Path, place_database: PlaceDatabase) -> Opener:
    """Opens the test's data folder; may be called again after closing, like a restart. What a model answers: the
    same for all agents, or what makes the model of each.
    """

    @asynccontextmanager
    async def opener(
        steps: Sequence[Step] | ScriptedModel | ModelFactory = (), **options: Any
    ) -> AsyncIterator[Atelier]:
        model = steps if isinstance(steps, ScriptedModel) or callable(steps) else ScriptedModel(steps)
        options.setdefault("model_factory", model if callable(model) else lambda agent: model)
        options.setdefault("embedder", WordEmbedder())
        options.setdefault("vault", KeyVault(environ={}))
        place_database(DataDir(tmp_path / "data").database)
        async with Atelier.open(tmp_path / "data", fsync=False, **options) as atelier:
            yield atelier

    return opener


@pytest.fixture
async def atelier(open_atelier: Opener) -> AsyncIterator[Atelier]:
    """Open for the whole test; make it the last of a test's arguments, so that the others are prepared before."""
    async with open_atelier() as atelier:
        yield atelier


class Recorder:
    """Collects the stream of a workflow and lets a test wait for an event."""

    def __init__(self, atelier: Atelier, workflow_id: str | None = None) -> None:
        self.events: list[StreamEvent] = []
        self._waiters: list[tuple[Callable[[StreamEvent], bool], asyncio.Future[StreamEvent]]] = []
        atelier.bus.subscribe(self._take, workflow_id)

    def _take(self, event: StreamEvent) -> None:
        self.events.append(event)
        for test, future in self._waiters:
            if not future.done() and test(event):
                future.set_result(event)

    async def until(self, kind: ChunkType, **data: Any) -> StreamEvent:
        """The first event of this kind with these fields, past or future."""

        def fits(event: StreamEvent) -> bool:
            return event.chunk_type is kind and all(event.data.get(key) == value for key, value in data.items())

        for event in self.events:
            if fits(event):
                return event
        future: asyncio.Future[StreamEvent] = asyncio.get_running_loop().create_future()
        self._waiters.append((fits, future))
        async with asyncio.timeout(20):
            return await future

    def kinds(self) -> list[str]:
        return [event.chunk_type.value for event in self.events if event.durable]


async def create_workflow(atelier: Atelier, *given: Any, **options: Any) -> str:
    """The id of a new workflow."""
    return (await atelier.workflows.create(*given, **options)).id


async def exported_workflow(atelier: Atelier, workflow_id: str, *options: Any) -> dict[str, Any]:
    """What the file of a workflow holds."""
    return dict(json.loads(await atelier.workflows.export(workflow_id, *options)))


async def month_cost(atelier: Atelier) -> float:
    """What was spent this month, in USD."""
    return (await atelier.usage.month()).spent


async def stored_status(atelier: Atelier, run_id: str) -> RunStatus:
    return (await atelier.repos.runs.get(run_id)).status


async def status_after(atelier: Atelier, run_id: str) -> RunStatus:
    """How a run is when it has ended or waits."""
    return (await atelier.runs.wait(run_id)).status


async def send_and_wait(atelier: Atelier, workflow_id: str, text: str, **options: Any) -> str:
    """The id of a run that was started by this message, when it has ended or waits for a person."""
    run_id = await atelier.runs.send(workflow_id, text, **options)
    await atelier.runs.wait(run_id)
    return run_id


async def wait_for_event(event: asyncio.Event) -> None:
    """Wait for something that must happen, but not without end."""
    async with asyncio.timeout(20):
        await event.wait()


async def completed(atelier: Atelier, run_id: str) -> None:
    """Wait for a run, and check that it ended well."""
    assert (await atelier.runs.wait(run_id)).status is RunStatus.COMPLETED


@pytest.fixture(autouse=True)
def _unreachable_servers_fail_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for a server that is down to describe its models."""
    monkeypatch.setattr("atelier_desk.engine.services.models.METADATA_S", 0.5)
