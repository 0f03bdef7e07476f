"""What was used, of what the journal has: tokens, cost and time of every request by day, model, agent and workflow."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta, tzinfo

from atelier_desk.domain.usage import MonthUsage, UsageRow, UsageSum, month_of, month_start
from atelier_desk.engine.services.common.service import Service
from atelier_desk.storage.repositories.usage_totals import request_of
from atelier_desk.storage.writing.sent_request_keys import SentKey
from atelier_desk.support.i18n import _


class UsageService(Service):
    """Usage over time.

    Totals equal those in the workflows' headers: both count the same events, including deleted ones. What came with an
    imported workflow was not used here: it is in its header alone.
    """

    async def rows(self, days: int = 0, zone: tzinfo | None = None) -> list[UsageRow]:
        """Return the usage of the last ``days`` days including today; 0: all. Days are in ``zone``, by default this
        machine's.

        A copy of a workflow includes the original's usage, like its header, on the original's days.
        """
        since = self._since(days, zone)
        used = self._context.repos.used
        sums = {
            (each.day, each.workflow_id, each.agent_name, each.provider, each.model): UsageSum(
                each.usage, each.requests, each.duration_ms
            )
            for each in await self._context.repos.history.usage(since, zone)
        }
        for row in await used.used_since(since):
            key = (row.time.astimezone(zone).date(), row.workflow_id, row.agent_name, row.provider, row.model)
            sums[key] = sums.get(key, UsageSum()) + UsageSum(row.usage, row.requests, row.duration_ms)
        names = await used.names({key[1] for key in sums})
        outside = _("Not in a workflow")
        return [
            UsageRow(
                day,
                workflow,
                names.get(workflow) or (_("(deleted)") if workflow else outside),
                agent,
                provider,
                model,
                total,
            )
            for (day, workflow, agent, provider, model), total in sorted(sums.items(), key=lambda item: item[0])
        ]

    async def leaves_out(self, days: int = 0) -> bool:
        """Return whether ``rows`` of these days leave out requests that came with imported workflows."""
        return await self._context.repos.history.leaves_out(self._since(days, None))

    def _since(self, days: int, zone: tzinfo | None) -> datetime | None:
        """Return when the first of the last ``days`` days began; None for all."""
        now = self._context.clock.now().astimezone(zone)
        if not 0 < days < now.toordinal():
            return None
        since = datetime.combine(now.date() - timedelta(days=days - 1), datetime.min.time(), now.tzinfo)
        # midnight may have another UTC offset than now
        return since if zone is not None else since.replace(tzinfo=None).astimezone()

    async def reading(self) -> tuple[int, int] | None:
        """How many of how many workflows were read, while ``rows`` or a search in history first reads those that are
        new to the index; None when it has all.
        """
        return self._context.repos.history.reading

    async def cost_since(self, since: datetime, without: Collection[SentKey] = frozenset()) -> float:
        """Return the cost of requests since then in US dollars, as far as prices are known, including deleted ones and
        those that are not settled, except ``without``.

        Copied workflows cost nothing, also when either is deleted for good: usage with equal time and figures counts
        once, and a cost below zero not at all.
        """
        return (await self._cost(since, without))[0]

    async def _cost(self, since: datetime, without: Collection[SentKey] = frozenset()) -> tuple[float, float]:
        """Return the cost since then, and how much of it is estimated."""
        used = await self._context.repos.used.used_since(since, without)
        gone = [request_of(each) for each in used if each.number is not None]
        cost, estimated = await self._context.repos.history.cost(since, gone)
        usage = [each.usage for each in used if each.number is None]
        return (
            cost + sum(max(0.0, each.cost) for each in usage),
            estimated + sum(max(0.0, each.cost_estimated) for each in usage),
        )

    async def month(self) -> MonthUsage:
        """Return this month's cost, and the limit."""
        now = self._context.clock.now()
        settings = await self._context.settings.get()
        cost, estimated = await self._cost(month_start(now))
        unpriced = settings.monthly_unpriced == month_of(now)
        return MonthUsage(month_of(now), cost, settings.monthly_cost_limit, unpriced, estimated)

    async def warn(self, month: str) -> None:
        """Warn once a month that most of the limit is used."""
        await self._context.settings.update(monthly_warned=month)
        self._context.bus.changed("usage", month)

    async def allow_unpriced(self, allowed: bool = True) -> None:
        """Send requests whose price is not known, until the month ends, although the monthly limit cannot count them;
        or no more.
        """
        await self._context.settings.update(monthly_unpriced=month_of(self._context.clock.now()) if allowed else "")

    async def raise_limit(self, amount: float) -> None:
        """Add US dollars to the monthly limit, with another warning when most of it is used."""
        await self._context.settings.update(
            monthly_cost_limit=lambda limit: round(limit + amount, 4), monthly_warned=""
        )
