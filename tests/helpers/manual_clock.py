"""A clock that only a test moves."""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta


class ManualClock:
    """``advance`` moves the time and wakes due sleepers in order."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._elapsed + seconds, self._count, future))
        await future

    @property
    def sleepers(self) -> int:
        return sum(not future.done() for _, _, future in self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Move the time forward, and let everything due run until it waits again."""
        target = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            due, _, future = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            if not future.done():
                future.set_result(None)
            await self.settle()
        self._elapsed = target
        await self.settle()

    @staticmethod
    async def settle(rounds: int = 20) -> None:
        """Let ready tasks run."""
        for _ in range(rounds):
            await asyncio.sleep(0)
