"""A server's icon: a small image, embedded or from the server's own address only."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.mcp import McpServer

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)
MOST_TRIED = 5
"""Icons of one server that are tried."""
MOST_BYTES = 64 * 1024
FETCH_S = 5.0
"""Seconds for fetching all of them."""
_DATA = "data:"
_PLAIN = {"accept-encoding": "identity", "accept": "image/png, image/webp, image/jpeg, image/gif"}
_LONGEST = MOST_BYTES * 4 // 3 + 200
"""Characters of a data URL with an image (base64, RFC 2397)."""


async def icon(info: object, server: McpServer, client: httpx2.AsyncClient | None = None) -> bytes:
    """The first of a server's icons that is available, unchanged; empty for none.

    Whether it is an image is checked by its reader. Fetching it elsewhere would tell others who uses the
    server, so only the server's own https address is requested, without its key. All attempts together take
    at most ``FETCH_S``.
    """
    try:
        async with asyncio.timeout(FETCH_S):
            return await _first(info, server, client)
    except TimeoutError:
        return b""


async def _first(info: object, server: McpServer, client: httpx2.AsyncClient | None) -> bytes:
    for each in (getattr(info, "icons", None) or ())[:MOST_TRIED]:
        source = str(getattr(each, "src", ""))
        found = _of_data(source) if source.startswith(_DATA) else b""
        if not found and _is_own(source, server):
            found = await _fetched(source, client)
        if found:
            return found
    return b""


def _of_data(source: str) -> bytes:
    head, comma, text = source.partition(",")
    if not comma or not head.endswith(";base64") or len(source) > _LONGEST:
        return b""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return found if len(found) <= MOST_BYTES else b""


def _is_own(source: str, server: McpServer) -> bool:
    """Whether the address has the server's own scheme, host and port."""
    if server.transport != "http" or len(source) > 2_000:
        return False
    try:
        asked, own = urlsplit(source), urlsplit(server.url)
        same = (asked.hostname, asked.port or 443) == (own.hostname, own.port or 443)
    except ValueError:
        return False
    return asked.scheme == own.scheme == "https" and same and not asked.username


async def _fetched(url: str, client: httpx2.AsyncClient | None) -> bytes:
    import httpx2

    from atelier_desk.llm.network.proxy_routing import routed_transport

    try:
        async with (
            client or httpx2.AsyncClient(transport=routed_transport(httpx2), timeout=FETCH_S) as asked,
            asked.stream("GET", url, headers=_PLAIN, follow_redirects=False) as response,
        ):
            if response.status_code != 200:
                return b""
            found = b""
            async for piece in response.aiter_raw():
                found += piece
                if len(found) > MOST_BYTES:
                    return b""
            return found
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, ProviderError) as error:
        log.info("an icon of an MCP server cannot be fetched: %s", type(error).__name__)
        return b""
