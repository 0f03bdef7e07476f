"""What all paid requests together may cost in a calendar month, whoever makes them: runs, sub-agents, titles, memory
extraction, pictures, 3D models, embeddings.

What was spent is read from the journal, so it holds after a restart, and counted on as events are committed. What a
request may still cost is held from the moment it is allowed until its usage is committed, however long that takes: two
runs at once never exceed the limit together. A request whose price nobody knows cannot be held against the limit: it is
refused, until the person enters a price or allows such requests for the month.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import LimitError
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.usage import month_of, month_start
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy import budget
from atelier_desk.storage.writing.sent_request_keys import SentKey
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import N_

log = logging.getLogger(__name__)

READS = 5
"""How often the month is read again because something was committed meanwhile."""
LEAST_PART = 1e-9
"""US dollars that sums of binary fractions may be wrong by."""
WARN_AT = 0.8
"""Fraction of the limit at which the person is warned."""


async def no_cost(_since: datetime) -> float:
    """Return 0: no journal to read."""
    return 0.0


async def _ignore_month(_month: str) -> None:
    """Do nothing: nobody to notify."""


@dataclass(slots=True, eq=False)
class Hold:
    """What a request may cost, in US dollars, set aside until ``free``. ``own``: it is the run's next reply, of which
    there is one at a time. ``priced``: its price is known. ``key``: its row, by which it counts as ``most`` from before
    it is sent until it is settled, see ``SentRequests``."""

    run_id: str = ""
    cost: float = 0.0
    own: bool = False
    priced: bool = True
    key: SentKey | None = None
    most: float = 0.0


class MonthBudget:
    """Reserves for all requests. The month is that of this machine's calendar.

    Attributes:
        limit: US dollars a month; 0 for no limit.
        unpriced: whether requests whose price is not known are allowed this month.
        cost_since: what was spent since then, from the journal, without what is ``in_flight``.
        warn: is told the month, once, when most of the limit is used.
        raise_limit: adds US dollars to the limit.
        allow_unpriced: allows requests whose price is not known until the month ends.
    """

    def __init__(self, clock: Clock, bus: EventBus) -> None:
        self._clock = clock
        self._failed = bus.failed
        self.limit = 0.0
        self.cost_since: Callable[[datetime], Awaitable[float]] = no_cost
        self.warn: Callable[[str], Coroutine[Any, Any, None]] = _ignore_month
        self.raise_limit: Callable[[float], Awaitable[object]] | None = None
        self.allow_unpriced: Callable[[], Awaitable[object]] | None = None
        self._unpriced = ""
        self._warned = ""
        self._month = ""
        self._total = 0.0
        self._held: list[Hold] = []
        self._not_free: set[tuple[str, str]] = set()
        self._changes = 0
        self._reading = asyncio.Lock()

    def apply(self, limit: float, warned: str, unpriced: str) -> None:
        """Follow the settings: the limit, the month in which the person was warned, and that in which requests without
        a price are allowed."""
        self.limit, self._warned, self._unpriced = limit, warned, unpriced

    @property
    def unpriced(self) -> bool:
        return not self.limit or self._unpriced == self._now()

    async def prepare(self) -> None:
        """Read this month's cost if it is not known yet; await it before ``reserve``."""
        if self.limit and self._month != self._now():
            async with self._reading:
                month = self._now()
                if self._month != month:
                    for _time in range(READS):
                        # What is committed during the last read may count twice until a restart, but is never missed.
                        self._total, changes = 0.0, self._changes
                        cost = await self.cost_since(month_start(self._clock.now()))
                        if changes == self._changes:
                            break
                    self._total += cost
                    self._month = month
                    self._check()

    def reserve(
        self,
        state: RunState,
        *,
        prompt_tokens: int,
        reply_tokens: int,
        prices: tuple[float, float],
        priced: bool = True,
        within_run: bool = True,
        hold: Hold | None = None,
    ) -> int | budget.ReachedLimit:
        """``policy.budget.reserve`` with the caps of a run and this month's.

        Args:
            priced: False when the model's prices are not all known.
            within_run: False leaves out the run's own caps.
            hold: set aside what a request beside the run's own replies may cost; who gives it frees it (``free``) when
                nothing is committed of the request.
        """
        if within_run:
            room = budget.reserve(
                state.agent,
                state.raised_limits,
                state.spent,
                prompt_tokens=prompt_tokens,
                reply_tokens=reply_tokens,
                prices=prices,
            )
            if isinstance(room, budget.ReachedLimit):
                return room
            reply_tokens = room
        if not priced and not self.unpriced:
            return budget.ReachedLimit(LimitKind.UNPRICED, self._month_cost(), self.limit)
        hold = hold if hold is not None else Hold(own=True)
        hold.priced = priced
        if not any(prices):
            return reply_tokens
        left = self._left()
        # Held without a limit too: one may be set while the request is sent.
        found = budget.affordable(left, prompt_tokens, reply_tokens, prices) if self.limit else reply_tokens
        if isinstance(found, budget.Needed):
            return budget.ReachedLimit(
                LimitKind.MONTH, self._month_cost(), self.limit, needed=found.cost, left=max(0.0, left)
            )
        hold.run_id = state.run_id
        self._hold(hold, budget.cost_of(prompt_tokens, found, prices))
        return found

    def priced(self, info: ModelInfo) -> bool:
        """Whether a model's price is known; not that of one which was said to be free, and was charged for since the
        start.
        """
        return info.priced and (info.provider, info.name) not in self._not_free

    def charged(self, info: ModelInfo, cost: float) -> None:
        """The server charged this for a reply: a model without a price is not free then, and needs one."""
        if cost > 0 and not (info.price_input or info.price_output):
            self._not_free.add((info.provider, info.name))

    def hold(self, hold: Hold, cost: float | None) -> budget.ReachedLimit | None:
        """Set aside US dollars for a request of a fixed price (None: nobody knows it) until ``free``; the limit that
        has no room for it.
        """
        hold.priced = cost is not None
        if not self.limit:
            self._hold(hold, cost or 0.0)
            return None
        if cost is None:
            return None if self.unpriced else budget.ReachedLimit(LimitKind.UNPRICED, self._month_cost(), self.limit)
        left = self._left()
        if cost and cost > left + LEAST_PART:
            return budget.ReachedLimit(
                LimitKind.MONTH, self._month_cost(), self.limit, needed=cost, left=max(0.0, left)
            )
        self._hold(hold, cost)
        return None

    async def check_again(self, hold: Hold) -> None:
        """Await it before a request is sent again, which counts as the one before: meanwhile the limit may have been
        lowered, or other requests may have cost more than they held.

        Raises:
            LimitError: ``month``: it may not be sent any more.
        """
        await self.prepare()
        if not self.limit:
            return
        if (not hold.priced and not self.unpriced) or (hold.cost and self._left() < -LEAST_PART):
            raise LimitError(
                N_("The monthly cost limit no longer allows this request, so it was not sent again."), code="month"
            )

    def free(self, hold: Hold) -> None:
        """A request is over: what it cost is counted, or it cost nothing. Doing it again changes nothing."""
        if hold in self._held:
            self._held.remove(hold)

    def held_by(self, run_id: str) -> float:
        """US dollars set aside for requests beside this run's own replies."""
        return sum(each.cost for each in self._held if each.run_id == run_id and not each.own)

    def reread(self) -> None:
        """Read this month's cost again before the next request."""
        self._month = ""
        self._changes += 1

    def count(self, cost: float) -> None:
        """US dollars that were spent outside runs: what runs spend is heard when it is committed."""
        self._changes += 1
        self._total += max(0.0, cost)
        self._check()

    def sending(self, hold: Hold, key: SentKey, most: float) -> None:
        """The request is about to be sent, and counts as ``most`` until it is settled."""
        hold.key, hold.most = key, most
        self._changes += 1

    @property
    def in_flight(self) -> set[SentKey]:
        """Requests of this process that are sent and not settled: what they may cost is held."""
        return {each.key for each in self._held if each.key is not None}

    def committed(self, cost: float, settled: Collection[SentKey]) -> None:
        """Count what was committed, in US dollars, and free what these requests held; called directly after each commit
        of the journal.
        """
        self._held = [each for each in self._held if each.key not in settled]
        if cost or settled:
            self.count(cost)

    def _hold(self, hold: Hold, cost: float) -> None:
        hold.cost = cost
        self._held.append(hold)

    def _month_cost(self) -> float:
        return self._total if self._month == self._now() else 0.0

    def _left(self) -> float:
        return self.limit - self._month_cost() - sum(each.cost for each in self._held)

    def _check(self) -> None:
        if (
            self.limit
            and self._total >= self.limit * WARN_AT
            and self._warned != self._now()
            and self._month == self._now()
        ):
            self._warned = self._month
            background_tasks.start(self.warn(self._month), "warning of the monthly limit", self._failed)

    def _now(self) -> str:
        return month_of(self._clock.now())
