"""The store: one connection, concurrent reads, and writes through one grouping writer."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors, migration_registry
from atelier_desk.storage.copies.bounded_memory_reading import BoundedReading
from atelier_desk.storage.data_folder import database_preflight, schema_version
from atelier_desk.storage.data_folder.atomic_files import sync_tree
from atelier_desk.storage.data_folder.lock import FolderLock, identity, shielded, verify_identity
from atelier_desk.storage.database_engine import MERGED_MIN_BYTES, Engine
from atelier_desk.storage.search.index_changes import Change
from atelier_desk.storage.table_pages import count_rows
from atelier_desk.storage.writing import lost_commit_detection
from atelier_desk.storage.writing.writer import Statement, Writer
from atelier_desk.support.threads import in_storage_thread

__all__ = ["Statement", "Store"]
HASHES_KNOWN = 1000


class Follower(Protocol):
    """Receives the changes of commits; implemented by the full-text index."""

    def committed(self, changes: Sequence[Change] | None) -> None:
        """Changes of a commit; None if it is unknown whether it was kept."""
        ...

    async def close(self) -> None: ...


class Store:
    """An open Atelier database. Made by ``open``; close it before the event loop ends. It holds the lock of its data
    folder, the parent of its directory.

    Attributes:
        clock: the clock it was opened with.
        path: the database directory, None in memory.
        last_hashes: by run, and by workflow, the hash of the newest event if known; for the journal
            (``writing.hash_chain``). Code that deletes or replaces events otherwise must clear it.
        version: the schema version, the newest this program knows.
        lost_commits: number of acknowledged commits that were missing at opening (0 unless the loss was accepted, or
            commits were not synced and the power failed).
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        counter: lost_commit_detection.CommitLog | None,
        version: int,
        lock: FolderLock | None = None,
    ) -> None:
        self._engine = engine
        self._lock = lock
        self.clock = clock
        self._counter = counter
        self._writer = Writer(engine, clock, counter=counter)
        self._closed = False
        self._follower: Follower | None = None
        self.last_hashes: dict[str, bytes] = {}
        self.path = engine.path
        self.version = version
        self.lost_commits = counter.lost if counter else 0

    @classmethod
    async def open(
        cls,
        directory: Path | None,
        *,
        fsync: bool = True,
        clock: Clock | None = None,
        backups: Path | None = None,
        accept_loss: bool = False,
        upgrading: schema_version.Upgrading = lambda _step, _percent: None,
    ) -> Store:
        """Open, check and, if needed, migrate a database.

        Args:
            directory: the database directory, created if missing; None for a database in memory.
            fsync: sync each commit to disk; False syncs once a second, which survives a kill but not a power cut.
            backups: folder for the verified copy made before a migration; default: ``backups`` beside the directory.
            accept_loss: open even if acknowledged commits are lost.
            upgrading: told of each step of a migration, which may take minutes.

        Raises:
            StorageError: ``locked``, ``newer_schema``, ``older_schema``, ``cannot_migrate``, ``missing_manifest``,
                ``damaged``, ``disk_full``, ``read_only``, ``too_many_files``, ``moved`` or ``io``. After the second to
                the fourth the folder is as it was, byte by byte.
        """
        clock = clock or SystemClock()
        if directory is None:
            engine = await Engine.open(None)
            return cls(engine, clock, None, await migration_registry.migrate(engine, 0, clock))
        database_preflight.check_path(directory)
        lock = await FolderLock.acquire(directory.parent)
        try:
            await prepare(directory, lock, clock, backups or directory.parent / "backups", accept_loss, upgrading)
            # Creating the tables would sync the disk about 1 700 times. Before a directory has a commit counter,
            # nothing in it was acknowledged, so a single sync at the end is enough.
            new = not await in_storage_thread((directory / lost_commit_detection.FILE).exists)
            engine = await Engine.open(directory, fsync=fsync and not new)
            try:
                engine.verify = _verifier(lock, directory)
                version = await _make_tables(engine, directory, clock)
                if new and fsync:
                    await engine.reopen(fsync=True, aside=partial(sync_tree, directory))
                counter = await lost_commit_detection.CommitLog.load(
                    engine, directory, fsync=fsync, accept_loss=accept_loss
                )
            except BaseException:
                await engine.close()
                raise
        except BaseException as error:
            try:
                if isinstance(error, OSError | StorageError):
                    lock.verify()  # a folder that was moved meanwhile is not damaged
            finally:
                lock.release()
            if isinstance(error, OSError):
                raise database_errors.from_os_error(error, directory) from error
            raise
        return cls(engine, clock, counter, version, lock)

    async def query(self, sql: str, /, **params: object) -> list[Any]:
        """Run reading statements and return the rows of the last one (a single value becomes a list of one).

        Raises:
            StorageError: any statement failed.
        """
        result = (await self.query_all(sql, **params))[-1]
        if isinstance(result, list):
            return result
        return [] if result is None else [result]

    async def query_all(self, sql: str, /, **params: object) -> list[Any]:
        """Run reading statements and return the result of each.

        Raises:
            StorageError: any statement failed.
        """
        if self._closed:
            raise StorageError(database_errors.CLOSED, code="query")
        return await self._engine.results(sql, params)

    async def write(self, *statements: Statement) -> None:
        """Run statements as one transaction; returns after the commit.

        Raises:
            StorageError, NotFoundError: nothing was kept, unless the error says that this is unknown: the engine failed
                and could not be reopened; the next write finds out before it begins.
        """
        await self._writer.transact(statements)

    async def transact(self, *statements: Statement) -> list[Any]:
        """Like ``write``, but return the result of each statement.

        Raises:
            StorageError: additionally ``result_lost``: the transaction is kept, but the engine failed before it
                returned results.
        """
        results = await self._writer.transact(statements)
        if results is None:
            raise StorageError(database_errors.RESULT_LOST, code="result_lost")
        return results

    def verify(self) -> None:
        """Raise ``StorageError`` (``moved``) if its folder is no longer in its place; takes some microseconds."""
        self._engine.verify()

    def follow(self, follower: Follower) -> None:
        """After each commit, pass its full-text changes to ``follower``; close it before the database."""
        self._follower = follower
        self._writer.on_commit = follower.committed

    def changed(self, changes: Sequence[Change]) -> None:
        """Pass changes that no statement carried to the follower, after their commit."""
        self._writer.on_commit(changes)

    @property
    def commits(self) -> int:
        """Number of the newest commit, 0 in memory."""
        return self._counter.number if self._counter is not None else 0

    def remember_hashes(self, last: Mapping[str, bytes]) -> None:
        """Remember hashes after a commit; only the most recent runs are kept."""
        for owner, newest in last.items():
            self.last_hashes.pop(owner, None)
            self.last_hashes[owner] = newest
        while len(self.last_hashes) > HASHES_KNOWN:
            del self.last_hashes[next(iter(self.last_hashes))]

    @contextlib.asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Hold back all writes while the block runs; reads continue."""
        async with self._writer.quiet():
            yield

    async def release_read_memory(self, *, held: bool = False) -> None:
        """Give back the memory of what was read, which the engine keeps until it is closed; requests wait about 0.5 s.

        ``held`` within ``quiet``. Does nothing where it could not be opened again, as on a full disk.
        """
        with contextlib.suppress(StorageError):
            async with contextlib.nullcontext() if held else self.quiet():
                await self._engine.reopen(merged_max=MERGED_MIN_BYTES)

    def bounded_reading(self, *, held: bool = False) -> BoundedReading:
        """Return what reads all of it and gives the memory back on the way; ``held`` as in ``release_read_memory``."""
        return BoundedReading(self.query_all, lambda: self.release_read_memory(held=held), self.size)

    @property
    def size(self) -> int:
        """Bytes of its tables and large values; 0 in memory."""
        return self._engine.size()

    async def set_fsync(self, fsync: bool) -> None:
        """Reopen the database with or without syncing each commit; the lock is held throughout.

        Raises:
            StorageError: it could not be opened again.
        """
        async with self.quiet():
            await self._engine.reopen(fsync=fsync)
            if self._counter is not None:
                self._counter.fsync = fsync

    async def tables(self) -> list[str]:
        """Names of all tables, sorted."""
        return await migration_registry.tables(self._engine)

    async def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        return await count_rows(self.query_all, await self.tables())

    async def close(self) -> None:
        """Finish queued writes, flush and close. Closing twice does nothing.

        Raises:
            StorageError: ``moved``: the folder is not where it was; nothing is written.
        """
        if self._closed:
            return
        self._closed = True
        try:
            await self._writer.close()
            if self._follower is not None:
                await self._follower.close()
            await self._engine.close()
            if self._counter is not None:
                self._counter.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def _verifier(lock: FolderLock, directory: Path) -> Callable[[], None]:
    """Return a check that the data folder and its database are still those that were locked and opened."""
    opened = identity(directory)

    def verify() -> None:
        lock.verify()
        verify_identity(directory, opened)

    return verify


async def prepare(
    directory: Path,
    lock: FolderLock,
    clock: Clock,
    backups: Path,
    accept_loss: bool = False,
    upgrading: schema_version.Upgrading = lambda _step, _percent: None,
) -> None:
    """Finish an interrupted restore, check the directory before the engine may change it, and migrate if needed.

    A schema that is older or not recorded is migrated; a helper process opens the database first if its manifest has
    changed. The caller holds the lock of the data folder. Raises ``StorageError`` as ``Store.open``.
    """
    if not await shielded(_has_this_schema, directory):
        from atelier_desk.storage.copies.upgrade import upgrade

        await upgrade(directory, backups, clock, lock, accept_loss=accept_loss, progress=upgrading)
    if not await shielded(_manifest_known, directory):
        from atelier_desk.storage.copies.database_inspection import inspect

        await inspect(directory, read=False, lock=lock)


def _has_this_schema(directory: Path) -> bool:
    """Whether an existing database is recorded to have this program's schema; a new one has none yet."""
    left = ("restoring", "unpacking", "verifying", "backing-up")
    if any(next(directory.parent.glob(f"{name}-*"), None) for name in left):
        from atelier_desk.storage.copies import restore

        restore.finish_restore(directory.parent)
    database_preflight.check(directory)
    return (
        not database_preflight.has_content(directory) or schema_version.noted(directory) == migration_registry.latest()
    )


def _manifest_known(directory: Path) -> bool:
    return not database_preflight.has_content(directory) or lost_commit_detection.manifest_known(directory)


async def _make_tables(engine: Engine, directory: Path, clock: Clock) -> int:
    """Create the tables of a new database; record and return its version."""
    found, known = await migration_registry.current(engine), migration_registry.latest()
    migration_registry.check_version(found, directory)
    if 0 < found < known:  # the record belonged to another database; without it the next start checks thoroughly
        await in_storage_thread((directory / schema_version.FILE).unlink, missing_ok=True)
        raise StorageError(database_errors.START_AGAIN, code="start_again", path=directory)
    if found == 0:
        await migration_registry.migrate(engine, 0, clock)
    if await in_storage_thread(schema_version.noted, directory) != known:
        await in_storage_thread(schema_version.note, directory, known)
    return known
