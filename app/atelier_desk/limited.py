"""Work on a stranger's bytes in a process that is ended when its time is over or nobody waits any more."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import IO, Any

from atelier_desk.children import reader_environment

LIMIT_S = 25.0
"""Seconds after which the process is ended, wherever it is."""
_PIECE = 256 * 1024
MOST = 192 * 1024 * 1024
"""Bytes of its answer: seven large pictures; a reader that a file has taken over may write without end."""


_LOOK_S = 0.1
"""How often it is looked whether the work was stopped."""


async def answer_of(module: str, arguments: tuple[str, ...], data: bytes, *, limit_s: float = LIMIT_S) -> dict[str, Any]:
    """The JSON object that ``python -P -m module`` makes of the data; ``{"error": "timeout"}`` or
    ``{"error": "broken"}`` when it makes none.

    Cancelling ends the process.
    """
    out = await output_of(module, arguments, data, limit_s=limit_s)
    return _answer(out)


def answer_in_thread(
    module: str, arguments: tuple[str, ...], data: bytes, *, limit_s: float = LIMIT_S, stopped: Callable[[], object] = bool
) -> dict[str, Any]:
    """The same for the work of a thread: it blocks. ``stopped`` is looked at all the time, and ends the process as the time limit does."""
    pipe, until = subprocess.PIPE, time.monotonic() + limit_s
    out: bytes | None = None
    order = _order(module, arguments)
    with subprocess.Popen(order, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=reader_environment()) as process:
        # Threads talk to it: pipes cannot be waited for with a time limit everywhere, and ``communicate`` reads without end.
        assert process.stdin is not None
        assert process.stdout is not None
        parts: list[bytes] = []
        feeder = Thread(target=_feed, args=(process.stdin, data), daemon=True)
        reader = Thread(target=_read, args=(process.stdout, parts), daemon=True)
        process.stdin = process.stdout = None
        feeder.start()
        reader.start()
        try:
            while reader.is_alive() and not stopped() and time.monotonic() < until:
                reader.join(_LOOK_S)
            out = None if reader.is_alive() else b"".join(parts)
        finally:
            process.kill()
            for each in (feeder, reader):  # a program that it started may hold the pipes open: nobody waits for that
                each.join(_LOOK_S)
    return _answer(out)


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(OSError), pipe:  # it may end before it has read all
        pipe.write(data)


def _read(pipe: IO[bytes], parts: list[bytes]) -> None:
    """What it says until it ends; nothing when that is too much."""
    size = 0
    with suppress(OSError), pipe:
        while piece := pipe.read(_PIECE):
            size += len(piece)
            if size > MOST:
                parts.clear()
                return
            parts.append(piece)


def _order(module: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    # -P as the frozen program knows it, which has no Python beside it.
    return (sys.executable, "-P", "-m", module, *arguments)


def _answer(out: bytes | None) -> dict[str, Any]:
    if out is None:
        return {"error": "timeout"}
    try:
        found = json.loads(out)
    except ValueError:
        return {"error": "broken"}
    return found if isinstance(found, dict) else {"error": "broken"}


async def _talked(process: asyncio.subprocess.Process, data: bytes) -> bytes:
    """What it says to the data; nothing when that is too much."""
    feeding = asyncio.ensure_future(_fed(process, data))
    assert process.stdout is not None
    parts, size = [], 0
    try:
        while piece := await process.stdout.read(_PIECE):
            parts.append(piece)
            size += len(piece)
            if size > MOST:
                return b""
        await feeding
        await process.wait()
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    return b"".join(parts)


async def _fed(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def output_of(module: str, arguments: tuple[str, ...], data: bytes, *, limit_s: float = LIMIT_S) -> bytes | None:
    """The bytes it writes; None when its time was over."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *_order(module, arguments), stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=reader_environment()
    )
    try:
        async with asyncio.timeout(limit_s):
            return await _talked(process, data)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
