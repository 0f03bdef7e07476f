"""openai-agents with its SQLite session: each turn is stored before the next one begins."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

from agents import Runner, Session, SQLiteSession, function_tool

from tests.bench.peers.line_append_tool import line_appender
from tests.bench.peers.openai_agents_peer import QUESTION, TURNS, CalculatorTool, OpenAIAgents


class SyncedSession(SQLiteSession):
    @staticmethod
    def _configure_connection(conn: sqlite3.Connection) -> None:
        SQLiteSession._configure_connection(conn)
        conn.execute("PRAGMA synchronous=FULL")


class OpenAIAgentsWithSession(OpenAIAgents):
    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(url)
        self._database = folder / "sessions.sqlite"
        self._append_line = function_tool(line_appender(folder))

    def _tool(self, model: str) -> Any:
        return self._append_line if model.startswith("lines") else CalculatorTool

    async def run(self, model: str, stream: bool, session: Session | None = None) -> str:
        with closing(SyncedSession(str(uuid.uuid4()), self._database)) as session:
            return await super().run(model, stream, session)

    async def finish(self, model: str) -> str:
        """A session with content continues when nothing is added to it."""
        with closing(SyncedSession("the run", self._database)) as session:
            continues = bool(await session.get_items(limit=1))
            result = await Runner.run(
                self._agent(model), [] if continues else QUESTION, max_turns=TURNS, session=session
            )
            return str(result.final_output)


async def create(url: str, folder: Path) -> OpenAIAgentsWithSession:
    return OpenAIAgentsWithSession(url, folder)
