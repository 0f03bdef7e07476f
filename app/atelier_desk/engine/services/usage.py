"""What was used, of what the journal has: tokens, cost and time of every request by day, model, agent and workflow."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from atelier_desk.domain.usage import MonthUsage, UsageRow, UsageSum, month_of, month_start
from atelier_desk.engine.services.common.context import ServiceContext
from atelier_desk.support.i18n import _


class UsageService:
    """Usage over time. Its sums are those of the workflows' headers: both count the same events, also of what was deleted since."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def rows(self, days: int = 0, zone: tzinfo | None = None) -> list[UsageRow]:
        """What was used in the last ``days`` days, today among them; 0: ever. Days are those of ``zone``, by default of this machine.

        A copy of a workflow counts with what it was copied from, as its header does, on the days of the original.
        """
        now = self._context.clock.now().astimezone(zone)
        since = None
        if days > 0:
            since = datetime.combine(now.date() - timedelta(days=days - 1), datetime.min.time(), now.tzinfo)
            since = since if zone is not None else since.replace(tzinfo=None).astimezone()  # midnight may have another offset than now
        used = self._context.repos.used
        sums = {
            (each.day, each.workflow_id, each.agent_name, each.provider, each.model): UsageSum(each.usage, each.requests, each.duration_ms)
            for each in await self._context.repos.history.usage(since, zone)
        }
        for spent in await used.spent(since):
            key = (spent.time.astimezone(zone).date(), spent.workflow_id, spent.agent_name, spent.provider, spent.model)
            sums[key] = sums.get(key, UsageSum()) + UsageSum(spent.usage, spent.requests, spent.duration_ms)
        names = await used.names({key[1] for key in sums})
        return [
            UsageRow(day, workflow, names.get(workflow) or _("(deleted)"), agent, provider, model, total)
            for (day, workflow, agent, provider, model), total in sorted(sums.items(), key=lambda item: item[0])
        ]

    async def reading(self) -> tuple[int, int] | None:
        """How many of how many workflows were read, while ``rows`` first reads those that are new to the index; None when it has all."""
        return self._context.repos.history.reading

    async def spent_since(self, since: datetime) -> float:
        """US dollars that requests cost since then, as far as prices are known, also of what was deleted. A copy of a workflow costs
        nothing: what two runs have of the same time and figures counts once."""
        kept = await self._context.repos.used.spent(since)
        return await self._context.repos.history.cost(since) + sum(max(0.0, each.usage.cost) for each in kept)

    async def month(self) -> MonthUsage:
        """What was spent this month, and the limit."""
        now = self._context.clock.now()
        limit = (await self._context.settings.get()).monthly_cost_limit
        return MonthUsage(month_of(now), await self.spent_since(month_start(now)), limit)

    async def warn(self, month: str) -> None:
        """Tell, once a month, that most of the limit is used."""
        await self._context.settings.update(monthly_warned=month)
        self._context.bus.changed("usage", month)

    async def raise_limit(self, amount: float) -> None:
        """Add US dollars to the monthly limit."""
        await self._context.settings.update(monthly_cost_limit=lambda limit: round(limit + amount, 4))
