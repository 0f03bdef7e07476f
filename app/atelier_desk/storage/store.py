"""The store: one connection, reads side by side, writes through one grouping writer."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import commits, errors, preflight, schema
from atelier_desk.storage.engine import Engine
from atelier_desk.storage.writer import Statement, Writer
from atelier_desk.threads import in_storage_thread

__all__ = ["Statement", "Store"]


class Store:
    """An open database of Atelier. Made by ``open``; close it before the event loop ends.

    Attributes:
        clock: the clock it was opened with.
        path: the database directory, None in memory.
        version: the schema version, the newest this program knows.
        lost_commits: how many acknowledged commits the database had lost when it was opened (0 unless the loss was accepted, or
            commits were not synced and the power failed).
    """

    def __init__(self, engine: Engine, clock: Clock, counter: commits.CommitLog | None, version: int) -> None:
        self._engine = engine
        self.clock = clock
        self._counter = counter
        self._writer = Writer(engine, clock, counter=counter)
        self._closed = False
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
    ) -> Store:
        """Open, check and, where needed, migrate a database.

        Args:
            directory: the database directory, made when it is missing; None for a database in memory.
            fsync: sync each commit to the disk; without it once a second, which survives a killed program but not a power cut.
            backups: where the verified copy goes that is made before a migration; default: ``backups`` beside the directory.
            accept_loss: open also when acknowledged commits are gone.

        Raises:
            StorageError: ``locked``, ``newer_schema``, ``missing_manifest``, ``damaged``, ``disk_full`` or ``read_only``.
        """
        clock = clock or SystemClock()
        if directory is not None:
            await _prepare(directory)
        engine = await Engine.open(directory, fsync=fsync)
        try:
            engine, version = await _bring_up_to_date(engine, directory, clock, fsync, backups)
            counter = None if directory is None else await commits.CommitLog.load(engine, directory, fsync=fsync, accept_loss=accept_loss)
        except BaseException:
            await engine.close()
            raise
        return cls(engine, clock, counter, version)

    async def query(self, sql: str, /, **params: Any) -> list[Any]:
        """Run reading statements and return the rows of the last one (a single value comes in a list of one).

        Raises:
            StorageError: any statement failed.
        """
        result = (await self.query_all(sql, **params))[-1]
        if isinstance(result, list):
            return result
        return [] if result is None else [result]

    async def query_all(self, sql: str, /, **params: Any) -> list[Any]:
        """Run reading statements and return the result of each.

        Raises:
            StorageError: any statement failed.
        """
        if self._closed:
            raise StorageError(errors.CLOSED, code="query")
        outcomes = await self._engine.run(sql, params)
        for outcome in outcomes:
            if not outcome.ok:
                raise errors.from_text(str(outcome.value), self.path)
        return [outcome.value for outcome in outcomes]

    async def write(self, *statements: Statement) -> None:
        """Run statements as one transaction; returns after the commit.

        Raises:
            StorageError, NotFoundError: nothing of the transaction was kept.
        """
        await self.transact(*statements)

    async def transact(self, *statements: Statement) -> list[Any]:
        """Like ``write``, and returns the result of each statement."""
        return await self._writer.transact(statements)

    async def drain(self) -> None:
        """Wait until no write is queued or running."""
        await self._writer.drain()

    @contextlib.asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Hold all writes back while the block runs; reads go on."""
        async with self._writer.quiet():
            yield

    async def tables(self) -> list[str]:
        """Names of all tables, sorted."""
        return await schema.tables(self._engine)

    async def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        names = await self.tables()
        results = await self.query_all(";".join(f"SELECT count() AS n FROM {name} GROUP ALL" for name in names))  # noqa: S608
        return {name: (rows[0]["n"] if rows else 0) for name, rows in zip(names, results, strict=True)}

    async def close(self) -> None:
        """Finish queued writes, flush and close. Closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._writer.close()
        await self._engine.close()
        if self._counter is not None:
            self._counter.close()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def _prepare(directory: Path) -> None:
    """Finish a restore that was cut off, look at the directory, and let a helper open it first when its manifest is not as it was left."""
    if await in_storage_thread(_ready_to_open, directory):
        return
    from atelier_desk.storage.inspect import inspect

    await inspect(directory, read=False)


def _ready_to_open(directory: Path) -> bool:
    if any(directory.parent.glob("restoring-*")):
        from atelier_desk.storage import backup

        backup.finish_restore(directory.parent)
    preflight.check(directory)
    return not preflight.has_content(directory) or commits.manifest_known(directory)


async def _bring_up_to_date(engine: Engine, directory: Path | None, clock: Clock, fsync: bool, backups: Path | None) -> tuple[Engine, int]:
    """Refuse a newer schema; back an older one up and migrate it. Returns the engine, which may be another one, and its version."""
    found = await schema.current(engine)
    known = schema.latest()
    if found > known:
        raise StorageError(errors.NEWER_SCHEMA, code="newer_schema", path=directory, found=found, known=known)
    if found < known:
        if found > 0 and directory is not None:
            from atelier_desk.storage import backup

            await engine.close()
            await backup.before_migration(directory, backups or directory.parent / "backups", found, clock)
            engine = await Engine.open(directory, fsync=fsync)
        await schema.migrate(engine, found, clock)
    return engine, known
