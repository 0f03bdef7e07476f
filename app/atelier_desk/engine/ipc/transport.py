"""Streams over a Unix socket, or a named pipe on Windows."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.engine.ipc.protocol import LINE_BYTES
from atelier_desk.support.i18n import N_

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection; ``OSError`` if nobody listens."""
    if sys.platform == "win32":
        loop: object = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=LINE_BYTES, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.create_pipe_connection(lambda: protocol, address)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
    return await asyncio.open_unix_connection(address, limit=LINE_BYTES)


async def listen(address: str, serve: Serve) -> Callable[[], Awaitable[None]]:
    """Accept connections at ``address``; return a coroutine function that stops it.

    Raises:
        ConflictError: another process answers there.
        StorageError: the socket cannot be created.
    """
    if sys.platform == "win32":
        return await _listen_pipe(address, serve)
    path = Path(address)
    await _clear_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    try:
        listener.bind(address)
        # Before it listens nobody can connect, so others never could.
        _owner_only(path)
        server = await asyncio.start_unix_server(serve, sock=listener, limit=LINE_BYTES)
    except OSError as error:
        listener.close()
        raise StorageError(
            N_("The local socket {path} cannot be created: {reason}"), code="socket", path=path, reason=error
        ) from error

    async def stop() -> None:
        server.close()
        _remove(path)

    return stop


def _owner_only(path: Path) -> None:
    path.chmod(0o600)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _is_socket(path: Path) -> bool | None:
    """Whether ``path`` is a socket, None if it does not exist."""
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return None


async def _clear_stale(path: Path) -> None:
    """Remove a socket whose process is gone; refuse one that answers, or another kind of file."""
    socket_there = _is_socket(path)
    if socket_there is None:
        return
    if not socket_there:
        raise StorageError(
            N_("The local socket cannot be created at {path}: something else has this name. Move it elsewhere."),
            code="socket",
            path=path,
        )
    try:
        async with asyncio.timeout(2):
            _, writer = await connect(str(path))
    except (OSError, TimeoutError):
        _remove(path)
        return
    writer.close()
    raise ConflictError(N_("Another process is already listening at {path}."), code="socket_in_use", path=path)


async def _listen_pipe(address: str, serve: Serve) -> Callable[[], Awaitable[None]]:
    loop: Any = asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()

    def factory() -> asyncio.StreamReaderProtocol:
        reader = asyncio.StreamReader(limit=LINE_BYTES, loop=loop)

        def connected(its_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = loop.create_task(serve(its_reader, writer))
            running.add(task)
            task.add_done_callback(running.discard)

        return asyncio.StreamReaderProtocol(reader, connected, loop=loop)

    [server] = await loop.start_serving_pipe(factory, address)

    async def stop() -> None:
        server.close()

    return stop
