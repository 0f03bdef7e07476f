"""Periodically ping running MCP servers while they are used or displayed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.mcp import McpError
from atelier_desk.support import background_tasks

if TYPE_CHECKING:
    from atelier_desk.mcp.connection import Connection

log = logging.getLogger(__name__)
CHECK_S = 30.0
"""Seconds between pings."""
USED_S = 300.0
"""Seconds after its newest request for which a server counts as used."""


class McpPing:
    """Pings running servers; starts none. ``connections`` is the live collection."""

    def __init__(self, connections: Mapping[str, Connection], clock: Clock) -> None:
        self._connections, self._clock = connections, clock
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start pinging because a server is used."""
        if self._task is None or self._task.done():
            self._task = background_tasks.start(self._watch(), "watch of MCP servers")

    async def check(self) -> None:
        """Ping all running servers concurrently. Failures are recorded in their states."""
        await self._ask(list(self._connections.values()))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while used := self._used():
            await self._clock.sleep(CHECK_S)
            await self._ask([each for each in used if each in self._connections.values()])

    def _used(self) -> list[Connection]:
        since = self._clock.monotonic() - USED_S
        return [each for each in self._connections.values() if each.pingable and each.used_at >= since]

    @staticmethod
    async def _ask(connections: list[Connection]) -> None:
        for found in await asyncio.gather(*(each.ping() for each in connections), return_exceptions=True):
            if isinstance(found, McpError):
                log.warning("%s", found)
            elif isinstance(found, Exception):
                log.error("a server could not be asked", exc_info=found)
