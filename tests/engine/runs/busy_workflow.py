"""A model that replies when the test lets it."""

from __future__ import annotations

import asyncio

from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from tests.engine.conftest import Recorder
from tests.engine.runs.sample_runs import start


class Busy:
    """A workflow whose first turn is active until ``answer``, with queued messages."""

    def __init__(self, atelier: Atelier, gate: asyncio.Event, *waiting: str) -> None:
        self.atelier, self._gate, self._waiting = atelier, gate, waiting
        self.seen = Recorder(atelier)
        self.workflow_id = self.run_id = ""

    async def begin(self) -> Busy:
        self.workflow_id, self.run_id = await start(self.atelier)
        await self.seen.until(ChunkType.TOKEN)
        for text in self._waiting:
            assert await self.atelier.runs.send(self.workflow_id, text) == self.run_id
        return self

    async def answer(self, run_id: str = "") -> RunStatus:
        self._gate.set()
        async with asyncio.timeout(20):
            return (await self.atelier.runs.wait(run_id or self.run_id)).status

    async def queue(self) -> list[str]:
        return [each.content for each in await self.atelier.runs.waiting.list(self.workflow_id)]

    async def ids(self) -> list[str]:
        return [each.message_id for each in await self.atelier.runs.waiting.list(self.workflow_id)]

    async def shown(self) -> list[str]:
        return [entry.message.content for entry in await self.atelier.workflows.transcript(self.workflow_id)]
