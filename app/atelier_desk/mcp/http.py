"""Messages over HTTP: the SDK's transport with a client of ours, which caps what an answer may hold and notes a refused key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of one answer, or of one event of a stream."""
CONNECT_S = 15.0


class Answered:
    """What the server's answers showed besides their content. ``status`` is the newest one that was an error, 0 for none."""

    def __init__(self) -> None:
        self.status = 0
        self.challenge = ""


class TooLargeError(Exception):
    """An answer has more than ``LONGEST_ANSWER`` bytes."""


@asynccontextmanager
async def talk(
    url: str, headers: Mapping[str, str], answered: Answered, *, timeout_s: float, auth: httpx2.Auth | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams that the SDK's client wants."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            answered.status = response.status_code
            answered.challenge = response.headers.get("www-authenticate", "")[:500]
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _capped(response.stream)

    timeout = httpx2.Timeout(timeout_s, connect=CONNECT_S, read=max(timeout_s, 300.0))
    # The SDK decides which redirects are followed: those that stay at the server.
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, auth=auth, event_hooks={"response": [look]}) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_ANSWER) as streams,
    ):
        yield streams


def _capped(stream: Any) -> Any:
    import httpx2

    class Capped(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > LONGEST_ANSWER:
                    raise TooLargeError
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Capped()
