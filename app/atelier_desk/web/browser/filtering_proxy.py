"""A proxy on the loopback interface, the only address a browser can reach.

It checks each connection by the same rules as a fetch, and exists for one page. It resolves host names
itself, checks the addresses and connects to the checked one. Encrypted connections are passed on without
being read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

import httpcore

from atelier_desk.domain.errors import ToolError
from atelier_desk.web.address import Address, read
from atelier_desk.web.checked_connections import Dialer

BYTES = 40 * 1024 * 1024
"""Bytes received in total for one page."""
CONNECTIONS = 200
"""Connections of one page in total."""
_HEAD = 32 * 1024
_BODY = 1024 * 1024
"""Bytes of a request's head, and of its body if it is not encrypted."""
_CONNECT_S = 10.0
_SILENCE_S = 20.0
"""Seconds of silence after which a connection is closed."""
_PIECE = 64 * 1024
_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding",
     "upgrade", "content-length", "host")
)  # fmt: skip
"""Headers of a single connection (RFC 9110, 7.6.1), and those that are rewritten."""


class _Over(Exception):
    """More was received than one page may have."""


class Gate:
    """The proxy; open inside ``async with``.

    Attributes:
        opened: hosts and ports of the page's accepted requests. No others are connected to, so that neither
            the browser itself nor its sockets or other windows reach more than the page may.
        refused: refused targets, with the reason's code.
        over: a limit was reached: the page is incomplete.
    """

    def __init__(self, dialer: Dialer, asked: Address) -> None:
        self._dialer = dialer
        self._asked = asked
        self._room = BYTES
        self._count = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.opened: set[tuple[str, int]] = set()
        self.refused: list[tuple[str, str]] = []
        self.over = False

    async def __aenter__(self) -> Gate:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        waiting = tuple(self._tasks)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = ""
        try:
            async with asyncio.timeout(_SILENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            method, _space, rest = lines[0].partition(" ")
            asked, _space, version = rest.partition(" ")
            if version not in ("HTTP/1.0", "HTTP/1.1"):
                raise ValueError("no request")
            self._count += 1
            if self._count > CONNECTIONS or self._room <= 0:
                raise _Over
            if method == "CONNECT":
                await self._tunnel(asked, reader, writer)
            else:
                pairs = (each.partition(":") for each in lines[1:-2])
                headers = {name.strip().lower(): value.strip() for name, _colon, value in pairs}
                await self._passed_on(method, asked, headers, reader, writer)
        except ToolError as error:
            self.refused.append((asked[:200], error.code))
            _respond(writer, 403)
        except _Over:
            self.over = True
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            _respond(writer, 400)
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError, TimeoutError):
            _respond(writer, 502)
        finally:
            with suppress(OSError):
                writer.close()

    def _checked(self, url: str, scheme: str) -> Address:
        """Parse a requested address and check it by the rules; the dialer checks its IP addresses."""
        address = read(url)
        if address.scheme != scheme:
            raise ToolError("Only pages are fetched.", code="bad_address")
        self._dialer.on_the_way(address, self._asked)
        if (address.host, address.port) not in self.opened:
            raise ToolError("Only what the page asks for is fetched.", code="barred")
        return address

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if any(each in target for each in "/?#"):
            raise ToolError("Only pages are fetched.", code="bad_address")
        address = self._checked(f"https://{target}/", "https")
        if address.port == 80:  # not encrypted on port 80: how a browser opens a WebSocket
            raise ToolError("Only pages are fetched.", code="bad_address")
        stream = await self._dialer.connect_tcp(address.host, address.port, timeout=_CONNECT_S)
        try:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            ways = [asyncio.create_task(self._out(reader, stream)), asyncio.create_task(self._in(stream, writer))]
            try:
                done, _rest = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in ways:
                    each.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
            for each in done:
                each.result()
        finally:
            with suppress(Exception):
                await stream.aclose()

    async def _out(self, reader: asyncio.StreamReader, stream: httpcore.AsyncNetworkStream) -> None:
        while data := await reader.read(_PIECE):
            await stream.write(data, _SILENCE_S)

    async def _in(self, stream: httpcore.AsyncNetworkStream, writer: asyncio.StreamWriter) -> None:
        while data := await stream.read(_PIECE, _SILENCE_S):
            await self._give(writer, data)

    async def _give(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            raise _Over
        writer.write(data)
        await writer.drain()

    async def _passed_on(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Forward an unencrypted request on a connection of its own."""
        address = self._checked(url, "http")
        if "transfer-encoding" in headers or int(headers.get("content-length", "0")) > _BODY:
            raise ToolError("Only pages are fetched.", code="too_large")
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        sent = {
            "host": address.authority,
            **{name: value for name, value in headers.items() if name not in _HOP},
            "connection": "close",
        }
        if body or method in ("POST", "PUT", "PATCH"):
            sent["content-length"] = str(len(body))
        async with httpcore.AsyncConnectionPool(network_backend=self._dialer, retries=0) as pool:
            request = httpcore.Request(
                method,
                httpcore.URL(scheme="http", host=address.host, port=address.port, target=address.target),
                headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()],
                content=body,
                extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), _SILENCE_S)},
            )
            response = await pool.handle_async_request(request)
            try:
                kept = [pair for pair in response.headers if pair[0].decode("latin-1").lower() not in _HOP]
                lines = [
                    f"HTTP/1.1 {response.status} -".encode(),
                    *(name + b": " + value for name, value in kept),
                    b"connection: close",
                ]
                await self._give(writer, b"\r\n".join(lines) + b"\r\n\r\n")
                async for piece in response.stream:  # type: ignore[union-attr]
                    await self._give(writer, piece)
            finally:
                await response.aclose()


def _respond(writer: asyncio.StreamWriter, status: int) -> None:
    with suppress(OSError, RuntimeError):
        writer.write(f"HTTP/1.1 {status} -\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
