"""The journal of the runs, and the reply being received."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.limits import LIST_MAX
from atelier_desk.domain.model_messages import Usage
from atelier_desk.storage.damage_report import CODE, Damage, damaged
from atelier_desk.storage.damaged_row_search import unreadable_event
from atelier_desk.storage.repositories.base_repository import guard, page_size
from atelier_desk.storage.repositories.usage_totals import UsageRecord, save_sent
from atelier_desk.storage.row_mapping import plain_time, record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.writing.commit_statements import chained, statements
from atelier_desk.storage.writing.event_rows import EVENT_COLUMNS, EVENTS, events_of_runs
from atelier_desk.storage.writing.hash_chain import Chain
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.storage.writing.sent_request_keys import OWN, SentKey

T = TypeVar("T")


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
                f"SELECT * FROM {events_of_runs()} "  # noqa: S608
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

        Where the limit ends the page, any events of its last number may be missing. ``limit`` may be over
        ``limits.LIST_MAX``: a reader needs more rows at a time where so many have one number.
        """
        rows = await self._store.query(
            f"SELECT {EVENT_COLUMNS} FROM run_event WHERE workflow = $workflow AND stream_from > $after "  # noqa: S608
            "ORDER BY stream_from LIMIT $limit",  # with a second column the engine sorts all rows up to the end
            workflow=record("workflow", workflow_id),
            after=max(0, after_stream),
            limit=limit,
        )
        return EVENTS.decode_all(sorted(rows, key=lambda row: (row["stream_from"], row["seq"])))

    async def of_runs(
        self, run_ids: Sequence[str], *, types: Sequence[str] = (), offset: int = 0, limit: int = 1000
    ) -> list[RunEvent]:
        """Return events of several runs in the order of the workflow's stream; of all types if none is named."""
        if not run_ids:
            return []
        source = events_of_runs("AND type IN $types" if types else "")
        return EVENTS.decode_all(
            await self._store.query(
                f"SELECT * FROM {source} "  # noqa: S608
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
