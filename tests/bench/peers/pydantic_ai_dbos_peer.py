"""pydantic-ai with DBOS: every request and every tool call is a step, stored in a SQLite system database.

The journal mode of the database is DBOS's own choice; each commit is synced. A streamed run passes its events to a
handler, because a durable run cannot be iterated from outside.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits
from sqlalchemy import Engine, event

from tests.bench.peers.line_append_tool import line_appender


@event.listens_for(Engine, "connect")
def _sync(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA synchronous=FULL")


@DBOS.step()
async def CalculatorTool(operation: str, expression: str) -> str:
    """Calculate an expression."""
    return "42"


async def _pass(_context: Any, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


class PydanticAIWithDBOS:
    def __init__(self, url: str, folder: Path) -> None:
        database = f"sqlite:///{folder / 'dbos.sqlite'}"
        DBOS(config={"name": "bench", "system_database_url": database, "log_level": "ERROR", "enable_otlp": False})
        self._client = AsyncOpenAI(base_url=url, api_key="none")
        self._append_line = DBOS.step(name="append_line")(line_appender(folder))
        self._agents: dict[tuple[str, bool], Agent] = {}

        @DBOS.workflow(name="ask")
        async def ask(model: str, stream: bool) -> str:
            return str(
                (
                    await self._agent(model, stream).run("What is 6*7?", usage_limits=UsageLimits(request_limit=100))
                ).output
            )

        self._ask = ask
        self._agent("lines-10", False)  # what a workflow uses must exist before DBOS recovers killed runs
        DBOS.launch()

    def _agent(self, model: str, stream: bool) -> Agent:
        key = (model, stream)
        if key not in self._agents:
            self._agents[key] = Agent(
                OpenAIChatModel(model, provider=OpenAIProvider(openai_client=self._client)),
                name=f"{model}{' streamed' * stream}",
                tools=[self._append_line if model.startswith("lines") else CalculatorTool],
                system_prompt="Be brief.",
                capabilities=[DBOSDurability(event_stream_handler=_pass if stream else None)],
            )
        return self._agents[key]

    async def run(self, model: str, stream: bool) -> str:
        return str(await self._ask(model, stream))

    async def finish(self, model: str) -> str:
        """Launching recovers killed runs; starting a workflow with an existing id returns that one."""
        with SetWorkflowID("the run"):
            return await self.run(model, False)

    async def settle(self) -> None:
        return None

    async def aclose(self) -> None:
        DBOS.destroy()
        await self._client.close()


async def create(url: str, folder: Path) -> PydanticAIWithDBOS:
    return PydanticAIWithDBOS(url, folder)
