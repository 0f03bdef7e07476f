"""Work on a stranger's bytes in a process that is ended when its time is over or nobody waits any more."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from atelier_desk.children import reader_environment

LIMIT_S = 25.0
"""Seconds after which the process is ended, wherever it is."""
_PIECE = 256 * 1024
MOST = 192 * 1024 * 1024
"""Bytes of its answer: seven large pictures; a reader that a file has taken over may write without end."""


async def answer_of(module: str, arguments: tuple[str, ...], data: bytes, *, limit_s: float = LIMIT_S) -> dict[str, Any]:
    """The JSON object that ``python -P -m module`` makes of the data; ``{"error": "timeout"}`` or
    ``{"error": "broken"}`` when it makes none.

    Cancelling ends the process.
    """
    out = await output_of(module, arguments, data, limit_s=limit_s)
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
    # -P as the frozen program knows it, which has no Python beside it.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", module, *arguments, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=reader_environment()
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
