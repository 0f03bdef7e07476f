"""Atelier with its real engine: a data folder on disk and a journal; every run is a workflow of its own."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault

QUESTION = "What is 6*7?"


def agent(model: str, tool: str = "CalculatorTool") -> AgentConfig:
    return AgentConfig(
        name="Bench",
        provider="bench",
        model=model,
        tools=(tool,),
        system_prompt="Be brief.",
        tool_dialect=ToolDialect.NATIVE,
    )


class AtelierEngine:
    def __init__(self, atelier: Atelier, stack: AsyncExitStack, folder: Path) -> None:
        self._atelier = atelier
        self._stack = stack
        self._folder = folder

    async def run(self, model: str, stream: bool) -> str:
        """Atelier always streams: both columns are the same run."""
        text = ""
        async for event in self._atelier.run(QUESTION, agent=agent(model)):
            if event.chunk_type is ChunkType.MESSAGE and event.data["role"] == "assistant":
                text = event.data["content"]
            elif event.chunk_type is ChunkType.ERROR:
                raise RuntimeError(event.data["message"])
        return text

    async def finish(self, model: str) -> str:
        """Continue every interrupted run, as at a start of the program."""
        from tests.chaos.run_worker import AppendLine

        atelier = self._atelier
        atelier.registry.register(AppendLine(self._folder / "effects"))
        workflow = next(iter(await atelier.workflows.list()), None) or await atelier.workflows.create("the run")
        if workflow.head_run_id is None:
            run_ids = [await atelier.runs.send(workflow.id, QUESTION, agent=agent(model, AppendLine.name))]
        else:
            run_ids = await atelier.runs.recovery.resume_all()
        for run_id in run_ids:
            await atelier.runs.wait(run_id)
        messages = [
            event.data async for event in atelier.runs.replay(workflow.id) if event.chunk_type is ChunkType.MESSAGE
        ]
        return str(messages[-1]["content"])

    async def settle(self) -> None:
        await self._atelier.store._writer.drain()

    async def aclose(self) -> None:
        await self._stack.aclose()


async def create(url: str, folder: Path, variant: str = "no_fsync") -> AtelierEngine:
    stack = AsyncExitStack()
    opened = Atelier.open(folder / "data", fsync=variant == "fsync", vault=KeyVault(environ={}))
    atelier = await stack.enter_async_context(opened)
    await atelier.providers.save(ProviderConfig(name="bench", kind="openai", base_url=url))
    atelier.runs.live.slots.limit = 1000
    return AtelierEngine(atelier, stack, folder)
