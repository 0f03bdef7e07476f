"""Ends waits in which nothing happens, by the injected clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from atelier_desk.domain.clock import Clock

T = TypeVar("T")


class Stalled(Exception):
    """Nothing arrived for as long as was allowed; becomes a ``ProviderError`` before it leaves this package."""


class Watchdog:
    """Ends a wait when nothing happened for too long, by the injected clock. One helper task, however many waits."""

    def __init__(self, clock: Clock, limit_s: float) -> None:
        self._clock = clock
        self.limit_s = limit_s
        self._since = 0.0
        self._reader: asyncio.Task[Any] | None = None
        self._expired = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Watchdog:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stop()

    def set_limit(self, limit_s: float) -> None:
        """Bear this much silence from now on."""
        if limit_s != self.limit_s:
            self.limit_s = limit_s
            self._stop()
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
            await self._clock.sleep(wait)
            wait = self.limit_s
            if self._reader is not None:
                idle = self._clock.monotonic() - self._since
                if idle >= self.limit_s:
                    self._expired = True
                    self._reader.cancel()
                    return
                wait = self.limit_s - idle
