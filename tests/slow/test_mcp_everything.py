"""The reference server of the protocol, from npm: ``npm install @modelcontextprotocol/server-everything`` in the folder that
``ATELIER_MCP_EVERYTHING`` names, or where npm finds it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.domain.mcp import McpServer
from atelier_desk.mcp import results
from tests.mcp.test_connection import connected
from tests.support.clock import ManualClock

PACKAGE = "@modelcontextprotocol/server-everything"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    folder = Path(os.environ.get("ATELIER_MCP_EVERYTHING") or tmp_path_factory.mktemp("npm"))
    file = folder / "node_modules" / PACKAGE / "dist" / "index.js"
    if not file.exists():
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", PACKAGE], cwd=folder, capture_output=True, check=False)
        if done.returncode or not file.exists():
            pytest.skip(f"{PACKAGE} cannot be installed: {done.stderr.decode()[-300:]}")
    return str(file)


@pytest.fixture
def address(script: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(["node", script, "streamableHttp"], env={**os.environ, "PORT": str(port)}, stderr=subprocess.DEVNULL)
    yield f"http://127.0.0.1:{port}/mcp"
    server.kill()
    server.wait()


async def tried(config: McpServer, clock: ManualClock) -> None:
    async with connected(config, clock) as connection:
        names = {tool["name"] for tool in await connection.tools()}
        assert {"echo", "get-sum", "get-tiny-image"} <= names
        assert results.read(await connection.call("echo", {"message": "hello"})).text == "Echo: hello"
        picture = results.read(await connection.call("get-tiny-image", {}))
        assert [each.media_type for each in picture.pictures] == ["image/png"]
        structured = results.read(await connection.call("get-structured-content", {"location": "New York"}))
        assert structured.text or structured.structured
        links = results.read(await connection.call("get-resource-links", {"count": 2}))
        assert len(links.links) == 2
        told: list[tuple[int, str]] = []
        await connection.call("trigger-long-running-operation", {"duration": 1, "steps": 2}, lambda done, text: told.append((done, text)))
        assert told


async def test_over_standard_input(script: str, clock: ManualClock) -> None:
    await tried(McpServer(name="everything", command="node", args=(script, "stdio")), clock)


async def test_over_http(address: str, clock: ManualClock) -> None:
    config = McpServer(name="everything", transport="http", url=address)
    for _attempt in range(100):
        try:
            _reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2].partition("/")[0]))
            writer.close()
            break
        except OSError:
            await asyncio.sleep(0.1)
    await tried(config, clock)
