"""Limit of concurrently running teams. A root run and everything below it share a slot."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """A first-come-first-served semaphore; the same team shares its slot.

    Releasing never waits, so that a cancelled run cannot keep its slot.

    Attributes:
        limit: number of slots; reducing it takes no slot away.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._teams: dict[str, int] = {}
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    @property
    def limit(self) -> int:
        return self._limit

    @limit.setter
    def limit(self, value: int) -> None:
        self._limit = value
        self._hand_out()

    @property
    def in_use(self) -> int:
        """Slots in use."""
        return len(self._teams)

    async def acquire(self, team: str) -> bool:
        """Wait for a slot, or share the team's; return whether there was a wait."""
        if team in self._teams:
            self._teams[team] += 1
            return False
        if len(self._teams) < self._limit and not self._waiting:
            self._teams[team] = 1
            return False
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((team, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.free(team)
            elif (team, turn) in self._waiting:
                self._waiting.remove((team, turn))
            raise
        return True

    def free(self, team: str) -> None:
        """Release a slot, or a share of one."""
        self._teams[team] -= 1
        if self._teams[team] == 0:
            del self._teams[team]
        self._hand_out()

    def _hand_out(self) -> None:
        for waiting in list(self._waiting):
            team, turn = waiting
            # A team that got a slot meanwhile need not wait for another.
            if team not in self._teams and len(self._teams) >= self._limit:
                continue
            self._waiting.remove(waiting)
            if not turn.done():
                self._teams[team] = self._teams.get(team, 0) + 1
                turn.set_result(None)
