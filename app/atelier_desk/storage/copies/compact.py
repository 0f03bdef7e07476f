"""Rewrite a database row by row, so that permanently deleted data leaves the disk.

The engine keeps the bytes of deleted rows: small ones until it merges its tables, which may take a dozen starts, those
in its value log forever. It has no compaction of its own. The new database contains only the rows that still exist.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors, migration_registry
from atelier_desk.storage.copies import restore
from atelier_desk.storage.copies.bounded_memory_reading import BoundedReading
from atelier_desk.storage.copies.progress_and_cancellation import Progress, no_progress
from atelier_desk.storage.data_folder import database_preflight, schema_version
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.lock import FolderLock, shielded
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.store import prepare
from atelier_desk.storage.table_pages import Run, count_rows, insertion, read_pages
from atelier_desk.storage.writing import lost_commit_detection


class Compacted(NamedTuple):
    """Size of the database files in bytes before and after, and the number of rows."""

    before: int
    after: int
    rows: int


async def compact(datadir: DataDir, clock: Clock | None = None, progress: Progress = no_progress) -> Compacted:
    """Replace the database of a closed data folder with a new one that has the same rows.

    All or nothing, even if the process is killed: every new row is compared before the old database is removed.
    Cancelled before ``progress`` tells of the whole, nothing was changed.

    Raises:
        StorageError: ``locked`` when the folder is in use; ``disk_full`` without room for a second database; otherwise
            as when opening it. The data is unchanged.
    """
    clock, root = clock or SystemClock(), datadir.root
    lock = await FolderLock.acquire(root)
    try:
        await prepare(datadir.database, lock, clock, datadir.backups)
        before = await shielded(database_preflight.size_of, datadir.database)
        await shielded(database_preflight.require_room, datadir.database, before)
        async with restore.staging(root, clock) as stage:
            try:
                rows = await _rewrite(datadir.database, stage / datadir.database.name, clock, progress)
            except StorageError as error:
                raise await shielded(database_preflight.of_copy, error, stage, datadir.database, before) from error
            progress(1, 1)
            await restore.replace_database(stage)
        return Compacted(before, await shielded(database_preflight.size_of, datadir.database), rows)
    except OSError as error:
        raise database_errors.from_os_error(error, datadir.database) from error
    finally:
        lock.release()


async def _rewrite(directory: Path, new: Path, clock: Clock, progress: Progress) -> int:
    """Fill a new database with the rows of a closed one and compare them. Returns the number of rows."""
    await shielded(new.mkdir, 0o700, parents=True)
    source = await Engine.open(directory)
    try:
        # The source must not lack any acknowledged commit.
        counter = await lost_commit_detection.CommitLog.load(source, directory, fsync=True, accept_loss=False)
        target = await Engine.open(new, fsync=False)
        try:
            await migration_registry.migrate(target, 0, clock)
            size = 2 * source.size()  # all is copied, then all is compared
            reading, writing = BoundedReading.of_engine(source, size), BoundedReading.of_engine(target, size)
            told = writing.following(reading.following(progress))
            rows = await _copy_rows(reading.run, writing.run, new, told)
        finally:
            await target.close()
    finally:
        await source.close()
    counter.close()
    await shielded(shutil.copyfile, directory / lost_commit_detection.FILE, new / lost_commit_detection.FILE)
    await shielded(schema_version.note, new, migration_registry.latest())
    return rows


async def _copy_rows(source: Run, target: Run, new: Path, progress: Progress) -> int:
    """Copy every row of every table, then read both databases and compare."""
    tables = sorted((await source("INFO FOR DB"))[0]["tables"])
    count, compared = 0, 0
    total = 2 * sum((await count_rows(source, tables)).values()) + 1
    for name in tables:
        await target(f"DELETE {name} RETURN NONE")  # rows that the migrations wrote, with the current time
        async for rows in read_pages(source, name):
            await target(insertion(name, rows), rows=rows)
            count += len(rows)
            progress(count, total)
    for name in tables:
        copies = read_pages(target, name)
        async for rows in read_pages(source, name):
            if await anext(copies, None) != rows:
                raise StorageError(database_errors.DAMAGED, code="damaged", path=new, detail=name)
            compared += len(rows)
            progress(count + compared, total)
        if await anext(copies, None) is not None:
            raise StorageError(database_errors.DAMAGED, code="damaged", path=new, detail=name)
    return count
