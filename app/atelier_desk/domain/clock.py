"""Time as something that is handed in, so that tests never sleep."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Protocol

from atelier_desk.domain.base import utc_now


class Clock(Protocol):
    """What anything that waits or measures gets instead of ``time`` and ``asyncio.sleep``."""

    def now(self) -> datetime:
        """Wall time, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return utc_now()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
