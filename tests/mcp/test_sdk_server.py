"""Servers built with the SDK, with the newest protocol version: over standard input and over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.mcp import http_transport
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.mcp_sign_in import served
from tests.mcp.mcp_connections import answer_of, connected

SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("made", instructions="Be kind.")
@server.tool()
def add(a: int, b: int) -> int:
    "Adds."
    return a + b
server.run("stdio")
"""


async def test_over_standard_input(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    config = McpServer(name="plain", command=sys.executable, args=(str(tmp_path / "server.py"),))
    async with connected(config, clock) as connection:
        client = await connection.client()
        assert (client.protocol_version, client.instructions) == ("2026-07-28", "Be kind.")
        assert [tool["name"] for tool in await connection.tools()] == ["add"]
        assert (await answer_of(connection.call("add", {"a": 2, "b": 3}))).text == "5"
        refused = await answer_of(connection.call("add", {"a": "x"}))
        assert refused.failed


async def test_over_http_with_its_key_and_limits(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp.server.mcpserver import MCPServer

    seen: list[str] = []
    made = MCPServer("made")

    @made.tool()
    def huge(size: int) -> str:
        """Return a large text."""
        return "x" * size

    app = made.streamable_http_app(json_response=True)

    async def with_key(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            seen.append(headers.get(b"x-key", b"").decode())
            if not seen[-1]:
                await send(
                    {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]}
                )
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    monkeypatch.setenv("MY_KEY", "a-key-of-mine")
    async with served(with_key) as address:
        config = McpServer(
            name="plain", transport="http", url=f"{address}/mcp", headers={"X-Key": "${KEY_OF_TEST:-a-key-of-mine}"}
        )
        async with connected(config, clock) as connection:
            assert (await connection.client()).protocol_version == "2026-07-28"
            assert (await answer_of(connection.call("huge", {"size": 3}))).text == "xxx"
            assert set(seen) == {"a-key-of-mine"}
            monkeypatch.setattr(http_transport, "LONGEST_ANSWER", 10_000)
            with pytest.raises(McpError, match="plain sent more than"):
                await connection.call("huge", {"size": 20_000})
        async with connected(config.model_copy(update={"headers": {}}), clock) as connection:
            with raises_code(McpError, "sign_in", match="plain requires you to sign in"):
                await connection.tools()
            assert connection.state == "sign_in"
