"""Daily background work of the window for users of the command line: once a day, after a command, briefly."""

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
"""Maximum seconds of cleaning after a command, enough for about ten thousand records.

The rest is left for another day, or ``atelier files clean``.
"""
PURGED_AT_ONCE = 10
"""Maximum workflows purged from the bin after one command."""


async def once_a_day(atelier: Atelier, *, started: bool, most_s: float = BRIEF_S) -> None:
    """Clean checkpoints and empty expired bin entries, unless done today. Failures are only logged.

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
        # Also when cancelled: the thread ends after its present file.
        timer.cancel()
        stop.set()


def _is_due(last: datetime | None, now: datetime) -> bool:
    """Whether it is due; a last time in the future comes from a wrong clock."""
    return last is None or not timedelta(0) <= now - last < EVERY
