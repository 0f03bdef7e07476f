"""Servers over HTTP: compressed answers are decompressed up to a limit."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.mcp import http_transport
from atelier_desk.mcp.connection import Connection
from atelier_desk.mcp.server_secrets import Resolved
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock


@asynccontextmanager
async def answering(body: bytes, encoding: str, clock: ManualClock) -> AsyncIterator[Connection]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: {encoding}\r\ncontent-length: "
            f"{len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()

    async def resolve(_server: McpServer) -> Resolved:
        return Resolved(url=config.url)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    config = McpServer(
        name="remote", transport="http", url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    )
    connection = Connection(config, resolve, clock)
    try:
        yield connection
    finally:
        await connection.close()
        server.close()


async def test_a_compression_bomb_is_refused(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "LONGEST_ANSWER", 100_000)
    answer = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"x": "a" * 5_000_000}}).encode()
    async with answering(gzip.compress(answer), "gzip", clock) as connection:
        with raises_code(McpError, "too_large"):
            await connection.tools()


async def test_an_encoding_that_was_not_offered_is_refused(clock: ManualClock) -> None:
    async with answering(b"{}", "br", clock) as connection:
        with pytest.raises(McpError, match="content-encoding br"):
            await connection.tools()


@pytest.mark.parametrize("value", ["foo:bar", "http://127.0.0.1:1"])
async def test_a_proxy_is_used_only_for_remote_servers_and_named_when_it_fails(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", value)
    async with answering(b"{}", "br", clock) as connection:
        with pytest.raises(McpError, match="content-encoding br"):
            await connection.tools()

    async def resolve(_server: McpServer) -> Resolved:
        return Resolved(url="http://far.test/mcp")

    connection = Connection(McpServer(name="far", transport="http", url="http://far.test/mcp"), resolve, clock)
    with pytest.raises(McpError) as caught:
        await connection.tools()
    await connection.close()
    assert caught.value.code == "proxy"
    assert "http_proxy" in str(caught.value)
