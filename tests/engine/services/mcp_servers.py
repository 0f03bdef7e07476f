"""MCP servers that are added, and agents that use them."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from tests.helpers.runs_without_driver import agent
from tests.mcp.conftest import PlainServer


async def added(atelier: Atelier, server: PlainServer, **fields: Any) -> None:
    await atelier.mcp.save(server.config(**fields), new=True)
    health = await atelier.mcp.test("plain")
    assert health.ok, health.message


async def ended(atelier: Atelier, config: Any, text: str = "Go") -> dict[str, Any]:
    """The result of the first call of a run."""
    events = [event async for event in atelier.run(text, agent=config)]
    return next(event.data for event in events if event.chunk_type is ChunkType.TOOL_END)


FREE = agent(tools=(), mcp_servers=("plain",), approval=ApprovalMode.AUTO)
