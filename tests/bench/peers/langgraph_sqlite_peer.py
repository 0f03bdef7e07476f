"""langgraph with its SQLite checkpointer: each step is on disk before the next one begins."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.bench.peers.langgraph_peer import QUESTION, STEPS, CalculatorTool, LangGraph
from tests.bench.peers.line_append_tool import line_appender


class LangGraphWithSqlite(LangGraph):
    durability = "sync"

    def __init__(self, url: str, folder: Path, connection: aiosqlite.Connection) -> None:
        super().__init__(url)
        self._connection = connection
        self.saver = AsyncSqliteSaver(connection)
        self._append_line = line_appender(folder)

    def _tool(self, model: str) -> Any:
        return self._append_line if model.startswith("lines") else CalculatorTool

    def _config(self, thread: str = "") -> Any:
        return {"recursion_limit": STEPS, "configurable": {"thread_id": thread or str(uuid.uuid4())}}

    async def finish(self, model: str) -> str:
        """A thread with a checkpoint continues from it when it gets no new input."""
        config = self._config("the run")
        inputs = None if await self.saver.aget_tuple(config) else {"messages": [("user", QUESTION)]}
        result = await self._graph(model, False).ainvoke(inputs, config, durability=self.durability)
        return str(result["messages"][-1].content)

    async def aclose(self) -> None:
        await self._connection.close()


async def create(url: str, folder: Path) -> LangGraphWithSqlite:
    connection = await aiosqlite.connect(folder / "checkpoints.sqlite")
    await connection.execute("PRAGMA synchronous=FULL")
    return LangGraphWithSqlite(url, folder, connection)
