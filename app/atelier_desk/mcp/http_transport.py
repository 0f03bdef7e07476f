"""MCP over HTTP: the SDK's transport, with limited answers and recorded refusals."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from atelier_desk.domain.mcp import McpError
from atelier_desk.llm.network.proxy_routing import routed_transport
from atelier_desk.mcp import message_limits
from atelier_desk.mcp.list_validation import Entries
from atelier_desk.mcp.unanswered_request_limit import RequestLimit

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of one answer, or of one event of a stream."""
CONNECT_S = 15.0


_PIECE = 1024 * 1024
_COUNTED = 64 * 1024
_ANY_FORM = 47
"""zlib's ``wbits`` for both gzip and deflate."""


class Answered:
    """State of the server's answers, apart from their content.

    Attributes:
        status: the latest HTTP error status; 0 for none.
        unauthorized: a sign-in was required since the latest successful answer.
        auth: signs the requests; None for no sign-in.
        why: why the connection was ended: ``requests`` or ``values``; else empty.
    """

    def __init__(self) -> None:
        self.why = ""
        self.auth: Any = None
        self.reset()

    def reset(self) -> None:
        """Reset before a new request."""
        self.status = 0
        self.unauthorized = False
        if self.auth is not None:
            self.auth.problem = None

    @property
    def problem(self) -> McpError | None:
        """The sign-in problem of the newest request, if there is one."""
        found: McpError | None = getattr(self.auth, "problem", None)
        return found


class TooLargeError(Exception):
    """An answer has more than ``LONGEST_ANSWER`` bytes."""


@asynccontextmanager
async def talk(
    url: str,
    headers: Mapping[str, str],
    answered: Answered,
    over: Callable[[], None],
    entries: Entries,
    *,
    timeout_s: float,
    auth: httpx2.Auth | None = None,
) -> AsyncIterator[tuple[object, object]]:
    """Open the streams for the SDK's client.

    ``over`` is called when the server exceeds a limit; ``answered`` records which, ``entries`` the rejected
    list entries.
    """
    pace = message_limits.MessageRate()

    answered.auth = auth

    def ended(why: str) -> None:
        answered.why = why
        over()

    async def on_response(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            answered.status = response.status_code
            answered.unauthorized |= response.status_code == 401
        elif str(response.request.url) == url:
            answered.unauthorized = False
        # The client would decompress without limit: a few kilobytes can become gigabytes.
        content = _unpacked(response.stream, response.headers.pop("content-encoding", ""))
        events = "text/event-stream" in response.headers.get("content-type", "")
        content = _counted(content if events else _capped(content), ended, pace if events else None)
        response.stream = _as_stream(content, response.stream)

    # Each request has its own timeout (``Connection.request``), paused while its server waits for a person.
    timeout = httpx2.Timeout(timeout_s, connect=CONNECT_S, read=None)
    # The SDK decides which redirects are followed: those within the server's origin.
    sent = {"accept-encoding": "gzip", **headers}
    routes = routed_transport(httpx2)
    async with (
        httpx2.AsyncClient(
            transport=routes, headers=sent, timeout=timeout, auth=auth, event_hooks={"response": [on_response]}
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_ANSWER) as (incoming, outgoing),
    ):
        asked = RequestLimit()
        yield _Heard(incoming, asked, entries, ended), _Said(outgoing, asked, entries)


class _Stream:
    """Wraps one of the SDK's streams to observe its messages."""

    def __init__(self, stream: Any, asked: RequestLimit, entries: Entries) -> None:
        self._stream = stream
        self._asked = asked
        self._entries = entries

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Stream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> object:
        return await self._stream.__aexit__(*error)


class _Heard(_Stream):
    """Messages from the server; ends when the server has too many open requests."""

    def __init__(self, stream: Any, asked: RequestLimit, entries: Entries, ended: Callable[[str], None]) -> None:
        super().__init__(stream, asked, entries)
        self._ended = ended

    def __aiter__(self) -> _Heard:
        return self

    async def __anext__(self) -> object:
        item = await self._stream.__anext__()
        if not self._asked.on_received(getattr(item, "message", None)):
            self._ended("requests")
            raise StopAsyncIteration
        self._entries.on_received(getattr(item, "message", None))
        return item


class _Said(_Stream):
    """Messages to the server."""

    async def send(self, item: Any) -> None:
        self._entries.on_sent(item.message)
        await self._stream.send(item)
        self._asked.on_sent(item.message)


def _as_stream(content: AsyncIterator[bytes], source: Any) -> Any:
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


async def _counted(
    stream: AsyncIterator[bytes], ended: Callable[[str], None], pace: message_limits.MessageRate | None
) -> AsyncIterator[bytes]:
    """The bytes of an answer, or of an event stream limited by ``pace``.

    Raises when there are more values than can be parsed at once.
    """
    values = message_limits.ValueLimit(events=pace is not None)
    async for chunk in stream:
        before = values.lines
        for begin in range(0, len(chunk), _COUNTED):
            try:
                values.feed(chunk[begin : begin + _COUNTED])
            except message_limits.TooManyValuesError:
                ended("values")
                raise
        yield chunk
        if pace is not None:
            await pace.consume((values.lines - before) / message_limits.LINES)


async def _unpacked(stream: Any, encoding: str) -> AsyncIterator[bytes]:
    """The decompressed bytes of an answer in pieces.

    ValueError for an encoding that was not requested.
    """
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
