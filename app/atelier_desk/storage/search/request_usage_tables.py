"""What requests to models used, beside the full-text index and kept up to date with it: the journal has it in texts
that the database cannot add up, and reads at some 10 000 a second."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from atelier_desk.domain.model_messages import Usage

if TYPE_CHECKING:
    from atelier_desk.domain.events.run import RunEvent
    from atelier_desk.domain.workflow import Run

SLOT = 900_000_000
"""Microseconds of a quarter of an hour: the clocks of all places differ by multiples of it, so it lies on one day
everywhere.
"""
FIGURES = (
    "tokens_input",
    "tokens_output",
    "tokens_cached",
    "tokens_stored",
    "tokens_reasoning",
    "cost",
    "saved",
    "tokens_unpriced",
    "estimated",
    "cost_estimated",
)
SAME = ("time", "duration_ms", "tokens_input", "tokens_output", "cost", "cost_estimated")
"""Columns that a copy of a request has too."""
MOST = 2**53
"""Largest figure; of larger ones not every integer has a float."""
TABLES = f"""
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY, workflow TEXT NOT NULL, agent TEXT NOT NULL DEFAULT '', provider TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_workflow ON run (workflow);
CREATE TABLE IF NOT EXISTS request (
    run TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    {", ".join(f"{name} NUMERIC NOT NULL" for name in FIGURES)}, duration_ms INTEGER NOT NULL, PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS request_time ON request (time);
CREATE TABLE IF NOT EXISTS imported_request (
    run TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS imported_request_time ON imported_request (time);
"""


class RunAgent(NamedTuple):
    """Whose a run is."""

    run_id: str
    workflow_id: str
    agent_name: str


class RunModel(NamedTuple):
    """What a run began with: it counts for requests whose events name no model."""

    run_id: str
    workflow_id: str
    provider: str
    model: str


class Request(NamedTuple):
    """What one request used; ``provider`` and ``model`` are empty where its event does not name them. ``seq`` is the
    event's number.
    """

    run_id: str
    seq: int
    time: int
    provider: str
    model: str
    usage: Usage
    duration_ms: int

    @property
    def identity(self) -> tuple[float, ...]:
        """What a copy of the request has too: the columns ``SAME``."""
        used = self.usage
        figures = (self.duration_ms, used.tokens_input, used.tokens_output, used.cost, used.cost_estimated)
        return (self.time, *map(_storable, figures))


class ImportedRequest(NamedTuple):
    """One request that was made before its workflow was imported: it is in no sum, because nothing was used here."""

    run_id: str
    seq: int
    time: int


class RequestsRemoved(NamedTuple):
    """Runs are gone, or all of a workflow."""

    run_ids: tuple[str, ...] = ()
    workflow_id: str = ""


class UsageTotal(NamedTuple):
    """What one agent used of one model in one workflow on one day."""

    day: date
    workflow_id: str
    agent_name: str
    provider: str
    model: str
    requests: int
    duration_ms: int
    usage: Usage


RequestChange = RunAgent | RunModel | Request | ImportedRequest | RequestsRemoved


def of_commit(
    events: Iterable[RunEvent], runs: Iterable[Run], micros: Callable[[datetime], int]
) -> tuple[RequestChange, ...]:
    """What a commit changes of it."""
    from atelier_desk.domain.events.run import RunStarted  # whoever has an event has loaded it

    found: list[RequestChange] = [RunAgent(run.id, run.workflow_id, run.agent_name) for run in runs]
    for event in events:
        body = event.body
        if isinstance(body, RunStarted):
            found.append(RunModel(event.run_id, event.workflow_id, body.agent.provider, body.agent.model))
        usage = getattr(body, "usage", None)
        if event.run_id and isinstance(usage, Usage) and usage.was_used:
            if body.imported:
                found.append(ImportedRequest(event.run_id, event.seq, micros(event.time)))
                continue
            model = getattr(body, "model", "") or getattr(getattr(body, "reply", None), "model", "") or ""
            provider = getattr(body, "provider", "") if model else ""
            found.append(
                Request(
                    event.run_id, event.seq, micros(event.time), provider, model, usage, getattr(body, "duration_ms", 0)
                )
            )
    return tuple(found)


def apply(db: sqlite3.Connection, change: RequestChange) -> None:
    """Take in one change, within a transaction."""
    match change:
        case RunAgent():
            db.execute(
                (
                    "INSERT INTO run (id, workflow, agent) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET agent = "
                    "excluded.agent"
                ),
                tuple(change),
            )
        case RunModel():
            db.execute(
                "INSERT INTO run (id, workflow, provider, model) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET provider = excluded.provider, model = excluded.model",
                tuple(change),
            )
        case Request():
            figures = [getattr(change.usage, name) for name in FIGURES]
            row = (*change[:5], *map(_storable, (*figures, change.duration_ms)))
            db.execute(f"INSERT OR REPLACE INTO request VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
        case ImportedRequest():
            db.execute("INSERT OR REPLACE INTO imported_request VALUES (?, ?, ?)", tuple(change))
        case RequestsRemoved():
            ids = [(each,) for each in change.run_ids]
            if change.workflow_id:
                ids += db.execute("SELECT id FROM run WHERE workflow = ?", (change.workflow_id,)).fetchall()
            db.executemany("DELETE FROM request WHERE run = ?", ids)
            db.executemany("DELETE FROM imported_request WHERE run = ?", ids)
            db.executemany("DELETE FROM run WHERE id = ?", ids)


def _storable(figure: float) -> float:
    """Return 0 for what SQLite cannot store and no sum should have: journals of others may have any number."""
    return figure if -MOST <= figure <= MOST else 0


def totals(db: sqlite3.Connection, since: int, day_of: Callable[[int], date]) -> list[UsageTotal]:
    """Sums since then by day, workflow, agent and model; ``day_of`` gives the day of a time in microseconds since
    1970."""
    day = lru_cache(maxsize=None)(lambda slot: day_of(slot * SLOT).toordinal())
    db.create_function("day_of", 1, day, deterministic=True)
    sums = ", ".join(f"{'max' if name == 'estimated' else 'sum'}({name})" for name in FIGURES)
    rows = db.execute(
        f"SELECT day_of(time / {SLOT}), workflow, agent, iif(q.model = '', r.provider, q.provider), iif(q.model = "  # noqa: S608
        f"'', r.model, q.model),"
        f" count(*), sum(duration_ms), {sums} FROM request AS q JOIN run AS r ON r.id = q.run WHERE time >= ? GROUP "
        f"BY 1, 2, 3, 4, 5",
        (since,),
    )
    return [
        UsageTotal._make((date.fromordinal(row[0]), *row[1:7], Usage(**dict(zip(FIGURES, row[7:], strict=True)))))
        for row in rows
    ]


def leaves_out(db: sqlite3.Connection, since: int) -> bool:
    """Whether a request since then is in no sum."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM imported_request WHERE time >= ?)", (since,)).fetchone()[0])


def runs(db: sqlite3.Connection) -> set[str]:
    """The runs it knows."""
    return {row[0] for row in db.execute("SELECT id FROM run")}


def most_in_a_run(requests: Iterable[Request]) -> dict[tuple[float, ...], int]:
    """How often the run that has it most often has each request, by identity: what runs share are copies."""
    most: dict[tuple[float, ...], int] = {}
    for (_run, identity), times in Counter((each.run_id, each.identity) for each in requests).items():
        most[identity] = max(times, most.get(identity, 0))
    return most


def cost(db: sqlite3.Connection, since: int, gone: Iterable[Request] = ()) -> tuple[float, float]:
    """US dollars since then, and how much of it is estimated. A request that was copied with its workflow counts once.

    A cost below zero counts as none: a workflow from elsewhere may have any, and earlier versions noted refunds so.

    What one run has twice at the same time is two requests: pictures ordered together have no tokens to tell them apart
    by.

    Args:
        gone: requests of deleted runs since then, with the workflow in place of the run.
    """
    same = ", ".join(SAME)
    each = f"SELECT run, {same}, count(*) AS times FROM request WHERE time >= ? GROUP BY run, {same}"  # noqa: S608
    sums = "max(times) * max(cost, 0) AS cost, max(times) * max(cost_estimated, 0) AS estimated"
    once = f"SELECT {sums} FROM ({each}) GROUP BY {same}"  # noqa: S608
    query = f"SELECT coalesce(sum(cost), 0), coalesce(sum(estimated), 0) FROM ({once})"  # noqa: S608
    spent, estimated = db.execute(query, (since,)).fetchone()
    there = f"SELECT count(*) FROM request WHERE {' AND '.join(f'{name} = ?' for name in SAME)} GROUP BY run"  # noqa: S608
    for identity, times in most_in_a_run(gone).items():
        copies = max((count for (count,) in db.execute(there, identity)), default=0)
        spent += max(0, times - copies) * max(0, identity[-2])
        estimated += max(0, times - copies) * max(0, identity[-1])
    return float(spent), float(estimated)
