"""Progress messages of commands that take longer than a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from atelier_desk.cli.terminal_io import Output
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier

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


@asynccontextmanager
async def shares_noted(out: Output, text: str) -> AsyncIterator[Callable[[int, int], None]]:
    """Like ``noted_when_slow``; the function it yields is told how much of the work is done, which is noted too."""
    async with noted_when_slow(out, text):
        yield every_second(lambda done, total: out.note(_("{percent}% done…", percent=done * 100 // max(1, total))))


@asynccontextmanager
async def history_noted(atelier: Atelier, out: Output, text: str) -> AsyncIterator[None]:
    """Like ``noted_when_slow`` for what reads the index of the history: while that is brought up to date, its progress
    is noted too.
    """

    async def follow() -> None:
        while True:
            await asyncio.sleep(SLOW_S)
            if (reading := await atelier.usage.reading()) is not None:
                out.note(_("{done} of {n} workflows read…", done=reading[0], n=reading[1]))

    async with noted_when_slow(out, text):
        following = asyncio.create_task(follow())
        try:
            yield
        finally:
            following.cancel()


def every_second(say: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """A progress callback that reports at most once a second, the first time after one second."""
    last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SLOW_S:
            last = time.monotonic()
            say(done, total)

    return progress
