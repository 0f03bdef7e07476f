"""Runs that are held at a point while something else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from atelier_desk.domain.events.run import (
    RunEvent,
)
from atelier_desk.domain.workflow import Run
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import stored_status


class Gate:
    """Holds the first matching commit until it is released; records every commit."""

    def __init__(self, atelier: Atelier, fits: Callable[[RunEvent], bool], error: Exception | None = None) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self._commit = atelier.repos.journal.commit
        self._fits = fits
        self._error = error
        atelier.repos.journal.commit = self.commit  # type: ignore[method-assign]

    async def commit(self, commit: Commit) -> None:
        if not self.reached.is_set() and any(self._fits(event) for event in commit.events):
            self.reached.set()
            if self._error is not None:
                raise self._error
            await self.open.wait()
        await self._commit(commit)


def holds(kind: type) -> Callable[[RunEvent], bool]:
    return lambda event: isinstance(event.body, kind)


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def ended(atelier: Atelier, run_id: str) -> Run:
    async with asyncio.timeout(20):
        return await atelier.runs.wait(run_id)


async def bodies(atelier: Atelier, run_id: str) -> list[Any]:
    events = await run_events(atelier.repos, run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    state = fold(events)
    assert state is not None
    assert await stored_status(atelier, run_id) is state.status
    return [event.body for event in events]
