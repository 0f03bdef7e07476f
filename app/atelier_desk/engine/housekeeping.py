"""What the window does in the background, for people who use the command line alone: once a day, after a command, briefly."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import AtelierError

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier

log = logging.getLogger(__name__)
EVERY = timedelta(days=1)
BRIEF_S = 2.0
"""Longest time that cleaning takes after a command, which is enough to read some ten thousand records; what is left is for another day,
or for ``atelier files clean``."""
PURGED_AT_ONCE = 10
"""Workflows of the bin that go after one command."""


async def once_a_day(atelier: Atelier, *, started: bool, most_s: float = BRIEF_S) -> None:
    """Clean checkpoints, and empty the bins of what is past its time, unless that was done today. A failure is logged alone.

    Args:
        started: the engine was started: purging needs it, cleaning does not.
    """
    state, now = await atelier.repos.housekeeping.load(), atelier.clock.now()
    try:
        if _is_due(state.cleaned_at, now):
            await _clean(atelier, most_s)
        if started and _is_due(state.purged_at, now):
            await atelier.workflows.purge_expired(PURGED_AT_ONCE)
            await atelier.repos.memories.delete_expired()
            await atelier.memories.purge_expired()
            state = await atelier.repos.housekeeping.load()
            await atelier.repos.housekeeping.save(state.model_copy(update={"purged_at": now}))
    except (AtelierError, OSError):
        log.exception("the daily housekeeping failed")


async def _clean(atelier: Atelier, most_s: float) -> None:
    stop = threading.Event()
    timer = asyncio.get_running_loop().call_later(most_s, stop.set)
    try:
        done = await atelier.files.cleaning.clean(asked=False, stop=stop.is_set)
        if not done.finished:
            log.info("checkpoints were cleaned in part: atelier files clean does the rest")
    finally:
        # Also when the wait was cancelled: the thread ends with the file it is at.
        timer.cancel()
        stop.set()


def _is_due(last: datetime | None, now: datetime) -> bool:
    """A last time that lies ahead is of a clock that was wrong."""
    return last is None or not timedelta(0) <= now - last < EVERY
