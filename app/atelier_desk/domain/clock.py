"""Injectable time, so that tests never sleep."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Protocol

from atelier_desk.domain.base_model import utc_now


class Clock(Protocol):
    """Used instead of ``time`` and ``asyncio.sleep``."""

    def now(self) -> datetime:
        """Return the wall time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return utc_now()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
