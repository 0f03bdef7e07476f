"""Usage of requests: of existing runs, and stored totals of permanently deleted ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from atelier_desk.storage.repositories.usage_totals import UsageFigures, UsageRecord, request_of

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import Repositories

    _Key = tuple[str, str, str, str, datetime]

RUNS_AT_ONCE = 100
"""Runs whose events one query reads."""
SINGLE_DAYS = 32
"""Days for which each request of a deleted run is kept by itself: no month is longer, and in its sum a request counts
once that a copy of the run has too."""


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


async def usage_of(repos: Repositories, run_ids: Sequence[str], now: datetime) -> list[UsageRecord]:
    """What is kept of these runs when they are deleted for good: their newer requests, and sums of the others by agent,
    model and hour.
    """
    runs = {run.id: run for run in await repos.used.runs(run_ids)}
    found = await requests_of(repos, list(runs))
    single: list[UsageRecord] = []
    older: list[UsageRecord] = []
    numbers: Counter[tuple[str, tuple[float, ...]]] = Counter()
    for each in found:
        run = runs[each.run_id]
        record = UsageRecord(
            run.workflow_id, run.agent_name, each.provider, each.model, each.time, each.usage, 1, each.duration_ms
        )
        if each.time < now - timedelta(days=SINGLE_DAYS):
            older.append(record)
            continue
        key = (each.run_id, request_of(record).identity)
        single.append(replace(record, number=numbers[key]))
        numbers[key] += 1
    return [*single, *_sums(older).values()]


def _sums(records: Iterable[UsageRecord]) -> dict[_Key, UsageRecord]:
    """Sums by workflow, agent, provider, model and hour."""
    sums: dict[_Key, UsageRecord] = {}
    for each in records:
        hour = each.time.replace(minute=0, second=0, microsecond=0)
        key = (each.workflow_id, each.agent_name, each.provider, each.model, hour)
        before = sums.get(key)
        sums[key] = (
            replace(
                before,
                usage=before.usage + each.usage,
                requests=before.requests + each.requests,
                duration_ms=before.duration_ms + each.duration_ms,
            )
            if before is not None
            else replace(each, time=hour)
        )
    return sums
