"""Back up an open database: the copy is made while no write runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.storage.copies import restore
from atelier_desk.storage.copies.backup_file import (
    BAD_BACKUP,
    BackupInfo,
    hold,
    manifest_of,
    pack,
    verify_fresh,
)
from atelier_desk.storage.copies.progress_and_cancellation import Progress, no_progress, part, stoppable
from atelier_desk.storage.copies.unfinished_backup import until_verified
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.store import Store
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

PACKED = 0.3
"""Part of the time of a backup in which it is written; then it is verified."""
ATTEMPTS = 3
"""The engine may rearrange its files during the copy even without writes; then the copy is repeated."""
EXISTS = N_("There is already a file at {path}; choose another name for the backup.")


async def create(store: Store, datadir: DataDir, target: Path, *, progress: Progress = no_progress) -> BackupInfo:
    """Back up an open database and its files into a new zip file, and verify it. Cancelling leaves no file.

    Reports, attachments and rows that were already damaged are copied as they are and named in the result.

    Raises:
        ConflictError: the target exists.
        StorageError: ``disk_full``, ``read_only``, or ``damaged`` when the copy does not match the database.
    """
    if store.path is None:
        raise StorageError(BAD_BACKUP, code="query", path=target, detail=N_("a database in memory has no files"))
    if await in_storage_thread(target.exists):
        raise ConflictError(EXISTS, path=target)
    for attempt in range(ATTEMPTS):
        try:
            async with until_verified(target, datadir.root, store.clock.now()) as file:
                async with restore.staging(datadir.root, store.clock) as stage:
                    async with store.quiet():
                        manifest = manifest_of(store.version, await store.counts(), store.clock.now())
                        await stoppable(hold, store.path, datadir.root, stage)
                    packing = part(progress, 0, PACKED)
                    await stoppable(pack, stage, datadir.root, file, manifest, progress=packing)
                info = await verify_fresh(file, datadir.root, progress=part(progress, PACKED, 1))
            return replace(info, path=target)
        except StorageError as error:
            if error.code != "damaged" or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")
