"""Messages over HTTP: the SDK's transport with a client of ours, which caps what an answer may hold and notes a refused key."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of one answer, or of one event of a stream."""
CONNECT_S = 15.0


_PIECE = 1024 * 1024
_ANY_FORM = 47
"""zlib's ``wbits`` for both gzip and deflate."""


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
        # The client would unpack as much as there is: a few packed kilobytes can be gigabytes.
        content = _unpacked(response.stream, response.headers.pop("content-encoding", ""))
        if "text/event-stream" not in response.headers.get("content-type", ""):
            content = _capped(content)
        response.stream = _as_stream(content, response.stream)

    # Every request has its own time (``Connection.request``), which stands still while its server waits for a person.
    timeout = httpx2.Timeout(timeout_s, connect=CONNECT_S, read=None)
    # The SDK decides which redirects are followed: those that stay at the server.
    sent = {"accept-encoding": "gzip", **headers}
    async with (
        httpx2.AsyncClient(headers=sent, timeout=timeout, auth=auth, event_hooks={"response": [look]}) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_ANSWER) as streams,
    ):
        yield streams


def _as_stream(content: AsyncIterator[bytes], source: Any) -> Any:
    import httpx2

    class Read(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in content:
                yield piece

        async def aclose(self) -> None:
            await source.aclose()

    return Read()


async def _capped(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in stream:
        size += len(chunk)
        if size > LONGEST_ANSWER:
            raise TooLargeError
        yield chunk


async def _unpacked(stream: Any, encoding: str) -> AsyncIterator[bytes]:
    """The bytes of an answer, a piece at a time; raises ``ValueError`` for one that is packed in another way than was asked for."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise ValueError(f"content-encoding {encoding[:60]}")
    unpack = zlib.decompressobj(_ANY_FORM) if encoding not in ("", "identity") else None
    async for chunk in stream:
        while chunk:
            try:
                piece = unpack.decompress(chunk, _PIECE) if unpack is not None else chunk
            except zlib.error as error:
                raise ValueError(str(error)) from None
            chunk = unpack.unconsumed_tail if unpack is not None else b""
            yield piece
