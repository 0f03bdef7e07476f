"""Usage of requests: of existing runs, and stored totals of permanently deleted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from atelier_desk.storage.repositories.usage_totals import UsageFigures, UsageRecord

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import Repositories

RUNS_AT_ONCE = 100
"""Runs whose events one query reads."""


async def requests_of(repos: Repositories, run_ids: Sequence[str]) -> list[UsageFigures]:
    """What the requests of these runs used, each with its provider and model: those of the agent where its event names
    none.
    """
    from atelier_desk.domain.events.run import RunStarted  # not for a listing

    found: list[UsageFigures] = []
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        events = await repos.used.events(run_ids[start : start + RUNS_AT_ONCE])
        # A turn of an imported chat used nothing here: no request was made.
        events = [each for each in events if each.usage.was_used]
        unnamed = list(dict.fromkeys(each.run_id for each in events if not each.model))
        started = await repos.journal.of_runs(unnamed, types=("run_started",))
        models = {each.run_id: each.body.agent for each in started if isinstance(each.body, RunStarted)}
        found += [
            each
            if each.model
            else replace(each, provider=models[each.run_id].provider, model=models[each.run_id].model)
            for each in events
        ]
    return found


async def usage_of(repos: Repositories, run_ids: Sequence[str]) -> list[UsageRecord]:
    """What is kept of these runs when they are deleted for good: their sums by agent, model and hour."""
    runs = {run.id: run for run in await repos.used.runs(run_ids)}
    sums: dict[tuple[str, str, str, str, datetime], UsageRecord] = {}
    for each in await requests_of(repos, list(runs)):
        run, hour = runs[each.run_id], each.time.replace(minute=0, second=0, microsecond=0)
        key = (run.workflow_id, run.agent_name, each.provider, each.model, hour)
        before = sums.get(key)
        sums[key] = (
            replace(
                before,
                usage=before.usage + each.usage,
                requests=before.requests + 1,
                duration_ms=before.duration_ms + each.duration_ms,
            )
            if before is not None
            else UsageRecord(*key, each.usage, 1, each.duration_ms)
        )
    return list(sums.values())
