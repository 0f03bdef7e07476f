"""What was used, read from the journal: tokens, cost and time of every request by day, model, agent and workflow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date, datetime, timedelta, tzinfo

from atelier_desk.domain.limits import LIST_MAX
from atelier_desk.domain.usage import MonthUsage, UsageRow, UsageSum, month_of, month_start
from atelier_desk.engine.services.common.context import ServiceContext
from atelier_desk.engine.usage_totals import RUNS_AT_ONCE, requests_of
from atelier_desk.storage.repositories.usage_totals import UsingRun
from atelier_desk.support.i18n import _

_Key = tuple[date, str, str, str, str]


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
        sums: dict[_Key, UsageSum] = {}
        async for runs in self._runs(since):
            for each in await requests_of(self._context.repos, list(runs), since):
                run = runs[each.run_id]
                key = (each.time.astimezone(zone).date(), run.workflow_id, run.agent_name, each.provider, each.model)
                sums[key] = sums.get(key, UsageSum()) + UsageSum(each.usage, 1, each.duration_ms)
        for spent in await used.spent(since):
            key = (spent.time.astimezone(zone).date(), spent.workflow_id, spent.agent_name, spent.provider, spent.model)
            sums[key] = sums.get(key, UsageSum()) + UsageSum(spent.usage, spent.requests, spent.duration_ms)
        names = await used.names({key[1] for key in sums})
        return [
            UsageRow(day, workflow, names.get(workflow) or (_("(deleted)") if workflow else _("Embeddings")), agent, provider, model, total)
            for (day, workflow, agent, provider, model), total in sorted(sums.items(), key=lambda item: item[0])
        ]

    async def spent_since(self, since: datetime) -> float:
        """US dollars that requests cost since then, as far as prices are known, also of what was deleted. A copy of a workflow costs
        nothing: what two runs have of the same time and figures counts once. What a run was given back is taken from what it spent itself,
        never from another's."""
        seen: set[tuple[object, ...]] = set()
        sums: dict[str, float] = {}
        async for runs in self._runs(since):
            for each in await requests_of(self._context.repos, list(runs), since):
                key = (each.time, each.duration_ms, each.usage.tokens_input, each.usage.tokens_output, each.usage.cost)
                if key not in seen:
                    seen.add(key)
                    sums[each.run_id] = sums.get(each.run_id, 0.0) + each.usage.cost
        kept = await self._context.repos.used.spent(since)
        return sum(max(0.0, cost) for cost in sums.values()) + sum(max(0.0, each.usage.cost) for each in kept)

    async def month(self) -> MonthUsage:
        """What was spent this month, and the limit."""
        now = self._context.clock.now()
        settings = await self._context.settings.get()
        spent = await self.spent_since(month_start(now))
        return MonthUsage(month_of(now), spent, settings.monthly_cost_limit, settings.monthly_unpriced == month_of(now))

    async def warn(self, month: str) -> None:
        """Tell, once a month, that most of the limit is used."""
        await self._context.settings.update(monthly_warned=month)
        self._context.bus.changed("usage", month)

    async def allow_unpriced(self, allowed: bool = True) -> None:
        """Send requests whose price is not known, until the month ends, although the monthly limit cannot count them; or no more."""
        await self._context.settings.update(monthly_unpriced=month_of(self._context.clock.now()) if allowed else "")

    async def raise_limit(self, amount: float) -> None:
        """Add US dollars to the monthly limit."""
        await self._context.settings.update(monthly_cost_limit=lambda limit: round(limit + amount, 4))

    async def _runs(self, since: datetime | None) -> AsyncIterator[dict[str, UsingRun]]:
        """All runs since then by their ids, a few at once: memory holds no more of them and their events, however long the history is."""
        page: list[UsingRun] = []
        while page := await self._context.repos.used.runs(since, after=page[-1].id if page else "", limit=LIST_MAX):
            for start in range(0, len(page), RUNS_AT_ONCE):
                yield {run.id: run for run in page[start : start + RUNS_AT_ONCE]}
