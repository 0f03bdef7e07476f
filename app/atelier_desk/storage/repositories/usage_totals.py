"""Usage of model requests according to the journal; only the figures of events are read."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.model_messages import Usage
from atelier_desk.storage.compressed_text import unpack
from atelier_desk.storage.row_mapping import plain_time, record, rows_of_each
from atelier_desk.storage.search.index_changes import micros
from atelier_desk.storage.search.request_usage_tables import ImportedRequest, Request, RequestChange, RunAgent, RunModel
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.writing.sent_request_keys import ID_PREFIX, SentKey, sent_row

if TYPE_CHECKING:
    from surrealdb import RecordID

_log = logging.getLogger(__name__)

EVENTS_AT_ONCE = 500
SINGLE_PREFIX = "request"
"""First part of the ids of rows of single requests."""
_ALL_SENT = f"spent:['{ID_PREFIX}']..['{ID_PREFIX}', []]"


@dataclass(frozen=True, slots=True)
class UsingRun:
    """A run with its workflow and agent."""

    id: str
    workflow_id: str
    agent_name: str


@dataclass(frozen=True, slots=True)
class UsageFigures:
    """Usage of one request; ``provider`` and ``model`` are empty where the event does not name them."""

    time: datetime
    run_id: str
    provider: str
    model: str
    usage: Usage
    duration_ms: int


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What deleted runs of one agent used of one model within an hour. It stays when their workflow goes too: money
    that was spent is spent. Without workflow and agent it is what was used outside runs, within a quarter of an hour.

    With a ``number`` it is a single request of a deleted run, which a copy of the run may have too; the number counts
    the equal ones of its run, from 0.
    """

    workflow_id: str
    agent_name: str
    provider: str
    model: str
    time: datetime
    usage: Usage
    requests: int
    duration_ms: int
    number: int | None = None


def save_sent(key: SentKey, spent: UsageRecord) -> Statement:
    """Return the statement that counts a request from before it is sent."""
    return Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": sent_row(key), "content": _row(spent)})


def _row(record: UsageRecord) -> dict[str, object]:
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


def _record(
    id: object, workflow: str, agent: str, provider: str, model: str, time: datetime, usage: str, requests: int, ms: int
) -> UsageRecord:
    used = Usage.model_validate_json(usage)
    number = id[-1] if isinstance(id, list) and id[:1] == [SINGLE_PREFIX] else None
    return UsageRecord(workflow, agent, provider, model, plain_time(time), used, requests, ms, number)


def _sent_key(id: object) -> SentKey | None:
    """Return the request that the row with this id counts; None for a total."""
    match id:
        case [kind, str(run_id), str(name)] if kind == ID_PREFIX:
            return SentKey(run_id, name)
    return None


def save_usage(spent: Sequence[UsageRecord]) -> list[Statement]:
    """Statements for the transaction that deletes the runs."""
    rows = [_row(each) for each in spent if each.number is None]
    single = [{"id": _single(each), **_row(each)} for each in spent if each.number is not None]
    insert = Statement("INSERT INTO spent $rows RETURN NONE", {"rows": rows})
    upsert = Statement("FOR $row IN $rows { UPSERT $row.id CONTENT $row RETURN NONE }", {"rows": single})
    return [*([insert] if rows else []), *([upsert] if single else [])]


def _single(record_: UsageRecord) -> RecordID:
    """Return the id of the row of a single request: the same when the workflow comes back, and is deleted again."""
    same = [str(each) for each in request_of(record_).identity]
    return record("spent", [SINGLE_PREFIX, record_.workflow_id, *same, record_.number])


def request_of(record_: UsageRecord) -> Request:
    """Return the request that a record with a number is of; in place of its run it has the workflow."""
    return Request(
        record_.workflow_id,
        record_.number or 0,
        micros(record_.time),
        record_.provider,
        record_.model,
        record_.usage,
        record_.duration_ms,
    )


class UsedRepository:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def runs(self, ids: Sequence[str]) -> list[UsingRun]:
        """Those of these runs that are there."""
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), record::id(workflow), agent_name] FROM $ids",
            ids=[record("run", each) for each in ids],
        )
        return [UsingRun(*row) for row in rows]

    async def events(self, run_ids: Sequence[str]) -> list[UsageFigures]:
        """What the requests of these runs used here."""
        source = rows_of_each("runs", "SELECT run, time, body FROM run_event WHERE run = $each AND type IN $types")
        rows = await self._store.query(
            f"SELECT VALUE [record::id(run), time, body] FROM {source}",  # noqa: S608
            runs=[record("run", each) for each in run_ids],
            types=_using(),
        )
        found = [(run_id, time, json.loads(unpack(body))) for run_id, time, body in rows]
        return [_used(*each) for each in found if not each[2].get("imported")]

    async def count(self, record: UsageRecord, settles: SentKey | None = None) -> None:
        """Add to what was used outside runs: one row for a time, provider and model. One at a time.

        ``settles`` is the request whose usage it is, which no longer counts by itself.
        """
        key = [record.time.isoformat(), record.provider, record.model]
        before = await self._store.query(
            "SELECT VALUE [usage, requests, duration_ms] FROM ONLY $row", row=_outside(key)
        )
        if before:
            usage, requests, duration_ms = before
            record = replace(
                record,
                usage=Usage.model_validate_json(usage) + record.usage,
                requests=requests + record.requests,
                duration_ms=duration_ms + record.duration_ms,
            )
        counted = Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": _outside(key), "content": _row(record)})
        await self._store.write(counted, *([_no_longer_sent(settles)] if settles is not None else []))

    async def send(self, key: SentKey, record: UsageRecord) -> None:
        """Count a request by what it may use, before it is sent."""
        await self._store.write(save_sent(key, record))

    async def withdraw(self, key: SentKey) -> None:
        """Count a request no longer: it was refused."""
        await self._store.write(_no_longer_sent(key))

    async def sent(self) -> list[tuple[SentKey, UsageRecord]]:
        """Return the requests that are not settled, oldest first."""
        found = [(key, each) for key, each in await self._rows(_ALL_SENT) if key is not None]
        return sorted(found, key=lambda each: each[1].time)

    async def used_since(self, since: datetime | None, without: Collection[SentKey] = frozenset()) -> list[UsageRecord]:
        """What runs that are deleted for good used since then, and what was used outside runs; also requests that were
        sent and are not settled, except those of ``without``.
        """
        rows = await self._rows("spent WHERE time >= $since" if since is not None else "spent", since=since)
        return [each for key, each in rows if key is None or key not in without]

    async def _rows(self, source: str, **names: object) -> list[tuple[SentKey | None, UsageRecord]]:
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), workflow_id, agent_name, provider, model, time, usage, requests, "  # noqa: S608
            f"duration_ms] FROM {source}",
            **names,
        )
        found = []
        for id, *columns in rows:
            # A backup from elsewhere may have any row, and one that cannot be read must not block all requests.
            try:
                found.append((_sent_key(id), _record(id, *columns)))
            except (TypeError, ValueError) as error:
                _log.warning("a row of usage cannot be read and does not count: %s", type(error).__name__)
        return found

    async def names(self, workflow_ids: Collection[str]) -> dict[str, str]:
        """Return the names of workflows by id."""
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), name] FROM $ids", ids=[record("workflow", each) for each in workflow_ids]
        )
        return dict(rows)


async def requests_of_workflow(store: Store, workflow_id: str, since: datetime | None = None) -> list[RequestChange]:
    """What its journal has of requests, without events that cannot be read; some may be there twice.

    Args:
        since: only requests since then, and not whose they are.
    """
    workflow = record("workflow", workflow_id)
    found: list[RequestChange] = []
    at, types = " AND time >= $since", _using()
    if since is None:
        at, types = "", ["run_started", *types]
        asked = "SELECT VALUE [record::id(id), agent_name] FROM run WHERE workflow = $workflow"
        runs = await store.query(asked, workflow=workflow)
        found += [RunAgent(run_id, workflow_id, agent) for run_id, agent in runs]
    least, limit = 0, EVENTS_AT_ONCE
    while True:
        rows = await store.query(
            "SELECT VALUE [stream_from, record::id(run), seq, type, time, body] FROM run_event "  # noqa: S608
            f"WHERE workflow = $workflow AND stream_from >= $least AND type IN $types AND run != NONE{at} "
            "ORDER BY stream_from LIMIT $limit",
            workflow=workflow,
            since=since,
            least=least,
            types=types,
            limit=limit,
        )
        for _from, run_id, seq, kind, time, text in rows:
            with contextlib.suppress(ValueError):
                body = json.loads(unpack(text))
                if kind == "run_started":
                    found.append(RunModel(run_id, workflow_id, body["agent"]["provider"], body["agent"]["model"]))
                elif not (used := _used(run_id, time, body)).usage.was_used:
                    continue
                elif body.get("imported"):
                    found.append(ImportedRequest(run_id, seq, micros(used.time)))
                else:
                    found.append(
                        Request(run_id, seq, micros(used.time), used.provider, used.model, used.usage, used.duration_ms)
                    )
        if len(rows) < limit:
            return found
        # An event without stream events has the number of the next one: the next page begins with that of the last.
        limit = limit * 2 if rows[-1][0] == least else EVENTS_AT_ONCE
        least = rows[-1][0]


def _no_longer_sent(key: SentKey) -> Statement:
    return Statement("DELETE $row RETURN NONE", {"row": sent_row(key)})


def _outside(key: list[str]) -> RecordID:
    return record("spent", key)


@cache
def _using() -> list[str]:
    """Return the event types with a ``usage``, which the totals of a workflow count too."""
    from atelier_desk.domain.events.run import EVENT_TYPES  # takes a while to load, and most listings do not need it

    return [kind.model_fields["type"].default for kind in EVENT_TYPES if "usage" in kind.model_fields]


def _used(run_id: str, time: datetime, body: dict[str, Any]) -> UsageFigures:
    usage = Usage.model_validate(body.get("usage") or {})
    model = body.get("model") or (body.get("reply") or {}).get("model") or ""
    return UsageFigures(
        plain_time(time),
        run_id,
        body.get("provider") or "" if model else "",
        model,
        usage,
        int(body.get("duration_ms") or 0),
    )
