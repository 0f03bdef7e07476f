"""Icons of servers: from the definition or the server's own address, small, and from nowhere else."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from types import SimpleNamespace

import httpx2
import pytest

from atelier_desk.domain.mcp import McpServer
from atelier_desk.engine.services.common.mcp_server_info import icon_text
from atelier_desk.mcp import icons
from tests.helpers.sample_images import png

PICTURE = png(16, 16)
DATA = "data:image/png;base64," + base64.b64encode(PICTURE).decode()
WEB = McpServer(name="web", transport="http", url="https://a.example/mcp")
LOCAL = McpServer(name="local", command="x")


async def tried(
    server: McpServer, *sources: str, content: bytes = PICTURE, status: int = 200
) -> tuple[bytes, list[str]]:
    """The icon, and which addresses were requested."""
    asked: list[str] = []

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 1_000):
            yield content[start : start + 1_000]

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        assert "authorization" not in request.headers
        return httpx2.Response(status, content=pieces(), headers={"location": "https://b.example/x.png"})

    info = SimpleNamespace(icons=[SimpleNamespace(src=each) for each in sources])
    return await icons.icon(info, server, httpx2.AsyncClient(transport=httpx2.MockTransport(answer))), asked


@pytest.mark.parametrize(
    ("server", "source", "asked"),
    [
        (LOCAL, DATA, False),
        (WEB, DATA, False),
        (WEB, "https://a.example/icon.png", True),
        (WEB, "https://a.example:443/icon.png", True),
    ],
)
async def test_an_icon_from_the_server_is_used(server: McpServer, source: str, asked: bool) -> None:
    assert await tried(server, "data:image/png;base64,%%%", source) == (
        PICTURE,
        [source.replace(":443", "")] if asked else [],
    )


@pytest.mark.parametrize(
    "source",
    [
        "https://b.example/icon.png", "http://a.example/icon.png", "https://a.example:8443/icon.png",
        "https://a.example.b.example/i.png",
        "https://me@a.example/icon.png", "file:///etc/passwd", "javascript:1", "data:image/png,raw",
        "https://a.example:x/", "",
        "data:image/png;base64," + "A" * 100_000,
    ],
)  # fmt: skip
async def test_an_icon_from_elsewhere_is_ignored(source: str) -> None:
    assert await tried(WEB, source) == (b"", [])
    assert await tried(LOCAL, source) == (b"", [])


async def test_a_large_icon_and_a_redirect_elsewhere_are_ignored() -> None:
    assert (await tried(WEB, "https://a.example/i.png", content=b"x" * 70_000))[0] == b""
    assert await tried(WEB, "https://a.example/i.png", status=302) == (b"", ["https://a.example/i.png"])


def test_only_small_pictures_are_stored() -> None:
    assert base64.b64decode(icon_text(PICTURE)) == PICTURE
    for data in (
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        png(2, 2, claims=(50_000, 50_000)),
        png(600, 2),
        PICTURE[:20],
    ):
        assert icon_text(data) == "", data[:30]
