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
MOST = 16 * 1024 * 1024
"""Bytes of its answer."""


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


async def output_of(module: str, arguments: tuple[str, ...], data: bytes, *, limit_s: float = LIMIT_S) -> bytes | None:
    """The bytes it writes; None when its time was over."""
    pipe = asyncio.subprocess.PIPE
    # -P as the frozen program knows it, which has no Python beside it.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", module, *arguments, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=reader_environment()
    )
    try:
        async with asyncio.timeout(limit_s):
            return (await process.communicate(data))[0]
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
