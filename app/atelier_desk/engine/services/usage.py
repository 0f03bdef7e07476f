"""What was used, read from the journal: tokens, cost and time of every request by day, model, agent and workflow."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo

from atelier_desk.domain.events.run import RunStarted
from atelier_desk.domain.usage import UsageRow, UsageSum
from atelier_desk.engine.services.common.context import ServiceContext

RUNS_AT_ONCE = 100
"""Runs whose events one query reads."""

_Key = tuple[date, str, str, str, str]


class UsageService:
    """Usage over time. Its sums are those of the workflows' headers: both count the same events."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def rows(self, days: int = 0, zone: tzinfo | None = None) -> list[UsageRow]:
        """What was used in the last ``days`` days, today among them; 0: ever. Days are those of ``zone``, by default of this machine.

        A copy of a workflow counts with what it was copied from, on the day of the copy, as its header does.
        """
        now = self._context.clock.now().astimezone(zone)
        since = None
        if days > 0:
            since = datetime.combine(now.date() - timedelta(days=days - 1), datetime.min.time(), now.tzinfo)
            since = since if zone is not None else since.replace(tzinfo=None).astimezone()  # midnight may have another offset than now
        used = self._context.repos.used
        runs = {run.id: run for run in await used.runs(since)}
        sums: dict[_Key, UsageSum] = {}
        ids = list(runs)
        for start in range(0, len(ids), RUNS_AT_ONCE):
            events = await used.events(ids[start : start + RUNS_AT_ONCE], since)
            models = await self._models(each.run_id for each in events if not each.model)
            for each in events:
                run = runs[each.run_id]
                provider, model = (each.provider, each.model) if each.model else models[each.run_id]
                key = (each.time.astimezone(zone).date(), run.workflow_id, run.agent_name, provider, model)
                sums[key] = sums.get(key, UsageSum()) + UsageSum(each.usage, 1, each.duration_ms)
        names = await used.names({key[1] for key in sums})
        return [
            UsageRow(day, workflow, names.get(workflow, ""), agent, provider, model, total)
            for (day, workflow, agent, provider, model), total in sorted(sums.items(), key=lambda item: item[0])
        ]

    async def _models(self, run_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Provider and model of these runs, for events that do not name them."""
        wanted = list(dict.fromkeys(run_ids))
        started = await self._context.repos.journal.of_runs(wanted, types=("run_started",))
        return {each.run_id: (each.body.agent.provider, each.body.agent.model) for each in started if isinstance(each.body, RunStarted)}
