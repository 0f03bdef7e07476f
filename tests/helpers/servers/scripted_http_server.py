"""A small HTTP/1.1 server on a random loopback port with scripted answers.

It streams with chunked encoding in pieces of any size, cuts connections, waits for events, and notices when
its client disconnects.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """A received request; header names are lower-case, ``query`` is the part after the question mark."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    query: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Call:
    """A scripted tool call. ``id`` None omits it; ``whole`` sends it in one piece."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    id: str | None = "call_1"
    whole: bool = False


@dataclass
class Reply:
    """A scripted reply.

    Attributes:
        pieces: characters of text per event.
        chunk_size: bytes written at once; None writes each event completely.
        cut_after: events sent before the connection breaks; None sends all.
        hold_after: events sent before waiting for ``gate``.
        end_mark: whether the stream ends as its protocol requires (``[DONE]``, ``done: true``); ``finish``
            None omits the reason.
        tail_open: keep the connection open after the last event until the client disconnects.
        midway_error: JSON sent as an event in place of the rest, after ``error_after`` events.
        raw: body to send instead, with ``content_type``.
    """

    text: str = ""
    reasoning: str = ""
    calls: Iterable[Call] = ()
    usage: dict[str, Any] | None = field(
        default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    )
    finish: str | None = "stop"
    pieces: int = 5
    chunk_size: int | None = None
    cut_after: int | None = None
    hold_after: int | None = None
    gate: asyncio.Event | None = None
    end_mark: bool = True
    tail_open: bool = False
    midway_error: Any = None
    error_after: int = 0
    raw: bytes | None = None
    content_type: str | None = None
    model: str = "test-model"


@dataclass
class Failure:
    """An error answer; ``body`` is JSON, text or bytes.

    ``hang`` never answers, ``drop`` closes without an answer.
    """

    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    drop: bool = False


Step = Reply | Failure


class NotHttp(Exception):
    """The client began a TLS handshake with a plain HTTP server."""


class ClientGone(Exception):
    """The client disconnected while it was being served."""


class FakeServer:
    """Base of the fakes. Use as ``async with``; script chat replies with ``server.script(...)``.

    Attributes:
        requests: all requests in order.
        disconnected: set when a client disconnected before its answer was complete; ``disconnected_at`` is
            the loop's time then.
        streaming: set when the first event of a reply was written.
        connections: number of connections.
        tls: TLS context to use.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.steps: list[Step] = []
        self.disconnected = asyncio.Event()
        self.disconnected_at = 0.0
        self.streaming = asyncio.Event()
        self.port = 0
        self.connections = 0
        self.tls: ssl.SSLContext | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def script(self, *steps: Step) -> Self:
        self.steps.extend(steps)
        return self

    @property
    def root(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.port}"

    def of(self, path: str) -> list[Request]:
        """The requests to one path."""
        return [request for request in self.requests if request.path == path]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, limit=64 * 1024 * 1024, ssl=self.tls
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._closing = True
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def handle(self, request: Request, out: Response) -> None:
        """Answer a request; implemented by the fakes."""
        await out.json({"error": "not found"}, status=404)

    async def play(
        self, out: Response, streamed: Callable[[Reply], Iterable[bytes]] | None, whole: Callable[[Reply], Any]
    ) -> None:
        """Answer with the next step of the script: as events, or as one body when ``streamed`` is None."""
        step = self.next_step()
        if isinstance(step, Failure):
            await out.failure(step)
        elif step.raw is not None:
            await out.stream([step.raw], step.content_type or "text/event-stream", step)
        elif streamed is not None:
            await out.stream(streamed(step), step.content_type or "text/event-stream", step)
        else:
            await out.json(whole(step))

    def next_step(self) -> Step:
        assert self.steps, "the server got a request after the end of its script"
        return self.steps.pop(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                out = Response(self, reader, writer)
                await self.handle(request, out)
                if out.closed:
                    break
        except NotHttp:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        except (ClientGone, ConnectionError, asyncio.IncompleteReadError):
            self.disconnected_at = asyncio.get_running_loop().time()
            self.disconnected.set()
        except asyncio.CancelledError:
            if not self._closing:
                raise
        finally:
            self._tasks.discard(task)
            writer.close()


class Response:
    """Writes one answer. ``closed``: the connection cannot serve another request."""

    def __init__(self, server: FakeServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self.closed = False

    async def json(self, body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        await self.body(json.dumps(body).encode(), "application/json", status=status, headers=headers)

    async def body(
        self, data: bytes, content_type: str, *, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self._head(status, {"content-type": content_type, "content-length": str(len(data)), **(headers or {})})
        self._writer.write(data)
        await self._writer.drain()

    async def failure(self, failure: Failure) -> None:
        """Send a scripted failure."""
        if failure.hang:
            await self._until_gone()
        if failure.drop:
            self.closed = True
            return
        if isinstance(failure.body, (str, bytes)):
            data = failure.body.encode() if isinstance(failure.body, str) else failure.body
            await self.body(data, "text/plain", status=failure.status, headers=failure.headers)
        else:
            await self.json(failure.body, status=failure.status, headers=failure.headers)

    async def stream(self, events: Iterable[bytes], content_type: str, reply: Reply) -> None:
        """Send events with chunked encoding as the reply says, watching for a disconnect."""
        self._head(200, {"content-type": content_type, "transfer-encoding": "chunked"})
        await self._writer.drain()
        for sent, event in enumerate(events):
            if reply.cut_after is not None and sent >= reply.cut_after:
                self.closed = True
                return
            if reply.hold_after == sent and reply.gate is not None:
                await self._or_gone(reply.gate.wait())
            size = reply.chunk_size or len(event)
            for start in range(0, len(event), size):
                piece = event[start : start + size]
                self._writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await self._writer.drain()
                await asyncio.sleep(0)
            self._server.streaming.set()
        if reply.cut_after is not None:
            self.closed = True
            return
        if reply.tail_open:
            await self._until_gone()
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self._writer.write("\r\n".join(lines).encode())

    async def _until_gone(self) -> None:
        await self._reader.read(1)
        raise ClientGone

    async def _or_gone(self, waiting: Any) -> None:
        """Wait for something unless the client disconnects first."""
        tasks = [asyncio.ensure_future(waiting), asyncio.ensure_future(self._reader.read(1))]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        if tasks[1] in done:
            raise ClientGone


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None when it closed in between."""
    try:
        opening = await reader.readexactly(1)
        if opening == b"\x16":
            raise NotHttp
        head = (opening + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    if "chunked" in headers.get("transfer-encoding", ""):
        body = b"".join([piece async for piece in _chunks(reader)])
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = path.partition("?")
    return Request(method, path, headers, body, query)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int((await reader.readline()).strip() or b"0", 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()


def split(text: str, size: int) -> list[str]:
    """A text in pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def dump(value: Any) -> str:
    """JSON as most servers write it, not limited to ASCII."""
    return json.dumps(value, ensure_ascii=False)
