"""What requests to models used, as the journal has it; of their events only the figures are read."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, get_args

from atelier_desk.domain.model_messages import Usage
from atelier_desk.storage.compressed_text import unpack
from atelier_desk.storage.rows import plain_time, record
from atelier_desk.storage.store import Statement, Store


@dataclass(frozen=True, slots=True)
class UsingRun:
    """A run and whose it is."""

    id: str
    workflow_id: str
    agent_name: str


@dataclass(frozen=True, slots=True)
class UsageFigures:
    """What one request used; ``provider`` and ``model`` are empty where the event does not name them."""

    time: datetime
    run_id: str
    provider: str
    model: str
    usage: Usage
    duration_ms: int


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What deleted runs of one agent used of one model within an hour. It stays when their workflow goes too: money that was spent is
    spent. Without workflow and agent it is what embeddings used."""

    workflow_id: str
    agent_name: str
    provider: str
    model: str
    time: datetime
    usage: Usage
    requests: int
    duration_ms: int


def _row(record: UsageRecord) -> dict[str, Any]:
    return {
        "workflow_id": record.workflow_id,
        "agent_name": record.agent_name,
        "provider": record.provider,
        "model": record.model,
        "time": record.time,
        "usage": record.usage.model_dump_json(),
        "requests": record.requests,
        "duration_ms": record.duration_ms,
    }


def keep_spent(spent: Sequence[UsageRecord]) -> list[Statement]:
    """Statements for the transaction that deletes the runs."""
    rows = [_row(each) for each in spent]
    return [Statement("INSERT INTO spent $rows RETURN NONE", {"rows": rows})] if rows else []


class UsedRepository:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def runs(
        self, since: datetime | None = None, ids: Sequence[str] | None = None, *, after: str = "", limit: int | None = None
    ) -> list[UsingRun]:
        """The runs in which something may have happened since then; ``ids``: these of them. ``limit``: by their ids, no more than that, of
        those that come after ``after``."""
        conditions = ["updated_at >= $since"] * (since is not None) + ["id > $after"] * bool(after)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        part = " ORDER BY id LIMIT $limit" if limit is not None else ""
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), record::id(workflow), agent_name] FROM "  # noqa: S608
            f"(SELECT id, workflow, agent_name FROM {'run' if ids is None else '$ids'}{where}{part})",
            since=since,
            ids=[record("run", each) for each in ids or ()],
            after=record("run", after),
            limit=limit,
        )
        return [UsingRun(*row) for row in rows]

    async def events(self, run_ids: Sequence[str], since: datetime | None = None) -> list[UsageFigures]:
        """What the requests of these runs used since then."""
        when = " AND time >= $since" if since is not None else ""
        rows = await self._store.query(
            f"SELECT VALUE [record::id(run), time, body] FROM run_event WHERE run IN $runs AND type IN $types{when}",  # noqa: S608
            runs=[record("run", each) for each in run_ids],
            types=_using(),
            since=since,
        )
        return [_used(run_id, time, json.loads(unpack(body))) for run_id, time, body in rows]

    async def count(self, record: UsageRecord) -> None:
        """Add to what was used outside of runs: one row for an hour, provider and model. One at a time."""
        key = [record.time.isoformat(), record.provider, record.model]
        before = await self._store.query("SELECT VALUE [usage, requests, duration_ms] FROM ONLY $row", row=_outside(key))
        if before:
            usage, requests, duration_ms = before
            record = replace(
                record,
                usage=Usage.model_validate_json(usage) + record.usage,
                requests=requests + record.requests,
                duration_ms=duration_ms + record.duration_ms,
            )
        await self._store.write(Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": _outside(key), "content": _row(record)}))

    async def spent(self, since: datetime | None = None) -> list[UsageRecord]:
        """What runs that are deleted for good used since then, and embeddings."""
        where = " WHERE time >= $since" if since is not None else ""
        rows = await self._store.query(
            f"SELECT VALUE [workflow_id, agent_name, provider, model, time, usage, requests, duration_ms] FROM spent{where}",  # noqa: S608
            since=since,
        )
        return [
            UsageRecord(workflow, agent, provider, model, plain_time(time), Usage.model_validate_json(usage), requests, duration_ms)
            for workflow, agent, provider, model, time, usage, requests, duration_ms in rows
        ]

    async def names(self, workflow_ids: Collection[str]) -> dict[str, str]:
        """The names of workflows by their id."""
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), name] FROM $ids", ids=[record("workflow", each) for each in workflow_ids]
        )
        return dict(rows)


def _outside(key: list[str]) -> Any:
    return record("spent", key)


@cache
def _using() -> list[str]:
    """The types of events that use something up: those with a ``usage``, which the sums of a workflow count too."""
    from atelier_desk.domain.events.run import EventBody  # takes a while to load, and most listings need none

    kinds = get_args(get_args(EventBody)[0])
    return [kind.model_fields["type"].default for kind in kinds if "usage" in kind.model_fields]


def _used(run_id: str, time: datetime, body: dict[str, Any]) -> UsageFigures:
    usage = Usage.model_validate(body.get("usage") or {})
    model = body.get("model") or (body.get("reply") or {}).get("model") or ""
    return UsageFigures(
        plain_time(time), run_id, body.get("provider") or "" if model else "", model, usage, int(body.get("duration_ms") or 0)
    )
