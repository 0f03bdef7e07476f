"""Connections to MCP servers, and refused ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest
from mcp_types import CallToolResult, InputRequiredResult

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.mcp import results
from atelier_desk.mcp.connection import Connection
from atelier_desk.mcp.results import Answer
from atelier_desk.mcp.server_secrets import resolved
from tests.helpers.manual_clock import ManualClock


@asynccontextmanager
async def connected(config: McpServer, clock: ManualClock, vault: KeyVault | None = None) -> AsyncIterator[Connection]:
    kept = vault or KeyVault(session=True)
    connection = Connection(config, lambda server: resolved(server, kept, {}), clock)
    try:
        yield connection
    finally:
        await connection.close()


async def answer_of(called: Awaitable[CallToolResult | InputRequiredResult]) -> Answer:
    """The answer of a tool that asks for nothing first."""
    result = await called
    assert isinstance(result, CallToolResult)
    return results.read(result)


async def refused(asked: Awaitable[object]) -> McpError:
    with pytest.raises(McpError) as caught:
        await asked
    assert "plain" in str(caught.value), "every error names the server"
    return caught.value
