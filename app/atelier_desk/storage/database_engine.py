"""The only module that talks to the SurrealDB driver: opens it in a thread, runs statements, closes in a safe order.

On every twelfth opening after writes, the engine merges its tables before it answers, which takes minutes when they are
large; it may report a timeout meanwhile. That is not damage: the opening waits, and does not close the engine, because
the merge would start over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.limits import DATABASE_PAUSE_S
from atelier_desk.storage import database_errors, surrealdb_driver_loader
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.lock import shielded, to_its_end
from atelier_desk.support import malloc_tuning
from atelier_desk.support.threads import in_storage_thread

if TYPE_CHECKING:
    from surrealdb.connections.async_embedded import AsyncEmbeddedSurrealConnection

_log = logging.getLogger(__name__)
BUSY_WAIT_S = 600.0
"""Maximum wait for an engine that merges its tables while opening; 850 MB took 120 s on a slow disk."""
BUSY_POLL_S = 0.5
MERGED_MIN_BYTES = 8_000_000
"""Size of merged tables in bytes from which a start opens the database once more, which takes 0.2 s.

What it merged stays in the engine's memory until it is closed: 110–150 MB of 110 MB of tables.
"""
NAMESPACE = "atelier"
DATABASE = "main"


class Outcome(NamedTuple):
    """Result of one statement, or the engine's error text.

    Attributes:
        settled: False when the engine failed in a way that leaves open whether the request took effect.
    """

    ok: bool
    value: object
    settled: bool = True


_abandoned: list[AsyncEmbeddedSurrealConnection] = []
"""Connections whose folder was moved away.

Closing or collecting one would write to a path that now belongs to another folder.
"""


class Engine:
    """An open database. Every call goes through ``run``; nothing here retries or interprets errors.

    Attributes:
        path: the directory, None in memory.
        verify: raises ``StorageError`` when the path no longer leads to the folder that was opened. Called before every
            request, reopening and closing, because the engine opens new files by path.
    """

    def __init__(self, connection: AsyncEmbeddedSurrealConnection | None, path: Path | None, fsync: bool) -> None:
        self._connection = connection
        self.path = path
        self._fsync = fsync
        self.verify: Callable[[], None] = lambda: None
        self._closed = False
        self._requests = 0
        self._no_requests = asyncio.Event()
        self._no_requests.set()
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._connecting = asyncio.Lock()
        self._left_locked = False

    @classmethod
    async def open(cls, directory: Path | None, *, fsync: bool = True) -> Engine:
        """Open a directory, or an in-memory database for None.

        With ``fsync`` False the engine syncs once a second instead of at each commit. Log entries left by an unclean
        end are moved into the tables first, which takes about 0.3 s. In memory, a row that one transaction deletes and
        writes again is lost or refused; on disk it is not.

        Raises:
            StorageError: ``locked``, ``damaged``, ``disk_full``, ``read_only``, or ``busy`` after ``BUSY_WAIT_S``.
        """
        engine = cls(None, directory, fsync)
        left, tables = engine.log_bytes(), engine._tables()
        engine._connection = await _connect(directory, fsync)
        # A kill or a full disk can leave half a record at the end of the log. The engine would append after it, and the
        # next recovery would stop before it and lose everything after: nothing is written until the log is empty.
        if left or engine._merged(tables, MERGED_MIN_BYTES):
            try:
                await engine.reopen()
            except BaseException as error:
                if left or not isinstance(error, StorageError):
                    await engine.close()
                    raise
                # Only memory is at stake: the next request opens the database, or says why not.
                _log.warning("the database could not be opened once more after a merge: %s", error)
        return engine

    async def run(self, sql: str, params: Mapping[str, Any]) -> list[Outcome]:
        """Run statements and return one outcome for each, in order.

        A request that does not parse, or at which the engine itself failed, gives a single failed outcome. Waits while
        the database is being reopened, and opens it when the previous attempt failed.

        Raises:
            StorageError: the database could not be reopened, or its folder was moved; the request was not started.
            Exception: a parameter cannot be sent; the request was not started.
        """
        connection = await self._connected()
        self.verify()
        self._requests += 1
        self._no_requests.clear()
        try:
            response = await connection.query_raw(sql, dict(params))
        except surrealdb_driver_loader.surrealdb().errors.SurrealError as error:
            return [Outcome(False, str(error), settled=False)]
        except BaseException as error:
            if isinstance(error, Exception | asyncio.CancelledError | KeyboardInterrupt | SystemExit):
                raise
            return [Outcome(False, str(error), settled=False)]  # the engine's panics derive from BaseException only
        finally:
            self._requests -= 1
            if not self._requests:
                self._no_requests.set()
        if "error" in response:
            failure = response["error"]
            return [Outcome(False, str(failure.get("message", failure) if isinstance(failure, dict) else failure))]
        return [Outcome(item["status"] == "OK", item["result"]) for item in response["result"]]

    async def results(self, sql: str, params: Mapping[str, Any]) -> list[object]:
        """Like ``run``, but return the result of each statement.

        Raises:
            StorageError: additionally, a statement failed.
        """
        outcomes = await self.run(sql, params)
        for outcome in outcomes:
            if not outcome.ok:
                raise database_errors.from_text(str(outcome.value), self.path)
        return [outcome.value for outcome in outcomes]

    @contextlib.asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Close the database while the block runs, then open it again; requests wait meanwhile.

        Raises:
            StorageError: as ``open``, after the same wait; the next request tries to open it again. ``start_again``
                when a failed opening still holds the files.
        """
        async with self._connecting:
            self._may_run.clear()
            try:
                while self._requests:
                    await self._no_requests.wait()
                self.verify()
                connection, self._connection = self._connection, None
                if connection is not None:
                    await _disconnect(connection)
                yield
                await self._connect_again()
            finally:
                self._may_run.set()

    async def reopen(
        self,
        *,
        fsync: bool | None = None,
        aside: Callable[[], None] | None = None,
        merged_max: int | None = None,
    ) -> None:
        """Close and open the database again, which moves everything from its log into its tables.

        ``fsync`` as in ``open``; None keeps the present value. ``aside`` is called in a thread while the database is
        closed. If that merged at least ``merged_max`` bytes of tables, the database is opened once more, which frees
        their memory in 0.3 s but brings the next merge nearer. When cancelled it still ends: a connection whose closing
        is interrupted would hold the files.

        Raises:
            StorageError: as ``aside``; or the disk would not allow opening it again, so it was not closed.
        """
        await to_its_end(self._reopen(fsync, aside, merged_max))

    async def _reopen(self, fsync: bool | None, aside: Callable[[], None] | None, merged_max: int | None) -> None:
        self.verify()
        if self.path is not None:
            await shielded(database_preflight.probe, self.path)
        tables = self._tables()
        async with self.aside():
            if aside is not None:
                await shielded(aside)
            if fsync is not None:
                self._fsync = fsync
        if merged_max is not None and self._merged(tables, merged_max):
            async with self.aside():
                pass
        # A merge of 200 MB of tables left 210 MB of freed memory with the process, a move without one 25 MB.
        await in_storage_thread(malloc_tuning.trim)

    def log_bytes(self) -> int:
        """Size of the write-ahead log in bytes, which the next start after a kill has to read; 0 in memory."""
        return _bytes_in(self.path / "wal") if self.path is not None else 0

    def size(self) -> int:
        """Size of the tables and of the separate large values in bytes; 0 in memory."""
        return sum(self._tables().values()) + _bytes_in(self.path / "vlog") if self.path is not None else 0

    def _tables(self) -> dict[str, int]:
        """Bytes of the tables by their files; empty in memory."""
        return _files_in(self.path / "sstables") if self.path is not None else {}

    def _merged(self, before: Mapping[str, int], least: int) -> bool:
        """Whether the engine merged at least so many bytes of the tables that were there before."""
        return sum(before[name] for name in before.keys() - self._tables().keys()) >= least

    async def close(self) -> None:
        """Flush and close; a pause lets the engine's threads end.

        Raises:
            StorageError: ``moved``: the folder is no longer in its place; the database is left as it is.
        """
        self._closed = True
        async with self._connecting:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            try:
                self.verify()
            except StorageError:
                _abandoned.append(connection)
                raise
            await _disconnect(connection)

    async def _connected(self) -> AsyncEmbeddedSurrealConnection:
        while True:
            await self._may_run.wait()
            if self._closed:
                raise StorageError(database_errors.CLOSED, code="query")
            if self._connection is not None and self._may_run.is_set():
                return self._connection
            async with self._connecting:
                if self._connection is None and not self._closed:
                    await self._connect_again()

    async def _connect_again(self) -> None:
        self.verify()
        try:
            self._connection = await _connect(self.path, self._fsync, ours=not self._left_locked)
            self._left_locked = False
        except StorageError as error:
            if error.code == "locked":  # by the remains of a failed opening: this process holds the lock
                self._left_locked = True  # one request has waited for it; later ones check only once
                raise StorageError(database_errors.START_AGAIN, code="start_again", path=self.path) from error
            raise


async def _connect(directory: Path | None, fsync: bool, *, ours: bool = False) -> AsyncEmbeddedSurrealConnection:
    """Open the engine.

    Waits up to ``BUSY_WAIT_S`` while it is busy, or for a lock that this process left (``ours``).
    """
    deadline = time.monotonic() + BUSY_WAIT_S
    waiting = False
    while True:
        try:
            return await _connect_once(directory, fsync, deadline)
        except StorageError as error:
            ours = ours or error.code == "busy"
            if error.code not in {"busy", "locked"} or not ours or time.monotonic() >= deadline:
                raise
            if not waiting:
                _log.warning(
                    "the database could not be opened yet (%s); it is tried again for %d s", error.code, BUSY_WAIT_S
                )
            waiting = True
        await asyncio.sleep(BUSY_POLL_S)


async def _connect_once(directory: Path | None, fsync: bool, deadline: float) -> AsyncEmbeddedSurrealConnection:
    """Open the engine in a thread.

    A cancelled wait or a failed opening closes it again, so that no one holds the files once the lock is released.
    """
    opening = asyncio.ensure_future(in_storage_thread(_construct, _url(directory, fsync)))
    connection: AsyncEmbeddedSurrealConnection | None = None
    try:
        connection = await asyncio.shield(opening)
        while True:
            try:
                await connection.connect()
                await connection.use(NAMESPACE, DATABASE)
                return connection
            except Exception as error:
                if (
                    database_errors.from_text(str(error), directory, opening=True).code != "busy"
                    or time.monotonic() >= deadline
                ):
                    raise
            await asyncio.sleep(BUSY_POLL_S)  # closing it now would interrupt its merge
    except asyncio.CancelledError:
        with contextlib.suppress(BaseException):
            await _disconnect(await opening)
        raise
    except BaseException as error:  # the engine's panics derive from BaseException only
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        failure = database_errors.from_text(str(error), directory, opening=True)
        if connection is not None and failure.recoverable:
            with contextlib.suppress(BaseException):
                await _disconnect(connection)
        raise failure from error


def _bytes_in(folder: Path) -> int:
    return sum(_files_in(folder).values())


def _files_in(folder: Path) -> dict[str, int]:
    """Bytes of each file by its name; empty if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size for entry in entries}
    except OSError:
        return {}


async def _disconnect(connection: AsyncEmbeddedSurrealConnection) -> None:
    try:
        await connection.close()
    except Exception as error:
        raise StorageError(database_errors.QUERY, code="query", detail=str(error)) from error
    finally:
        await asyncio.sleep(DATABASE_PAUSE_S)


def _url(directory: Path | None, fsync: bool) -> str:
    if directory is None:
        return "mem://"
    return f"surrealkv://{directory.absolute().as_posix()}{'' if fsync else '?sync=1s'}"


def _construct(url: str) -> AsyncEmbeddedSurrealConnection:
    connection: AsyncEmbeddedSurrealConnection = surrealdb_driver_loader.surrealdb().AsyncSurreal(url)
    return connection
