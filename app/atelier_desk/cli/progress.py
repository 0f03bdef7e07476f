"""Progress messages of commands that take longer than a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from atelier_desk.cli.terminal_io import Output

SLOW_S = 1.0


@asynccontextmanager
async def noted_when_slow(out: Output, text: str) -> AsyncIterator[Callable[[str], None]]:
    """Show ``text`` on standard error when the block takes more than one second.

    The function it yields starts the next step, with its own text and its own second.
    """
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
    """A progress callback that reports at most once a second, the first time after one second."""
    last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SLOW_S:
            last = time.monotonic()
            say(done, total)

    return progress
