"""Find missing and changed rows, in one workflow or in the whole database."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import tables
from atelier_desk.storage.copies.bounded_memory_reading import BoundedReading
from atelier_desk.storage.copies.progress_and_cancellation import no_progress
from atelier_desk.storage.damage_report import CHANGED, CODE, MISSING, Damage, of_row
from atelier_desk.storage.damaged_configuration import damaged_configuration
from atelier_desk.storage.row_hash import named_in
from atelier_desk.storage.row_mapping import HASHED_TABLES, M, Table, record
from atelier_desk.storage.table_pages import Run, count_rows, rows_after
from atelier_desk.storage.writing.event_rows import EVENT_COLUMNS, EVENTS
from atelier_desk.storage.writing.hash_chain import FIRST, Chain

Row = Mapping[str, Any]
PAGE = 200
_LEAST = -(2**62)
_NAMED: tuple[Table[Any], ...] = (tables.MESSAGES, tables.EXECUTIONS)
"""Tables whose rows are named by events."""


class Store(Protocol):
    """The part of the store that is needed here; the store itself imports this module."""

    async def query_all(self, sql: str, /, **params: object) -> list[object]: ...

    def bounded_reading(self) -> BoundedReading: ...

    def quiet(self) -> AbstractAsyncContextManager[None]: ...


class _Named(NamedTuple):
    """What the newest event that names a row says about it."""

    hash: bytes
    run: str
    seq: int


async def damaged_in(store: Store, workflow_id: str, seen: Counter[str] | None = None) -> list[Damage]:
    """Return the damaged rows of a workflow, the journal's first.

    Agents may work meanwhile: rows that look damaged are checked again while writes are held back. ``seen`` counts the
    rows that were read, by table.

    Raises:
        StorageError: the database could not be read, for another reason than a damaged row.
    """
    if not await _Check(store.query_all, workflow_id, Counter() if seen is None else seen).run():
        return []
    async with store.quiet():
        return await _Check(store.query_all, workflow_id, Counter()).run()


async def damaged_anywhere(store: Store, progress: Callable[[int, int], None] | None = None) -> list[Damage]:
    """Return the damaged rows of all workflows. ``progress`` is called with the number checked and the total."""
    reading = store.bounded_reading()

    async def check(workflow_id: str, seen: Counter[str]) -> list[Damage]:
        await reading.give_back()
        return await damaged_in(store, workflow_id, seen)

    return await _everywhere(reading.run, check, reading.following(progress or no_progress))


async def damaged_rows(run: Run, progress: Callable[[int, int], None] | None = None) -> list[Damage]:
    """Like ``damaged_anywhere`` for a database that nobody writes to."""

    async def check(workflow_id: str, seen: Counter[str]) -> list[Damage]:
        return await _Check(run, workflow_id, seen).run()

    return await _everywhere(run, check, progress)


async def unreadable_event(run: Run, run_id: str, after: int) -> Damage | None:
    """Return the first event of a run, above a number, that the engine cannot read; None if it can read all."""
    seq = after
    while True:
        seq += 1
        row, damage = await _one_event(run, run_id, seq)
        if row is None:
            return damage


async def _everywhere(
    run: Run,
    look: Callable[[str, Counter[str]], Awaitable[list[Damage]]],
    progress: Callable[[int, int], None] | None,
) -> list[Damage]:
    ids = [each.id for each in (await run("SELECT VALUE id FROM workflow"))[0]]
    found: list[Damage] = []
    seen: Counter[str] = Counter()
    for number, workflow_id in enumerate(ids, 1):
        found += await look(workflow_id, seen)
        if progress:
            progress(number, len(ids))
    found += await damaged_configuration(run)
    for each in HASHED_TABLES.values():
        # All others are checked by workflow, or as configuration.
        if each.links and each not in (*_NAMED, tables.FRAMES):
            found += await _alone(run, each)
    try:
        owned = ("run", EVENTS.name, *(table.name for table in _NAMED))
        for table, count in (await count_rows(run, owned)).items():
            if seen[table] == count:
                continue  # all belong to a workflow that is there; the next query reads every row
            # Compared here: the engine would look through all workflows for every row.
            named = (await run(f"SELECT workflow FROM {table} GROUP BY workflow"))[0]  # noqa: S608
            for workflow_id in sorted({row["workflow"].id for row in named} - set(ids)):
                lost = Damage(workflow_id, "", "workflow", workflow_id, 0, MISSING)
                found += [lost] if lost not in found else []
    except StorageError:
        if not found:
            raise
    return found


async def _alone(run: Run, table: Table[M]) -> list[Damage]:
    found: list[Damage] = []
    after = record(table.name, "")
    text = f"SELECT {table.columns} FROM {rows_after(table.name, after)} ORDER BY id LIMIT {PAGE}"  # noqa: S608
    try:
        while rows := (await run(text, after=after))[0]:
            found += [of_row(table.name, row) for row in rows if not table.is_intact(row)]
            after = rows[-1]["id"]
    except StorageError as error:
        if "does not exist" in str(error):
            return found  # a table of a later version, in a folder about to be migrated
        if error.code != CODE:
            raise
        found.append(of_row(table.name, {"id": "?"}))
    return found


async def _one_event(run: Run, run_id: str, seq: int) -> tuple[Row | None, Damage | None]:
    """Return the event of a run with this number, or its damage if it is unreadable; two Nones if it does not exist."""
    text = f"SELECT {EVENT_COLUMNS} FROM run_event WHERE run = $run AND seq = $seq"  # noqa: S608
    try:
        rows = (await run(text, run=record("run", run_id), seq=seq))[0]
    except StorageError as error:
        if error.code != CODE:
            raise
        home = (await run("SELECT VALUE workflow FROM $run", run=record("run", run_id)))[0]
        return None, Damage(home[0].id if home else "", run_id, EVENTS.name, "", seq, CHANGED)
    return (rows[0], None) if rows else (None, None)


class _Check:
    """Check every row of one workflow once."""

    def __init__(self, run: Run, workflow_id: str, seen: Counter[str]) -> None:
        self._run = run
        self._id = workflow_id
        self._seen = seen
        self._found: list[Damage] = []
        self._named: dict[tuple[str, str], _Named] = {}
        self._chains: dict[str, Chain] = {}
        self._since_first: set[str] = set()
        """Runs whose first event has a hash, so that all their rows must have one."""
        self._broken: set[str] = set()
        self._runless: list[Row] = []
        """Events that belong to no run."""

    async def run(self) -> list[Damage]:
        """Return the damage."""
        home = record("workflow", self._id)
        try:
            runs = (
                await self._run("SELECT id, workflow, last_seq, last_hash FROM run WHERE workflow = $home", home=home)
            )[0]
            last = (await self._run("SELECT VALUE last_hash FROM $home", home=home))[0]
        except StorageError as error:
            if error.code != CODE:
                raise
            return [Damage(self._id, "", "workflow", self._id, 0, CHANGED)]
        self._seen["run"] += len(runs)
        await self._events({row["id"].id: row for row in runs})
        self._ends({row["id"].id: row for row in runs}, last[0] if last else None)
        for table in _NAMED:
            await self._rows(table)
        await self._frames()
        return self._found

    async def _events(self, runs: Mapping[str, Row]) -> None:
        try:
            async for row in self._pages(EVENTS.name, EVENT_COLUMNS, "stream_from"):
                self._add(row)
        except StorageError as error:
            if error.code != CODE:
                raise
            # The engine cannot read one row of a page, so read each alone.
            self._found, self._named, self._chains, self._runless = [], {}, {}, []
            for run_id, run_row in runs.items():
                for seq in range(1, run_row["last_seq"] + 1):
                    found, unreadable = await _one_event(self._run, run_id, seq)
                    if found is not None:
                        self._add(found)
                    elif unreadable is not None:
                        self._found.append(unreadable)
            if not self._found:
                self._found.append(Damage(self._id, "", EVENTS.name, "?", 0, CHANGED))

    def _add(self, row: Row) -> None:
        owner = row.get("run")
        if owner is None:
            self._runless.append(row)
            return
        chain = self._chains.setdefault(owner.id, Chain())
        if row["seq"] == 1 and row.get("hash") is not None:
            self._since_first.add(owner.id)
        damage = chain.check_next(row)
        if damage is not None:
            self._found.append(damage)
        if damage is None or damage.problem == MISSING:
            for table, key, digest in named_in(row.get("wrote")):
                self._named[table, key] = _Named(digest, owner.id, row["seq"])

    def _ends(self, runs: Mapping[str, Row], last: bytes | None) -> None:
        self._broken = broken = {damage.run for damage in self._found}
        for run_id in {**runs, **self._chains}:
            chain = self._chains.get(run_id, Chain())
            if run_id not in runs:
                if chain.hash is not None:
                    self._found.append(Damage(self._id, run_id, "run", run_id, 0, MISSING))
            elif chain.hash is not None and runs[run_id].get("last_hash") is None:
                self._found.append(Damage(self._id, run_id, "run", run_id, 0, CHANGED))
            elif run_id not in broken and (damage := chain.end(runs[run_id])) is not None:
                self._found.append(damage)
        following = {row["prev_hash"]: row for row in self._runless if row.get("hash") is not None}
        changed = [of_row(EVENTS.name, row) for row in self._runless if not EVENTS.is_intact(row)]
        at = FIRST
        while at in following:
            at = following.pop(at)["hash"]
        if not changed and not broken and (following or at != (last or FIRST)):
            changed.append(Damage(self._id, "", EVENTS.name, "", 0, MISSING))
        self._found += changed

    async def _rows(self, table: Table[M]) -> None:
        """Compare the rows of a table with the events that name them."""
        order = {"message": "back", "tool_execution": "recency"}[table.name]
        missing = {key: named for (of, key), named in self._named.items() if of == table.name}
        found: list[Damage] = []
        try:
            async for row in self._pages(table.name, table.columns, order):
                self._compare(table, row, missing, found)
        except StorageError as error:
            if error.code != CODE:
                raise
            found = await self._one_by_one(table, missing)
        found += [Damage(self._id, named.run, table.name, key, 0, MISSING) for key, named in missing.items()]
        self._found += found

    def _compare(self, table: Table[M], row: Row, missing: dict[str, _Named], found: list[Damage]) -> None:
        named = missing.pop(row["id"].id, None)
        run = row.get("run")
        unmarked = row.get("hash") is None and run is not None and run.id in self._since_first
        # Where an event is damaged, it may be the newest that named the row.
        other = named is not None and named.run not in self._broken and row.get("hash") != named.hash
        if not table.is_intact(row) or unmarked or other:
            found.append(of_row(table.name, row))

    async def _one_by_one(self, table: Table[M], missing: dict[str, _Named]) -> list[Damage]:
        """Like ``_rows`` where the engine cannot read a page.

        Unreadable rows that no event names cannot be identified.
        """
        missing |= {key: named for (of, key), named in self._named.items() if of == table.name}
        found: list[Damage] = []
        for key in list(missing):
            try:
                rows = (await self._run(f"SELECT {table.columns} FROM $row", row=table.record(key)))[0]  # noqa: S608
            except StorageError as error:
                if error.code != CODE:
                    raise
                found.append(Damage(self._id, missing.pop(key).run, table.name, key, 0, CHANGED))
                continue
            if rows:
                self._compare(table, rows[0], missing, found)
        return found or [Damage(self._id, "", table.name, "?", 0, CHANGED)]

    async def _frames(self) -> None:
        table = tables.FRAMES
        text = f"SELECT {table.columns} FROM {table.name} WHERE workflow = $home"  # noqa: S608
        try:
            rows = (await self._run(text, home=record("workflow", self._id)))[0]
        except StorageError as error:
            if error.code != CODE:
                raise
            self._found.append(Damage(self._id, "", table.name, "?", 0, CHANGED))
            return
        self._found += [of_row(table.name, row) for row in rows if not table.is_intact(row)]

    async def _pages(self, table: str, columns: str, key: str) -> AsyncIterator[Row]:
        """Yield the rows of the workflow by an index.

        Several rows may have the same position, events among them in the order of their numbers, and a damaged one any;
        each is yielded once. The engine is not asked for that order: it would sort all further rows at each page.
        """
        text = f"SELECT {columns} FROM {table} WHERE workflow = $home AND {key} >= $least ORDER BY {key} LIMIT $limit"  # noqa: S608
        seen: set[str] = set()
        least, limit = _LEAST, PAGE
        while True:
            rows = (await self._run(text, home=record("workflow", self._id), least=least, limit=limit))[0]
            # The next page begins with the last position of this one, of which more rows may follow.
            whole = [row for row in rows if len(rows) < limit or row[key] != rows[-1][key]]
            fresh = [row for row in whole if row["id"].id not in seen]
            for _position, together in groupby(fresh, key=lambda row: row[key]):
                for row in sorted(together, key=lambda row: seq if isinstance(seq := row.get("seq"), int) else 0):
                    seen.add(row["id"].id)
                    self._seen[table] += 1
                    yield row
            if len(rows) < limit:
                return
            limit = PAGE if fresh else limit * 2
            least = rows[-1][key]
