"""Attaching the resource of an MCP server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from atelier_desk.engine.mentions.mcp_resources import Resources
from atelier_desk.engine.mentions.mention_source import MentionScope
from tests.helpers.sample_images import picture


async def test_an_image_is_attached_without_blocking_the_loop() -> None:
    async def resource(_server: str, _uri: str) -> tuple[str, bytes, str]:
        return "", picture("BMP", 37, 11), "image/bmp"

    mcp = SimpleNamespace(content=SimpleNamespace(resource=resource))
    where = cast("Any", SimpleNamespace(context=SimpleNamespace(mcp=mcp)))
    found = await Resources().read(cast("MentionScope", where), "files\0file:///shots/a.bmp")
    assert (found.name, found.media_type, found.width, found.height) == ("files: a.png", "image/png", 37, 11)
