"""Slots: how many runs may work at once."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """A counting gate, first come first served. Giving a slot back never waits, so that a cancelled run cannot keep its own.

    Attributes:
        limit: how many there are; a smaller number takes no slot away from who has one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        return self._limit

    @limit.setter
    def limit(self, value: int) -> None:
        self._limit = value
        self._hand_out()

    @property
    def taken(self) -> int:
        """Slots in use."""
        return self._taken

    async def take(self) -> bool:
        """Wait for a slot; returns whether there was a wait."""
        if self._taken < self._limit and not self._waiting:
            self._taken += 1
            return False
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.free()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise
        return True

    def free(self) -> None:
        """Give a slot back."""
        self._taken -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self._taken < self._limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)
