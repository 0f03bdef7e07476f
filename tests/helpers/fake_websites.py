"""Web sites for tests: one loopback server for every name, to which every checked address leads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpcore

from atelier_desk.support.worker.frames import Reply as WorkerReply

PUBLIC = "93.184.215.14"


@dataclass
class Asked:
    """A request: host and target, and the headers by lower-case name."""

    host: str
    target: str
    headers: dict[str, str]


@dataclass
class Reply:
    """An answer; ``body`` may also be a function that writes it."""

    body: bytes | Callable[[asyncio.StreamWriter], Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/html; charset=utf-8"})


class Sites(httpcore.AsyncNetworkBackend):
    """Pages by ``host/target``; all others do not exist.

    Attributes:
        names: IP addresses of each host, ``PUBLIC`` by default; a list of tuples answers one look-up each.
        connected: the addresses that were connected to.
        over: set when the server ends; silent answers wait for it.
        asked: the requests, and their ``methods``.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Reply | Callable[[Asked], Reply]] = {}
        self.names: dict[str, Sequence[str]] = {}
        self.lookups: list[str] = []
        self.connected: list[tuple[str, int]] = []
        self.asked: list[Asked] = []
        self.methods: list[str] = []
        self.port = 0
        self.over = asyncio.Event()
        self._real = httpcore.AnyIOBackend()

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.lookups.append(host)
        return self.names.get(host, (PUBLIC,))

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        self.connected.append((host, port))
        return await self._real.connect_tcp("127.0.0.1", self.port, timeout=timeout)

    @property
    def targets(self) -> list[str]:
        """Requested targets, without robots.txt."""
        return [each.target for each in self.asked if each.target != "/robots.txt"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                target = line.split(b" ")[1].decode("latin-1")
                headers: dict[str, str] = {}
                while (head := await reader.readline()).strip():
                    name, _colon, value = head.decode("latin-1").partition(":")
                    headers[name.strip().lower()] = value.strip()
                length = int(headers.get("content-length", "0"))
                headers["body"] = (await reader.readexactly(length)).decode("utf-8", "replace") if length else ""
                asked = Asked(headers.get("host", ""), target, headers)
                self.asked.append(asked)
                self.methods.append(line.split(b" ")[0].decode())
                found = self.pages.get(
                    f"{asked.host}{target}",
                    self.pages.get(f"{asked.host}{target.partition('?')[0]}", Reply(b"no", 404)),
                )
                reply = found(asked) if callable(found) else found
                length_said = (
                    {"content-length": str(len(reply.body))}
                    if isinstance(reply.body, bytes)
                    else {"connection": "close"}
                )
                lines = [
                    f"HTTP/1.1 {reply.status} OK",
                    *(f"{name}: {value}" for name, value in {**length_said, **reply.headers}.items()),
                ]
                writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
                if not isinstance(reply.body, bytes):
                    await reply.body(writer)
                    break
                writer.write(reply.body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def sites() -> AsyncIterator[Sites]:
    """The running server."""
    made = Sites()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        made.over.set()
        server.close()


async def parsed_here(module: str, arguments: tuple[str, ...], data: bytes, **_more: object) -> WorkerReply:
    """Replaces ``ask_once``: runs the process's code without starting one."""
    from atelier_desk.web import page_to_markdown_process

    assert module == page_to_markdown_process.__name__
    return WorkerReply(page_to_markdown_process.page(data, *arguments))


def html(title: str, *paragraphs: str, head: str = "") -> bytes:
    """A page."""
    inner = "".join(f"<p>{each}</p>" for each in paragraphs)
    body = f"<body><main><h1>{title}</h1>{inner}</main></body>"
    return f"<!doctype html><html><head><title>{title}</title>{head}</head>{body}</html>".encode()
