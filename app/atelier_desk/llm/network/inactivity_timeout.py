"""End waits without progress, and replies that send nothing meaningful any more, by the injected clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import TypeVar

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, RetryDelta
from atelier_desk.support.i18n import N_

T = TypeVar("T")

_TURNS = 10
"""Turns of the event loop in which received data becomes a piece of an answer, before silence is counted."""

_LEAST_S = 0.01
"""Minimum wait in seconds: a smaller difference may vanish in addition, and the wait would never end."""

_LATE_S = 1.0
"""Seconds by which a busy event loop may be late."""

SILENT = N_(
    "The model did not respond for {seconds} seconds. If it needs more time, raise the inactivity "
    "timeout in Settings → General, then try again."
)


class Stalled(Exception):
    """Nothing arrived within the limit; becomes a ``ProviderError`` before it leaves this package."""


class Watchdog:
    """Ends a wait without progress, by the injected clock. One helper task, however many waits.

    Time in which this program could not run, because of suspension or a blocked event loop, does not count.
    """

    def __init__(self, clock: Clock, limit_s: float) -> None:
        self._clock = clock
        self.limit_s = limit_s
        self._since = 0.0
        self._reader: asyncio.Task[object] | None = None
        self._expired = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Watchdog:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stop()

    def set_limit(self, limit_s: float) -> None:
        """Set the limit of silence."""
        if limit_s != self.limit_s:
            self.limit_s = limit_s
            self.restart()

    def restart(self) -> None:
        """Restart the count, also after a wait was ended."""
        self._stop()
        self._expired = False
        self._task = asyncio.create_task(self._watch())

    async def run(self, awaitable: Awaitable[T]) -> T:
        """Await something that must make progress.

        Raises:
            Stalled: it took longer than the limit.
        """
        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        self._since, self._reader = self._clock.monotonic(), task
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self._expired and task.uncancel() <= before:
                raise Stalled from None
            raise
        finally:
            self._reader = None

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        wait = self.limit_s
        while True:
            if await stood_still(self._clock, wait):
                self._since = self._clock.monotonic()
            wait = self.limit_s
            if self._reader is not None:
                idle = self._clock.monotonic() - self._since
                if idle < self.limit_s:
                    wait = max(self.limit_s - idle, _LEAST_S)
                elif await self._nothing_arrives():
                    self._expired = True
                    self._reader.cancel()
                    return

    async def _nothing_arrives(self) -> bool:
        """Whether a wait is unchanged after received data was processed."""
        since = self._since
        for _turn in range(_TURNS):
            await asyncio.sleep(0)
        return self._reader is not None and self._since == since


async def stood_still(clock: Clock, seconds: float) -> bool:
    """Sleep; return whether this program was suspended at the end, for an unknown time."""
    began = clock.monotonic()
    await clock.sleep(seconds)
    return clock.monotonic() - began - seconds > _LATE_S


async def watched(
    deltas: AsyncGenerator[ChatDelta, None], clock: Clock, limit_s: float, problem: str = SILENT
) -> AsyncGenerator[ChatDelta, None]:
    """Pass deltas through with an inactivity limit, despite other traffic on the connection.

    Comments and empty pieces give no deltas and do not count.

    Args:
        limit_s: maximum seconds of silence; a provider's own wait before another attempt is added.
        problem: message on timeout, with ``{seconds}``.

    Raises:
        ProviderError: silence exceeded the limit (code ``timeout``).
    """
    async with aclosing(deltas), Watchdog(clock, limit_s) as watchdog:
        while True:
            try:
                delta = await watchdog.run(anext(deltas))
            except StopAsyncIteration:
                return
            except Stalled:
                break
            watchdog.set_limit(limit_s + delta.delay_s if isinstance(delta, RetryDelta) else limit_s)
            yield delta
    raise ProviderError(
        problem,
        code="timeout",
        recoverable=True,
        seconds=f"{limit_s:g}",
    )
