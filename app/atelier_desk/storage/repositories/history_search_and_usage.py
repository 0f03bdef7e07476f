"""Search through everything that was said and done, and sums of what it used: the index of the history and what keeps
it up to date.

Each commit lists its changes (``Statement.changes``); a task adds them to the index, and a search first waits for it.
The index stores the number of the last commit it has seen. If that number differs from the database's, as after a kill,
a restore or a deleted file, the workflows with newer events are read again; all of them if the index is empty.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from typing import Any, NamedTuple, TypeVar

from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.domain.workflow import Message, ToolExecution
from atelier_desk.storage import tables
from atelier_desk.storage.compressed_text import readable
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.lock import shielded
from atelier_desk.storage.repositories.base_repository import page_size
from atelier_desk.storage.repositories.reports import ReportRepository
from atelier_desk.storage.repositories.usage_totals import requests_of_workflow
from atelier_desk.storage.row_mapping import Table, plain_time, record
from atelier_desk.storage.search import request_usage_tables
from atelier_desk.storage.search.full_text_index import REMOVED, IndexMatch, SearchIndex
from atelier_desk.storage.search.index_changes import (
    COLUMNS,
    TIMES,
    Change,
    Document,
    RemovedDocument,
    WorkflowAt,
    WorkflowRemoved,
    document,
    documents,
    micros,
)
from atelier_desk.storage.search_terms import excerpt, matching_values
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.sent_request_keys import ID_PREFIX
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import _
from atelier_desk.support.threads import in_storage_thread

T = TypeVar("T")
_log = logging.getLogger(__name__)
PAGE = 200
"""Rows read at a time."""
SPARE = 10
"""Additional matches to fetch first: some may belong to a workflow in the bin."""
PAGES = 50
"""Maximum number of pages that a search reads to find rows it may show."""
READ_BYTES = 64 * 1024 * 1024
"""About so many bytes of the database are read between two times when their memory is given back."""
FEW_UNREAD = 20
"""Workflows that are read into the index while somebody waits for a sum."""
CLOCKS_DIFFER = timedelta(days=1)
"""A workflow may have changed this much before its newest event by the clock of that time."""
COMMIT = "commit"
"""Name of the last commit's number in the state of the index."""
DATABASE = "database"
"""The name of the time at which the database was made, in the state of the index."""
DELETED_USAGE = "spent"
"""The name of how many rows told what deleted runs had used when the index was last read again, in its state."""
GATHER_S = 30.0
"""Seconds that changes wait for more, so that commits made together are one write of the index. A search does not wait.

Each write costs some 25 pages of the file, whatever is in it: 59 kB for a run written alone, 18 kB each for 20 runs
written together, 10 kB for 100.
"""
GATHER_REMOVED_S = 2.0
"""The same for what is deleted: its words are not to stay in the file for long."""
GATHER_MAX = 1_000
"""Number of changes that wait no longer: some 70 runs, which a search then has to add in some 0.2 s."""
_SAME_TIME = 1_000
"""Microseconds by which a row's position may follow its time: rows with equal times are spread."""


class SearchHit(NamedTuple):
    """One place where all search words were found.

    Attributes:
        kind: ``message``, ``tool_execution``, ``report`` or ``memory``.
        workflow_id: empty, like its name, for a general memory.
        seq: position of a message in its workflow, 0 for other kinds.
        excerpt: text around the first match, with its line breaks, as Markdown if it was written so; for a call, its
            matching input and output values.
        at: when it was said, done or last changed.
        run_id: for a message or a call, its run.
        message_id: for a message its own id, for a call the id of the reply that made it; otherwise empty.
        who: for a message, the agent's name; empty for messages to an agent.
        to: for messages to a sub-agent, by a person or its parent, the sub-agent's name.
        tool, presentation: for a call, its tool's internal name, and its icon and title for people.
    """

    kind: str
    workflow_id: str
    workflow_name: str
    row_id: str
    seq: int
    excerpt: str
    at: datetime
    run_id: str = ""
    message_id: str = ""
    who: str = ""
    tool: str = ""
    presentation: Presentation = Presentation()
    to: str = ""


_SHOWN = {
    "message": "workflow, run, seq, content, agent_name, created_at AS at",
    "report": "workflow, 0 AS seq, name AS text, updated_at AS at",
    "memory": "workflow, 0 AS seq, content AS text, updated_at AS at",
    "tool_execution": (
        "workflow, run, 0 AS seq, message_id, tool, presentation, arguments, result, error, started_at AS at"
    ),
}

_TABLES: dict[str, Table[Message] | Table[ToolExecution]] = {
    "message": tables.MESSAGES,
    "tool_execution": tables.EXECUTIONS,
}
_HASHED = {kind: f", {_TABLES[kind].columns}" if kind in _TABLES else "" for kind in _SHOWN}
"""Columns needed to check whether a matching row is undamaged."""


class HistoryRepository:
    """The search and its index.

    Attributes:
        reading: number of workflows read and their total while the index catches up; None otherwise.
    """

    def __init__(self, store: Store, datadir: DataDir, reports: ReportRepository) -> None:
        self._store = store
        self._reports = reports
        self._path = datadir.history_index if store.path is not None else None
        self._index: SearchIndex | None = None
        self._turn = asyncio.Lock()
        self._catching_up = asyncio.Lock()
        self._queue: list[Change] = []
        self._opened_at = store.commits
        self._current = False
        self._lost = False  # some commit of a catching up is not in the index
        self._changed: set[tuple[str, str]] = set()
        self._worker: asyncio.Task[None] | None = None
        self._now = asyncio.Event()
        self.reading: tuple[int, int] | None = None
        store.follow(self)

    def committed(self, changes: Sequence[Change] | None) -> None:
        """Called by the store after each commit; None if it is unknown whether the commit was kept."""
        if changes is None:
            self._lost = True
            self._current = False
            self._opened_at = -1
            return
        if not changes:
            return
        self._queue += changes
        if self._catching_up.locked() and not self._current:
            self._changed.update(_key(each) for change in changes for each in _single(change))
        if self._worker is None or self._worker.done():
            self._start_worker()
        if len(self._queue) >= GATHER_MAX:
            self._now.set()
        elif any(isinstance(each, RemovedDocument | WorkflowRemoved) for each in changes):
            asyncio.get_running_loop().call_later(GATHER_REMOVED_S, self._now.set)

    def _start_worker(self) -> None:
        self._now.clear()
        self._worker = background_tasks.start(self._work(), "history index")

    async def close(self) -> None:
        """Index pending changes and close the file. Called by the store."""
        await self._index_changes()
        if self._index is not None:
            if self._current:
                await self._note_commit()
            await in_storage_thread(self._index.close)

    async def bring_up_to_date(self) -> None:
        """Read what the index lacks; returns at once if it is up to date.

        Raises:
            StorageError: the index or the database cannot be read.
        """
        async with self._catching_up:
            if self._current:
                return
            self._changed.clear()  # what is committed from here on is newer than what is read below
            self._lost = False
            state = await self._in_turn(lambda index: index.state())
            made = await self._database_made()
            if state.get(DATABASE, made) != made:
                await self._clear()
            if state.get(DATABASE) != made or state.get(COMMIT) != str(self._opened_at):
                await self._read_again()
                deleted = await self._deleted()
                if deleted != state.get(DELETED_USAGE, "0"):
                    await self._leave_out_runs()
                    await self._in_turn(lambda index: index.apply((), {DELETED_USAGE: deleted}))
            if REMOVED in await self._in_turn(lambda index: index.state()):
                await self._in_turn(lambda index: index.wipe())
            self._current = not self._lost
            self._changed.clear()
            await self._in_turn(lambda index: index.apply((), {DATABASE: made}))
            await self._note_commit()

    async def search(self, text: str, limit: int = 50) -> builtins.list[SearchHit]:
        """Return where all words of a text occur in messages, reports, memories, and tool input and output; newest
        first.

        Words match by their stem; if there are too few matches, also inside longer words. Stop words count only if the
        text has no others. Workflows in the bin and deleted branches are skipped.

        Raises:
            StorageError: ``no_fts5``: this Python has no full-text search; otherwise the index or the database cannot
                be read.
        """
        page_size(limit)
        return await self._repaired(partial(self._search, text, limit))

    async def usage(
        self, since: datetime | None = None, zone: tzinfo | None = None
    ) -> builtins.list[request_usage_tables.UsageTotal]:
        """What requests of runs that are there used since then, by day, workflow, agent and model. Days are those of
        ``zone``, by default of this machine.

        Raises:
            StorageError: as ``search``.
        """

        def day_of(time: int) -> date:
            return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)).astimezone(zone).date()

        return await self._repaired(
            partial(
                self._sum, lambda db: request_usage_tables.totals(db, micros(since) if since is not None else 0, day_of)
            )
        )

    async def leaves_out(self, since: datetime | None = None) -> bool:
        """Whether requests since then are in no sum of ``usage``, because they came with imported workflows.

        Raises:
            StorageError: as ``search``.
        """
        time = micros(since) if since is not None else 0
        return await self._repaired(partial(self._sum, lambda db: request_usage_tables.leaves_out(db, time)))

    async def cost(self, since: datetime, gone: Sequence[request_usage_tables.Request] = ()) -> tuple[float, float]:
        """US dollars that requests of runs that are there, and those of ``gone``, cost since then, and how much of it
        is estimated; those of a copy of a workflow count once.

        It does not wait for an index that lacks much, as after an upgrade: then the journal is asked for the requests
        of that time alone.

        Raises:
            StorageError: as ``search``.
        """
        if not self._current and len(await self._repaired(self._unread)) > FEW_UNREAD:
            return await self._cost_in_journal(since, gone)
        return await self._repaired(partial(self._sum, lambda db: request_usage_tables.cost(db, micros(since), gone)))

    async def _cost_in_journal(
        self, since: datetime, gone: Sequence[request_usage_tables.Request]
    ) -> tuple[float, float]:
        changed = await self._store.query(
            "SELECT VALUE record::id(id) FROM workflow WHERE updated_at >= $since", since=since - CLOCKS_DIFFER
        )
        with contextlib.closing(sqlite3.connect(":memory:", check_same_thread=False)) as db:
            db.executescript(request_usage_tables.TABLES)
            for workflow_id in changed:
                for change in await requests_of_workflow(self._store, workflow_id, since):
                    request_usage_tables.apply(db, change)
            return request_usage_tables.cost(db, micros(since), gone)

    async def _sum(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        await self.bring_up_to_date()
        await self._index_changes()
        return await self._in_turn(lambda index: index.read(ask))

    async def _repaired(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What the index is asked; once more of a new one when it is damaged."""
        try:
            return await ask()
        except StorageError as error:
            if error.code != "index":
                raise
            _log.warning("the search index is made anew: %s", error)
            await self._clear()
            return await ask()

    async def _search(self, text: str, limit: int) -> builtins.list[SearchHit]:
        await self.bring_up_to_date()
        await self._index_changes()
        hits: dict[tuple[str, str], SearchHit] = {}
        for parts in (False, True):
            before: int | None = None
            for page in range(PAGES):
                if len(hits) >= limit:
                    break
                size = PAGE if page else limit + SPARE
                found = await self._in_turn(
                    partial(SearchIndex.find, query=text, limit=size, before=before, parts=parts)
                )
                new = [each for each in found if (each.kind, each.id) not in hits]
                for hit in (await self._shown(new, text))[: limit - len(hits)]:
                    hits[hit.kind, hit.row_id] = hit
                if len(found) < size:
                    break
                before = found[-1].place
        return sorted(hits.values(), key=lambda hit: hit.at, reverse=True)

    async def _shown(self, found: Sequence[IndexMatch], wanted: str) -> builtins.list[SearchHit]:
        """Return the visible matches, in their order."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for kind, columns in _SHOWN.items():
            ids = [record(kind, each.id) for each in found if each.kind == kind]
            if ids:
                for row in await self._store.query(f"SELECT id, {columns}{_HASHED[kind]} FROM $rows", rows=ids):  # noqa: S608
                    rows[kind, row["id"].id] = row
        names = await self._names({row["workflow"].id for row in rows.values() if row.get("workflow") is not None})
        runs = await self._runs({row["run"].id for row in rows.values() if row.get("run") is not None})
        hits = []
        for each in found:
            row = rows.get((each.kind, each.id))
            if row is None or (row.get("workflow") is not None and row["workflow"].id not in names):
                continue
            if row.get("run") is not None and runs.get(row["run"].id, {}).get("gone"):
                continue
            hits.append(_hit(each.kind, row, names, runs, wanted))
        return hits

    async def _runs(self, ids: set[str]) -> dict[str, dict[str, object]]:
        """Return agent and depth of these runs, and whether their branch was deleted (``gone``)."""
        rows = await self._store.query(
            "SELECT id, agent_name, depth, deleted_at != NONE AS gone FROM $rows",
            rows=[record("run", each) for each in sorted(ids)],
        )
        return {row["id"].id: row for row in rows}

    async def _names(self, ids: set[str]) -> dict[str, str]:
        """Return the names of those workflows that are not in the bin."""
        rows = await self._store.query(
            "SELECT id, name FROM $rows WHERE deleted = false", rows=[record("workflow", each) for each in sorted(ids)]
        )
        return {row["id"].id: row["name"] for row in rows}

    async def _in_turn(self, work: Callable[[SearchIndex], T]) -> T:
        """Open the index if needed and use it in a thread, one call at a time: a cancelled one is waited for."""

        def use() -> T:
            if self._index is None:
                self._store.verify()  # do not write to another folder in place of one that was moved
                self._index = SearchIndex(self._path)
            return work(self._index)

        async with self._turn:
            return await shielded(use)

    async def _clear(self) -> None:
        """Empty the index; everything is read again."""
        async with self._turn:
            self._current = False
            self._opened_at = -1
            self._changed.clear()  # later commits are indexed after this
            if self._index is not None:
                await shielded(self._index.clear)

    async def _index_changes(self) -> None:
        """Wait until all changes committed so far are indexed."""
        for _round in range(2):  # a write that has begun lacks what was committed since
            if self._worker is not None and not self._worker.done():
                self._now.set()
                await asyncio.shield(self._worker)

    async def _work(self) -> None:
        """Index what is committed in a while. After a failure the index stays behind; the next search repairs it."""
        if len(self._queue) < GATHER_MAX:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GATHER_S):
                    await self._now.wait()
        changes, self._queue = self._queue, []
        try:
            await self._in_turn(partial(SearchIndex.apply, changes=changes))
        except StorageError as error:
            self._lost = True
            self._current = False
            self._opened_at = -1
            _log.warning("the search index is behind: %s", error)
        if self._queue:
            self._start_worker()

    async def _note_commit(self) -> None:
        """Record that the index includes the newest commit."""
        await self._index_changes()
        number = str(self._store.commits)
        if self._current and not self._queue and (self._worker is None or self._worker.done()):
            try:
                await self._in_turn(lambda index: index.apply((), {COMMIT: number}))
            except StorageError as error:
                _log.warning("the search index is read anew at the next start: %s", error)

    async def _database_made(self) -> str:
        rows = await self._store.query("SELECT VALUE applied_at FROM schema_version:`14`")
        return plain_time(rows[0]).isoformat() if rows and rows[0] is not None else ""

    async def _deleted(self) -> str:
        """Rises with each deletion of runs that used something."""
        rows = await self._store.query(
            "SELECT VALUE count FROM (SELECT count() FROM spent WHERE record::id(id)[0] != $sent GROUP ALL)",
            sent=ID_PREFIX,
        )
        return str(rows[0] if rows else 0)

    async def _leave_out_runs(self) -> None:
        """Take out requests of runs that are gone, which no event of a workflow tells."""
        there = set(await self._store.query("SELECT VALUE record::id(id) FROM run"))
        known = await self._in_turn(lambda index: index.read(request_usage_tables.runs))
        await self._apply([request_usage_tables.RequestsRemoved(tuple(known - there))])

    async def _workflows(self) -> dict[str, int]:
        """The number of the newest stream event by workflow."""
        return dict(await self._store.query("SELECT VALUE [record::id(id), stream_seq] FROM workflow"))

    async def _unread(self) -> builtins.list[str]:
        """Workflows with events that the index does not have."""
        state = await self._in_turn(lambda index: index.state())
        known = await self._in_turn(lambda index: index.workflows())
        if (made := await self._database_made()) != state.get(DATABASE, made):
            known = {}
        elif state.get(DATABASE) == made and state.get(COMMIT) == str(self._opened_at):
            return []
        return [each for each, seq in (await self._workflows()).items() if known.get(each, 0) != seq]

    async def _read_again(self) -> None:
        known = await self._in_turn(lambda index: index.workflows())
        there = await self._workflows()
        await self._apply([WorkflowRemoved(each) for each in sorted(known.keys() - there.keys())])
        new = [each for each, seq in there.items() if known.get(each, 0) != seq]
        # Parts of the database after which the memory of what was read is given back.
        parts = round(self._store.size * len(new) / max(1, len(there)) / READ_BYTES)
        try:
            for number, workflow_id in enumerate(new, 1):
                self.reading = (number - 1, len(new))
                for kind in ("message", "tool_execution"):
                    await self._read_workflow(kind, workflow_id)
                await self._apply(await requests_of_workflow(self._store, workflow_id))
                await self._apply([WorkflowAt(workflow_id, there[workflow_id])])
                if parts * number // len(new) > parts * (number - 1) // len(new):
                    await self._store.release_read_memory()
            for kind in ("memory", "report"):
                await self._read_by_time(kind)
        finally:
            self.reading = None

    async def _read_workflow(self, kind: str, workflow_id: str) -> None:
        seen: set[str] = set()
        start = 0
        while True:
            rows = await self._store.query(
                (
                    f"SELECT id, workflow, {TIMES[kind]}, {COLUMNS[kind]} FROM {kind} WHERE workflow = $workflow LIMIT "  # noqa: S608
                    f"$limit START $start"
                ),
                workflow=record("workflow", workflow_id),
                limit=PAGE,
                start=start,
            )
            seen.update(row["id"].id for row in rows)
            await self._apply(documents(kind, rows))
            if len(rows) < PAGE:
                break
            start += PAGE
        old = await self._in_turn(lambda index: index.ids(kind, workflow_id))
        await self._apply([RemovedDocument(kind, tuple(old - seen))])

    async def _read_by_time(self, kind: str) -> None:
        """Read the rows of a kind without events whose time the index does not have."""
        places = await self._in_turn(lambda index: index.times(kind))
        rows = await self._store.query(f"SELECT id, {TIMES[kind]} AS at FROM {kind}")  # noqa: S608
        await self._apply([RemovedDocument(kind, tuple(places.keys() - {row["id"].id for row in rows}))])
        new = [
            row["id"]
            for row in rows
            if not 0 <= places.get(row["id"].id, -1) - micros(plain_time(row["at"])) < _SAME_TIME
        ]
        for start in range(0, len(new), PAGE):
            found = await self._store.query(
                f"SELECT id, workflow, {TIMES[kind]}, {COLUMNS[kind]} FROM $rows",  # noqa: S608
                rows=new[start : start + PAGE],
            )
            await self._apply([document(kind, row, *(await self._text_of(kind, row))) for row in found])

    async def _text_of(self, kind: str, row: dict[str, Any]) -> tuple[str, ...]:
        """Return the text of a report from its file; nothing if it cannot be read."""
        if kind != "report":
            return ()
        try:
            return (await self._reports.read(row["workflow"].id, row["name"], check=False),)
        except AtelierError:
            return ()

    async def _apply(self, changes: Sequence[Change]) -> None:
        """Index what was read, except rows that a commit has changed meanwhile."""
        left = [each for change in changes for each in _single(change) if _key(each) not in self._changed]
        await self._in_turn(lambda index: index.apply(left))


def _single(change: Change) -> Sequence[Change]:
    return (
        [RemovedDocument(change.kind, (each,)) for each in change.ids]
        if isinstance(change, RemovedDocument)
        else [change]
    )


def _key(change: Change) -> tuple[str, str]:
    """Identify the row that a change concerns."""
    match change:
        case Document():
            return change.kind, change.id
        case RemovedDocument():
            return change.kind, change.ids[0]
        case WorkflowRemoved() | WorkflowAt():
            return "workflow", change.workflow_id
        case request_usage_tables.RequestsRemoved():
            return "requests removed", change.workflow_id
        case _:
            return type(change).__name__, f"{change.run_id} {getattr(change, 'seq', '')}"


def _hit(
    kind: str, row: dict[str, Any], names: dict[str, str], runs: dict[str, dict[str, Any]], wanted: str
) -> SearchHit:
    workflow = row["workflow"].id if row.get("workflow") is not None else ""
    call = kind == "tool_execution"
    run = runs.get(row["run"].id, {}) if row.get("run") is not None else {}
    whole = kind not in _TABLES or _TABLES[kind].is_intact(row)
    row = readable(kind, row)
    said = row["content" if kind == "message" else "text"] if not call else ""
    text = matching_values((row["arguments"], row["error"], row.get("result") or ""), wanted) if call else said
    if not whole:
        text = _("This entry cannot be shown because its record in the data folder is damaged.")
    return SearchHit(
        kind,
        workflow,
        names.get(workflow, ""),
        row["id"].id,
        row["seq"],
        excerpt(text, wanted),
        plain_time(row["at"]),
        run_id=row["run"].id if row.get("run") is not None else "",
        message_id=row["message_id"] if call else row["id"].id if kind == "message" else "",
        who=row.get("agent_name") or "",
        tool=row["tool"] if call else "",
        presentation=Presentation.model_validate_json(row["presentation"] or "{}") if call else Presentation(),
        to=run.get("agent_name") or "" if kind == "message" and not row.get("agent_name") and run.get("depth") else "",
    )
