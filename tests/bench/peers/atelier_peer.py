"""Atelier through its real engine: a data folder on the disk, the journal on; every run is a workflow of its own."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.stream import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault


class AtelierEngine:
    def __init__(self, atelier: Atelier, stack: AsyncExitStack) -> None:
        self._atelier = atelier
        self._stack = stack

    async def run(self, model: str, stream: bool) -> str:
        """Atelier always streams: both columns are the same run."""
        agent = AgentConfig(
            name="Bench", provider="bench", model=model, tools=("CalculatorTool",), system_prompt="Be brief.", tool_dialect="native"
        )
        text = ""
        async for event in self._atelier.run("What is 6*7?", agent=agent):
            if event.chunk_type is ChunkType.MESSAGE and event.data["role"] == "assistant":
                text = event.data["content"]
            elif event.chunk_type is ChunkType.ERROR:
                raise RuntimeError(event.data["message"])
        return text

    async def settle(self) -> None:
        await self._atelier.store.drain()

    async def aclose(self) -> None:
        await self._stack.aclose()


async def create(url: str, variant: str = "no_fsync") -> AtelierEngine:
    stack = AsyncExitStack()
    folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    opened = Atelier.open(Path(folder), fsync=variant == "fsync", vault=KeyVault(environ={}))
    atelier = await stack.enter_async_context(opened)
    await atelier.providers.save(ProviderConfig(name="bench", kind="openai", base_url=url))
    atelier.runs.slots = 1000
    return AtelierEngine(atelier, stack)
