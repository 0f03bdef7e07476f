"""An HTTP proxy that forwards and tunnels, and a SOCKS5 proxy; all connections end at one port."""

from __future__ import annotations

import asyncio
from typing import Self


class FakeProxy:
    """Use as ``async with``.

    Attributes:
        target: port where all connections end.
        asked: requested hosts with ports, in order.
        refuse: error status of an HTTP proxy; ``silent`` never answers.
    """

    def __init__(self, target: int = 0, *, socks: bool = False, refuse: int = 0, silent: bool = False) -> None:
        self.asked: list[str] = []
        self.refuse = refuse
        self.silent = silent
        self.port = 0
        self.target = target
        self._socks = socks
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self.silent:
                await asyncio.Event().wait()
            await (self._socks5 if self._socks else self._http)(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _socks5(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """RFC 1928 without authentication."""
        _version, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        _version, _command, _reserved, kind = await reader.readexactly(4)
        host = await reader.readexactly({1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0])
        port = int.from_bytes(await reader.readexactly(2))
        self.asked.append(f"{host.decode() if kind == 3 else '.'.join(map(str, host))}:{port}")
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        await self._tunnel(reader, writer, b"")

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        if self.refuse:
            writer.write(f"HTTP/1.1 {self.refuse} X\r\ncontent-length: 0\r\n\r\n".encode())
            await writer.drain()
        elif method == "CONNECT":
            self.asked.append(target)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await self._tunnel(reader, writer, b"")
        else:
            host, _, path = target.removeprefix("http://").partition("/")
            self.asked.append(host)
            await self._tunnel(reader, writer, head.replace(target.encode(), f"/{path}".encode(), 1))

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        back.write(first)
        try:
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        finally:
            back.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(65536):
        sink.write(piece)
        await sink.drain()
    sink.close()
