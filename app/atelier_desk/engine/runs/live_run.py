"""One run in memory: its journal handle, driver and task."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run.driver import Driver


@dataclass(eq=False)
class LiveRun:
    """A run in memory; ``driver`` and ``task`` are those of its newest stretch of work. While it is ``stopping``
    nothing sets it going.

    ``narrowed``: what was forbidden while it was not in memory holds for it; what is forbidden from then on reaches it.
    """

    handle: RunHandle
    driver: Driver | None = None
    task: asyncio.Task[None] | None = None
    stopping: bool = False
    narrowed: bool = False

    @property
    def at_work(self) -> bool:
        return self.task is not None and not self.task.done()
