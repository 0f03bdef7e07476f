"""Migrate a database of an older schema: in a copy that then replaces it, all or nothing.

The folder stays byte-identical until the copy is migrated, verified and synced. From then on the swap works like a
restore, which the next start completes after a kill.
"""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.storage import database_errors, migration_registry
from atelier_desk.storage.copies import backup_file, restore, unfinished_backup
from atelier_desk.storage.copies.bounded_memory_reading import BoundedReading
from atelier_desk.storage.copies.database_inspection import Inspection, inspect
from atelier_desk.storage.copies.progress_and_cancellation import Progress, Report, copy_tree, stoppable
from atelier_desk.storage.data_folder import database_preflight, schema_version
from atelier_desk.storage.data_folder.lock import FolderLock, shielded
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.table_pages import count_by_reading
from atelier_desk.storage.writing import lost_commit_detection
from atelier_desk.support.i18n import N_

DIFFERENT = N_("some tables do not match the new format ({names})")
BACKUP = "before-schema-"
"""Beginning of the names of backups made by upgrades."""
COPIES = 3
"""Additional copies of the database on disk during an upgrade.

The one being migrated; at most as large, the backup; and what that is unpacked to when it is verified.
"""


async def upgrade(
    directory: Path,
    backups: Path,
    clock: Clock,
    lock: FolderLock,
    *,
    accept_loss: bool = False,
    progress: schema_version.Upgrading = lambda _step, _percent: None,
) -> None:
    """Migrate a closed database that is not known to have this program's schema, and record its version.

    Args:
        directory: ``database`` in a data folder; not empty.
        backups: where the verified copy of the old database goes: ``before-schema-<version>-<time>.zip``.
        lock: the data folder's.
        accept_loss: migrate even when acknowledged commits are lost.
        progress: told of each step and of its percentage.

    Raises:
        StorageError: ``newer_schema``, ``older_schema``, ``cannot_migrate``, ``disk_full``, ``damaged`` or ``io``; the
            data is unchanged.
    """
    root, latest = directory.parent, migration_registry.latest()
    found = schema_version.noted(directory)
    if found is not None:
        migration_registry.check_version(found, directory)

    def begin(step: schema_version.UpgradeStep) -> Progress:
        progress(step, 0)
        told = 0

        def notify(done: int, total: int) -> None:
            nonlocal told
            if (percent := min(99, done * 100 // max(1, total))) > told:
                told = percent
                progress(step, percent)

        return notify

    async with restore.staging(root, clock) as stage:
        copy = stage / directory.name
        try:
            await stoppable(_copy, directory, copy, progress=begin("copy"))
            before = await inspect(copy, lock=lock, progress=begin("read"))
            if before.schema in (0, latest):  # 0: creating its tables was interrupted, so nothing was ever stored
                if before.schema:
                    await shielded(schema_version.note, directory, latest)
                return
            await _migrate(copy, directory, before, clock, accept_loss, begin("migrate"))
            now = clock.now()
            target = backups / f"{BACKUP}{before.schema + 1}-{backup_file.stamp_of(now)}.zip"
            manifest = backup_file.manifest_of(before.schema, before.counts, now)
            async with unfinished_backup.until_verified(target, root, now) as file:
                await stoppable(backup_file.pack, root, root, file, manifest, progress=begin("back_up"))
                await backup_file.verify_fresh(file, root, progress=begin("verify"))
            await restore.replace_database(stage)
        except StorageError as error:
            size = COPIES * await shielded(database_preflight.size_of, directory)
            raise await shielded(database_preflight.of_copy, error, stage, directory, size) from error
        except OSError as error:
            raise database_errors.from_os_error(error, directory) from error


def _copy(directory: Path, copy: Path, report: Report) -> None:
    """Copy a database. Refuses when the disk lacks the room that an upgrade needs."""
    size = database_preflight.size_of(directory)
    database_preflight.require_room(directory, COPIES * size)
    copy.parent.mkdir(mode=0o700)
    copy_tree(directory, copy, size, report)


async def _migrate(
    copy: Path, directory: Path, before: Inspection, clock: Clock, accept_loss: bool, progress: Progress
) -> None:
    """Migrate the copy; check that it defines all that a new database defines and that every row is still readable.

    Raises:
        StorageError: ``cannot_migrate``, or a problem with the disk or the files.
    """
    counter: lost_commit_detection.CommitLog | None = None
    try:
        engine = await Engine.open(copy, fsync=False)
        try:
            if not accept_loss:
                counter = await lost_commit_detection.CommitLog.load(engine, copy, fsync=True, accept_loss=False)
            await migration_registry.migrate(engine, before.schema, clock)
            wrong = await migration_registry.missing_definitions(engine, clock)
            reading = BoundedReading.of_engine(engine)
            told, done, total = reading.following(progress), 0, sum(before.counts.values())
            for name, count in before.counts.items():
                read = await count_by_reading(reading.run, name, lambda read: told(done + read, total))  # noqa: B023
                if name != migration_registry.VERSION_TABLE and read != count:
                    wrong.append(name)
                done += read
        finally:
            await engine.close()
        if wrong:
            raise StorageError(DIFFERENT, code="query", names=", ".join(wrong))
        await shielded(schema_version.note, copy, migration_registry.latest())
    except Exception as error:
        if isinstance(error, OSError) or database_errors.is_of_the_engine(error):
            raise
        raise StorageError(
            database_errors.CANNOT_MIGRATE,
            code="cannot_migrate",
            path=directory,
            found=before.schema,
            known=migration_registry.latest(),
            detail=error if isinstance(error, AtelierError) else f"{type(error).__name__}: {error}",
        ) from error
    finally:
        if counter is not None:
            counter.close()
