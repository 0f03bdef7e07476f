"""What a person is told while a command takes longer than a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from atelier_desk.cli.output import Output

SLOW_S = 1.0


@asynccontextmanager
async def noted_when_slow(out: Output, text: str) -> AsyncIterator[Callable[[str], None]]:
    """Say ``text`` on standard error when the block takes longer than a second. What it gives begins the next step, which has a text and a
    second of its own."""
    loop = asyncio.get_running_loop()
    timer = loop.call_later(SLOW_S, out.note, text)

    def go_on(text: str) -> None:
        nonlocal timer
        timer.cancel()
        timer = loop.call_later(SLOW_S, out.note, text)

    try:
        yield go_on
    finally:
        timer.cancel()


def every_second(say: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """A progress callback that passes on what it is told at most once a second, for the first time after one."""
    last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SLOW_S:
            last = time.monotonic()
            say(done, total)

    return progress
