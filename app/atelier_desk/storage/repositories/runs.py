"""Runs, their journal and the reply being received."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.limits import LIST_MAX
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.workflow import Run, RunStatus
from atelier_desk.domain.workflow_branches import RunLink
from atelier_desk.storage import tables
from atelier_desk.storage.damage_report import CODE, Damage, damaged
from atelier_desk.storage.integrity import unreadable_event
from atelier_desk.storage.repositories.base_repository import Repository, guard, page_size
from atelier_desk.storage.repositories.usage_totals import UsageRecord, save_sent, save_usage
from atelier_desk.storage.row_mapping import plain_time, record
from atelier_desk.storage.search.index_changes import Change, RemovedDocument
from atelier_desk.storage.search.request_usage import RequestsRemoved
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.writing.commit_statements import chained, statements
from atelier_desk.storage.writing.event_rows import EVENT_COLUMNS, EVENTS
from atelier_desk.storage.writing.hash_chain import Chain
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.storage.writing.sent_request_keys import OWN, SentKey
from atelier_desk.support.i18n import N_

T = TypeVar("T")


class Turn(NamedTuple):
    """What shows whether the journal of a root run is unchanged: the number of events, and the hash of the newest,
    which covers all others.

    The hash is None for rows written before schema 9, and where it was not requested.
    """

    id: str
    previous_run_id: str | None
    last_seq: int
    last_hash: bytes | None
    final: bool
    unread: bool = False
    """Whether a person ended it although its events cannot be read: see ``Run.unread``."""


_ALIVE = [status.value for status in RunStatus if not status.final]


class RunRepository(Repository[Run]):
    """The rows that summarise the journals."""

    table = tables.RUNS
    what = "run"
    absent = N_("There is no run {id}.")

    async def list(self, workflow_id: str) -> list[Run]:
        """Return all runs of a workflow, including sub-agents' runs, oldest first."""
        return await self._select(
            "WHERE workflow = $workflow ORDER BY created_at, id", workflow=record("workflow", workflow_id)
        )

    async def links(self, workflow_id: str) -> builtins.list[RunLink]:
        """Return how the runs of a workflow follow each other, oldest first, without deleted branches.

        Six times faster than ``list`` for thousands of runs.
        """
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), previous_run && record::id(previous_run), parent_run && "
            "record::id(parent_run), "
            "time::micros(created_at)] FROM run WHERE workflow = $workflow AND deleted_at = NONE",
            workflow=record("workflow", workflow_id),
        )
        return [RunLink(*row[:3]) for row in sorted(rows, key=lambda row: (row[3], row[0]))]

    async def turns(self, workflow_id: str, run_id: str) -> builtins.list[Turn]:
        """Return a root run and its predecessors, oldest first, including deleted branches.

        Raises:
            NotFoundError: one of them is gone.
        """
        rows = await self._store.query(
            "SELECT VALUE [record::id(id), previous_run && record::id(previous_run), last_seq, last_hash, status, "
            "error] FROM run "
            # Without the index the engine scans all root runs: a second among 100 000 runs, against a millisecond.
            "WITH INDEX by_workflow WHERE workflow = $workflow AND parent_run = NONE",
            workflow=record("workflow", workflow_id),
        )
        there = {row[0]: row for row in rows}
        found: dict[str, Turn] = {}
        at: str | None = run_id
        while at is not None and at not in found:
            if at not in there:
                raise self.missing(at)
            run, previous, last_seq, last_hash, status, error = there[at]
            unread = status == RunStatus.CANCELLED and bool(error)
            found[at] = Turn(run, previous, last_seq, last_hash, RunStatus(status).final, unread)
            at = found[at].previous_run_id
        return list(reversed(found.values()))

    async def tainted(self, workflow_id: str) -> builtins.list[str]:
        """Return the distinct outside sources read by the runs of a workflow, on all its branches."""
        rows = await self._store.query(
            "SELECT VALUE tainted FROM run WHERE workflow = $workflow AND tainted != []",
            workflow=record("workflow", workflow_id),
        )
        return list(dict.fromkeys(name for names in rows for name in names))

    async def deleted(self, workflow_id: str) -> set[str]:
        """Return the runs of a workflow's deleted branches."""
        rows = await self._store.query(
            "SELECT VALUE record::id(id) FROM run WHERE workflow = $workflow AND deleted_at != NONE",
            workflow=record("workflow", workflow_id),
        )
        return set(rows)

    async def alive(self) -> builtins.list[Run]:
        """Return runs without a final status, oldest first."""
        return await self._select("WHERE status IN $alive ORDER BY created_at, id", alive=_ALIVE)

    async def children(self, run_id: str) -> builtins.list[Run]:
        """Return the runs of a run's sub-agents, oldest first."""
        return await self._select("WHERE parent_run = $parent ORDER BY created_at, id", parent=record("run", run_id))

    async def teams(self, root_run_ids: Sequence[str]) -> builtins.list[Run]:
        """Return some root runs and all runs below them, oldest first; one query at any depth."""
        if not root_run_ids:
            return []
        return await self._select("WHERE correlation_id IN $roots ORDER BY created_at, id", roots=list(root_run_ids))

    async def deleted_before(self, moment: datetime) -> builtins.list[Run]:
        """Return runs of branches that were deleted at or before ``moment``."""
        return await self._select("WHERE deleted_at != NONE AND deleted_at <= $moment", moment=moment)

    async def purge(self, run_ids: Sequence[str], spent: Sequence[UsageRecord] = ()) -> None:
        """Delete runs with all their rows in one transaction. No other run may follow one of them.

        ``spent`` is their usage, which is kept.
        """
        if not run_ids:
            return
        runs = [record("run", each) for each in run_ids]
        removed: list[Change] = [RequestsRemoved(tuple(run_ids))]
        for kind in ("message", "tool_execution"):
            ids = await self._store.query(f"SELECT VALUE record::id(id) FROM {kind} WHERE run IN $runs", runs=runs)  # noqa: S608
            removed.append(RemovedDocument(kind, tuple(ids)))
        statements = [
            Statement(f"DELETE {name} WHERE run IN $runs RETURN NONE", {"runs": runs})
            for name in ("message", "tool_execution", "user_question", "approval_request")
        ]
        statements += [
            # With IN the engine silently deletes nothing through an index of two columns.
            Statement("FOR $run IN $runs { DELETE run_event WHERE run = $run RETURN NONE }", {"runs": runs}),
            Statement(
                (
                    "FOR $home IN array::distinct($runs.workflow) { DELETE audit WHERE workflow = $home AND run IN "
                    "$runs "
                    "RETURN NONE }"
                ),
                {"runs": runs},
            ),
            Statement("DELETE $partial RETURN NONE", {"partial": [record("partial_reply", each) for each in run_ids]}),
            Statement("DELETE $runs RETURN NONE", {"runs": runs}, tuple(removed)),
            *save_usage(spent),
        ]
        await self._store.write(*statements)
        self._store.last_hashes.clear()

    async def save(self, run: Run) -> None:
        """Insert or replace a run's row, except the columns that the journal maintains.

        Raises:
            NotFoundError: its workflow is gone.
        """
        row = self.table.encode(run)
        statement = Statement("UPSERT $row MERGE $content RETURN NONE", {"row": row["id"], "content": row})
        await self._store.write(guard(run.workflow_id), statement)


class JournalRepository:
    """The journal: events in order, appended only through ``commit``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def commit(self, commit: Commit) -> None:
        """Write everything of a commit in one transaction; returns when it is durable.

        Raises:
            NotFoundError: the workflow is gone.
            StorageError: nothing was kept; an event number that already exists in its run is refused.
        """
        before = await self._last_hashes(commit)
        last = dict(before)
        written = statements(commit, last)
        if not written:
            return
        try:
            await self._store.write(*written)
        except BaseException:
            for owner in last:  # it may have been kept nevertheless
                self._store.last_hashes.pop(owner, None)
            raise
        self._store.remember_hashes(last)

    async def _last_hashes(self, commit: Commit) -> dict[str, bytes]:
        """Return the hash of the newest event by run, and by workflow for events of no run."""
        known = self._store.last_hashes
        wanted = chained(commit)
        unknown = [each for each in wanted if each not in known]
        if unknown:
            rows = [record(table, each) for each in unknown for table in ("run", "workflow")]
            found = await self._store.query("SELECT VALUE [record::id(id), last_hash] FROM $rows", rows=rows)
            known = {**known, **dict(found)}
        return {each: last for each in wanted if (last := known.get(each)) is not None}

    async def events(self, run_id: str, after: int = 0, limit: int = 1000) -> list[RunEvent]:
        """Return events of a run with a number above ``after``, in order.

        Raises:
            StorageError: ``damaged_row``: an event is missing or changed.
        """
        run = record("run", run_id)
        select = f"SELECT {EVENT_COLUMNS} FROM run_event WHERE run = $run AND seq > $after ORDER BY seq LIMIT $limit"  # noqa: S608
        # In one statement: a commit may happen between two.
        text = f"RETURN [(SELECT id, workflow, last_hash FROM $run), ({select})]"  # noqa: S608
        with_name = self._naming([run_id], after)
        runs, rows = (await with_name(self._store.query_all(text, run=run, after=after, limit=page_size(limit))))[0]
        EVENTS.open(rows)
        chain = Chain(after)
        found = [each for each in map(chain.check_next, rows) if each is not None]
        if len(rows) < limit and runs and (rows or not after) and (missing := chain.end(runs[0])):
            found.append(missing)
        if found:
            raise damaged(found)
        return list(map(EVENTS.decode_intact, rows))

    async def journals(self, run_ids: Sequence[str]) -> dict[str, list[RunEvent]]:
        """Return all events of some runs, each in order.

        Raises:
            StorageError: ``damaged_row``: an event is missing or changed.
        """
        runs = [record("run", each) for each in run_ids]
        # Before the events: more may be added meanwhile.
        known = await self._store.query("SELECT id, workflow, last_hash FROM $runs", runs=runs)
        with_name = self._naming(run_ids)
        rows: list[dict[str, Any]] = []
        while True:
            text = (
                f"SELECT {EVENT_COLUMNS} FROM run_event WHERE run IN $runs "  # noqa: S608
                "ORDER BY stream_from, seq LIMIT $limit START $offset"
            )
            page = await with_name(self._store.query(text, runs=runs, limit=LIST_MAX, offset=len(rows)))
            rows += page
            if len(page) < LIST_MAX:
                break
        of_run: dict[str, list[dict[str, Any]]] = {run_id: [] for run_id in run_ids}
        for row in rows:
            of_run.setdefault(row["run"].id, []).append(row)
        found: list[Damage] = []
        for run_row in known:
            chain, last = Chain(), run_row.get("last_hash")
            events = of_run[run_row["id"].id]
            events.sort(key=lambda row: row["seq"])
            EVENTS.open(events)
            found += [each for each in map(chain.check_next, events) if each is not None]
            if last not in [row.get("hash") for row in events] and (missing := chain.end(run_row)):
                found.append(missing)
        if found:
            raise damaged(found)
        return {run_id: list(map(EVENTS.decode_intact, events)) for run_id, events in of_run.items()}

    def _naming(self, run_ids: Sequence[str], after: int = 0) -> Callable[[Awaitable[T]], Awaitable[T]]:
        """Return a wrapper that identifies which event of some runs the engine cannot read."""

        async def read(rows: Awaitable[T]) -> T:
            try:
                return await rows
            except StorageError as error:
                if error.code != CODE:
                    raise
                for run_id in run_ids:
                    if (found := await unreadable_event(self._store.query_all, run_id, after)) is not None:
                        raise damaged([found]) from error
                raise

        return read

    async def events_before(self, run_id: str, seq: int) -> list[RunEvent]:
        """Return the readable events of a run before the damaged number ``seq``, in order."""
        rows = await self._store.query(
            f"SELECT {EVENT_COLUMNS} FROM run_event WHERE run = $run AND seq < $seq ORDER BY seq",  # noqa: S608
            run=record("run", run_id),
            seq=seq,
        )
        return EVENTS.decode_all(rows)

    async def runless_events(self, workflow_id: str) -> list[RunEvent]:
        """Return the readable events of a workflow that belong to no run, in order."""
        text = f"SELECT {EVENT_COLUMNS} FROM run_event WHERE run = NONE AND workflow = $workflow ORDER BY stream_from"  # noqa: S608
        try:
            rows = await self._store.query(text, workflow=record("workflow", workflow_id))
        except StorageError as error:
            if error.code != CODE:
                raise
            return []
        return EVENTS.decode_all(row for row in rows if EVENTS.is_intact(row))

    async def workflow_events(self, workflow_id: str, after_stream: int = 0, limit: int = 1000) -> list[RunEvent]:
        """Return events of a workflow and its runs with a ``stream_from`` above ``after_stream``, in order.

        ``limit`` may be over ``limits.LIST_MAX``: a reader needs more rows at a time where so many have one number.
        """
        return EVENTS.decode_all(
            await self._store.query(
                f"SELECT {EVENT_COLUMNS} FROM run_event WHERE workflow = $workflow AND stream_from > $after "  # noqa: S608
                "ORDER BY stream_from, seq LIMIT $limit",
                workflow=record("workflow", workflow_id),
                after=max(0, after_stream),
                limit=limit,
            )
        )

    async def of_runs(
        self, run_ids: Sequence[str], *, types: Sequence[str] = (), offset: int = 0, limit: int = 1000
    ) -> list[RunEvent]:
        """Return events of several runs in the order of the workflow's stream; of all types if none is named."""
        if not run_ids:
            return []
        kinds = " AND type IN $types" if types else ""
        return EVENTS.decode_all(
            await self._store.query(
                f"SELECT {EVENT_COLUMNS} FROM run_event WHERE run IN $runs{kinds} "  # noqa: S608
                "ORDER BY stream_from, seq LIMIT $limit START $offset",
                runs=[record("run", each) for each in run_ids],
                types=list(types),
                limit=page_size(limit),
                offset=offset,
            )
        )

    async def of_type(self, workflow_id: str, type: str, *, offset: int = 0, limit: int = 1000) -> list[RunEvent]:
        """Return events of one type in a workflow and its runs, in order."""
        return EVENTS.decode_all(
            await self._store.query(
                f"SELECT {EVENT_COLUMNS} FROM run_event WHERE workflow = $workflow AND type = $type "  # noqa: S608
                "ORDER BY stream_from, seq LIMIT $limit START $offset",
                workflow=record("workflow", workflow_id),
                type=type,
                limit=page_size(limit),
                offset=offset,
            )
        )

    async def save_partial(
        self,
        run_id: str,
        workflow_id: str,
        message_id: str,
        content: str,
        reasoning: str,
        usage: Usage | None = None,
        spent: UsageRecord | None = None,
    ) -> None:
        """Save the part of a reply received so far, with an estimate of its usage; one per run. It counts as ``spent``
        until ``Commit.settled``.

        Raises:
            NotFoundError: the workflow is gone.
        """
        row = {
            "workflow": record("workflow", workflow_id),
            "message_id": message_id,
            "content": content,
            "reasoning": reasoning,
            "usage": (usage or Usage()).model_dump_json(),
            "updated_at": self._store.clock.now(),
        }
        statement = Statement(
            "UPSERT $row CONTENT $content RETURN NONE", {"row": record("partial_reply", run_id), "content": row}
        )
        counted = [save_sent(SentKey(run_id, OWN), spent)] if spent is not None else []
        await self._store.write(guard(workflow_id), statement, *counted)

    async def partial(self, run_id: str) -> dict[str, Any] | None:
        """Return the partial reply of a run.

        ``run_id``, ``workflow_id``, ``message_id``, ``content``, ``reasoning``, ``usage``, ``updated_at``.
        """
        rows = await self._store.query("SELECT * FROM $row", row=record("partial_reply", run_id))
        if not rows:
            return None
        row = rows[0]
        return {
            "run_id": run_id,
            "workflow_id": row["workflow"].id,
            "message_id": row["message_id"],
            "content": row["content"],
            "reasoning": row["reasoning"],
            "usage": Usage.model_validate_json(row["usage"]),
            "updated_at": plain_time(row["updated_at"]),
        }
