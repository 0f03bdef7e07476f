"""Monthly cost limit for all model requests: runs, sub-agents, titles, memory extraction.

Past costs are read from the journal, so they survive a restart, and updated as events are committed. The possible cost
of a request is reserved from its approval until its usage is committed: concurrent runs never exceed the limit
together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.usage import month_of, month_start
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.bus import EventBus
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy import budget
from atelier_desk.support import background

log = logging.getLogger(__name__)

HOLD_S = 3_600.0
"""Seconds after which a request without further news counts as over."""
COPIED = timedelta(minutes=1)
"""Commits are faster: older usage was not spent now."""
WARN_AT = 0.8
"""Fraction of the limit at which the person is warned."""


async def nothing_spent(_since: datetime) -> float:
    """Return 0: no journal to read."""
    return 0.0


async def nothing_kept(_month: str) -> None:
    """Do nothing: nobody to notify."""


class MonthBudget:
    """Reserves for all requests, by the calendar month of this machine.

    Attributes:
        limit: US dollars per month; 0 for no limit.
        spent_since: returns the cost since a time, from the journal.
        warn: called once with the month when most of the limit is used.
        raise_limit: adds US dollars to the limit.
    """

    def __init__(self, clock: Clock, bus: EventBus) -> None:
        self._clock = clock
        self._bus = bus
        self.limit = 0.0
        self.spent_since: Callable[[datetime], Awaitable[float]] = nothing_spent
        self.warn: Callable[[str], Coroutine[Any, Any, None]] = nothing_kept
        self.raise_limit: Callable[[float], Awaitable[object]] | None = None
        self._warned = ""
        self._month = ""
        self._spent = 0.0
        self._held: dict[str, list[tuple[float, float]]] = {}
        self._reading = asyncio.Lock()
        bus.subscribe(self._heard)

    def apply(self, limit: float, warned: str) -> None:
        """Apply the settings: the limit, and the month of the last warning."""
        self.limit, self._warned = limit, warned

    async def prepare(self) -> None:
        """Read this month's cost if it is not known yet; await it before ``reserve``."""
        if self.limit and self._month != self._now():
            async with self._reading:
                month = self._now()
                if self._month != month:
                    # Commits made during the read may count twice until a restart, but are never missed.
                    self._spent = 0.0
                    spent = await self.spent_since(month_start(self._clock.now()))
                    self._spent += spent
                    self._month = month
                    self._look()

    def reserve(
        self, state: RunState, *, prompt_tokens: int, reply_tokens: int, prices: tuple[float, float], within_run: bool = True
    ) -> int | budget.ReachedLimit:
        """Like ``policy.budget.reserve`` with the limits of a run and this month's.

        ``within_run`` False ignores the run's own.
        """
        if within_run:
            room = budget.reserve(
                state.agent, state.raised_limits, state.spent, prompt_tokens=prompt_tokens, reply_tokens=reply_tokens, prices=prices
            )
            if isinstance(room, budget.ReachedLimit):
                return room
            reply_tokens = room
        if not self.limit or not any(prices):
            return reply_tokens
        spent = self._spent if self._month == self._now() else 0.0
        left = self.limit - spent - self._on_hold()
        found = budget.affordable(left, prompt_tokens, reply_tokens, prices)
        if isinstance(found, budget.Needed):
            return budget.ReachedLimit(LimitKind.MONTH, spent, self.limit, needed=found.cost, left=max(0.0, left))
        cost = budget.cost_of(prompt_tokens, found, prices)
        self._held.setdefault(state.run_id, []).append((cost, self._clock.monotonic()))
        return found

    def release(self, run_id: str) -> None:
        """Release reservations of a run whose requests ended without usage."""
        self._held.pop(run_id, None)

    def _on_hold(self) -> float:
        oldest = self._clock.monotonic() - HOLD_S
        self._held = {run: kept for run, held in self._held.items() if (kept := [each for each in held if each[1] >= oldest])}
        return sum(cost for held in self._held.values() for cost, _since in held)

    def _heard(self, event: StreamEvent) -> None:
        """Update the cost from a committed event, directly after each commit."""
        if not event.durable or event.chunk_type not in (ChunkType.USAGE, ChunkType.RUN_STATUS):
            return
        if self._clock.now() - event.time > COPIED:
            return  # a fork repeats past events, and paid nothing for them
        said = event.payload
        if isinstance(said, payloads.UsageUpdated):
            cost = max(0.0, said.cost or 0.0)
            self._spent += cost
            held = self._held.get(event.run_id)
            if held:
                # Among several it was the smallest reservation that covers this cost.
                held.remove(min((each for each in held if each[0] >= cost), default=max(held)))
            self._look()
        elif isinstance(said, payloads.RunStatusChanged):
            status = RunStatus(said.status)
            if status.final or status.held:
                self.release(event.run_id)

    def _look(self) -> None:
        if self.limit and self._spent >= self.limit * WARN_AT and self._warned != self._now() and self._month == self._now():
            self._warned = self._month
            background.start(self.warn(self._month), "warning of the monthly limit", self._bus.failed)

    def _now(self) -> str:
        return month_of(self._clock.now())
