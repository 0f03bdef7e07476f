"""Replace the data with a backup: all or nothing, even if the process is killed midway."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.copies import backup_file, backup_signature, unfinished_backup
from atelier_desk.storage.copies.backup_file import (
    FOLDERS,
    BackupInfo,
    stamp_of,
    unpack_and_check,
)
from atelier_desk.storage.copies.progress_and_cancellation import Progress, no_progress, part
from atelier_desk.storage.data_folder.atomic_files import sync_folder, sync_tree
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.lock import FolderLock, shielded
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

UNPACKING = "unpacking-"
RESTORING = "restoring-"
REPLACED = "replaced-"
READY = 0.99
"""Part of a restore that can be cancelled."""
MOUNTED = N_(
    "The folder {path} is a mounted disk, so it cannot be replaced. Nothing was changed. Unmount it, or "
    "restore into another folder with --data-dir."
)
IN_USE = N_("The data in {path} is in use. Close Atelier before you restore a backup.")


async def restore(
    path: Path,
    datadir: DataDir,
    clock: Clock | None = None,
    *,
    from_elsewhere: bool = False,
    progress: Progress = no_progress,
) -> BackupInfo:
    """Replace the data with a backup.

    The replaced data is kept in ``backups/replaced-<time>``, or beside ``backups`` when that is on another file system.
    The data folder is locked from the first check to the last move. If the process is killed midway, the next start
    completes the restore. Cancelled before ``progress`` tells of the whole, nothing was changed.

    Args:
        from_elsewhere: also accept a backup that this data folder did not make, or that was changed since. What it
            grants is disabled when the folder is next opened: see ``backup_signature.MARKER``.

    Raises:
        StorageError: ``from_elsewhere`` for such a backup; ``locked`` when the data is in use; ``damaged``,
            ``newer_schema`` or ``older_schema`` when the backup cannot be used, ``mounted`` when a folder cannot be
            moved. Nothing was changed then.
    """
    await in_storage_thread(datadir.ensure)
    try:
        lock = await FolderLock.acquire(datadir.root)
    except StorageError as error:
        if error.code == "locked":
            raise StorageError(IN_USE, code="locked", recoverable=True, path=datadir.root) from error
        raise
    try:
        await shielded(finish_restore, datadir.root)
        for name in FOLDERS:
            if await in_storage_thread(os.path.ismount, datadir.root / name):
                raise StorageError(MOUNTED, code="mounted", path=datadir.root / name)
        async with staging(datadir.root, clock or SystemClock()) as unpacked:
            info = await unpack_and_check(path, unpacked, lock, datadir.root, part(progress, 0, READY))
            if not info.own:
                if not from_elsewhere:
                    raise StorageError(
                        backup_signature.FROM_ELSEWHERE, code="from_elsewhere", recoverable=True, path=path
                    )
                await shielded(backup_signature.mark, unpacked)
            try:
                await shielded(make_ready, unpacked)
            except asyncio.CancelledError:
                await shielded(_undo_ready, unpacked)
                raise
            progress(1, 1)
            replaced = await shielded(finish_restore, datadir.root)
    finally:
        lock.release()
    return replace(info, replaced=replaced)


@asynccontextmanager
async def staging(root: Path, clock: Clock) -> AsyncIterator[Path]:
    """Give the path of a folder in which new data is made, and delete what is left of it at the end.

    After a kill, the next start deletes it.
    """
    stage = root / f"{UNPACKING}{stamp_of(clock.now())}"
    try:
        yield stage
    finally:
        await shielded(shutil.rmtree, stage, ignore_errors=True)


async def replace_database(stage: Path) -> None:
    """Replace the present database with one made in a folder of ``staging``, and delete the old one.

    The caller holds the lock of the data folder.

    Raises:
        StorageError: as ``finish_restore``.
    """
    root = stage.parent
    # the swap removes the mark unless the new data has it too
    if found := await in_storage_thread(backup_signature.marked, root):
        await shielded(backup_signature.mark, stage, found)
    await shielded(make_ready, stage)
    replaced = await shielded(finish_restore, root)
    if replaced is not None:
        await shielded(shutil.rmtree, replaced, ignore_errors=True)


def finish_restore(root: Path) -> Path | None:
    """Move an unpacked and verified backup into place, also after a kill, and delete what is left of aborted work.

    The caller holds the lock of ``root``. Returns the location of the replaced data, if there was any.

    Raises:
        StorageError: a file cannot be moved; calling it again continues.
    """
    previous: Path | None = None
    backup_file.delete_left(root)
    unfinished_backup.delete_left(root)
    try:
        for unfinished in root.glob(f"{UNPACKING}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        for ready in sorted(root.glob(f"{RESTORING}*")):
            # Before the data, which must never be opened without the mark; a copy, because all of this may be repeated
            # after a kill.
            if stage := backup_signature.marked(ready):
                backup_signature.mark(root, stage)
            else:
                backup_signature.unmark(root)
            # First aside within the folder's own file system: then all moves of data are renames, which cannot fail
            # midway.
            aside = root / f"{REPLACED}{ready.name.removeprefix(RESTORING)}"
            for name in FOLDERS:
                if (ready / name).is_dir():
                    _swap(root / name, ready / name, aside)
            for index in root.glob(f"{DataDir(root).history_index.name}*"):
                index.unlink()  # belongs to the replaced data
            if (snapshots := DataDir(root).snapshots).is_dir():
                shutil.rmtree(snapshots)
            sync_folder(root)
            previous = _replaced_place(aside, root / "backups")
            # Renamed first to a name that is never restored from: half deleted and without its mark, it would pass for
            # the folder's own.
            gone = root / f"{UNPACKING}{ready.name.removeprefix(RESTORING)}"
            ready.replace(gone)
            sync_folder(root)
            shutil.rmtree(gone)
    except OSError as error:
        raise database_errors.from_os_error(error, root) from error
    return previous


def _swap(present: Path, new: Path, aside: Path) -> None:
    """Put a new folder in place of the present one, which is moved aside. Safe against a kill after any step."""
    if present.exists():
        if (aside / present.name).exists():
            present.rmdir()  # moved aside before the kill; a start since then created an empty folder
        else:
            aside.mkdir(mode=0o700, parents=True, exist_ok=True)
            present.replace(aside / present.name)
            sync_folder(aside)
    new.replace(present)


def _replaced_place(aside: Path, backups: Path) -> Path | None:
    """Move the replaced data to the backups if a rename can do that. Returns where it is."""
    place = backups / aside.name
    if not aside.exists():
        return place if place.exists() else None
    try:
        backups.mkdir(mode=0o700, exist_ok=True)
        aside.replace(place)
    except OSError:
        return aside
    sync_folder(backups)
    return place


def make_ready(stage: Path) -> None:
    """Sync the new files, then mark them ready: from here on the restore is completed whatever happens."""
    sync_tree(stage)
    stage.replace(stage.with_name(f"{RESTORING}{stage.name.removeprefix(UNPACKING)}"))
    sync_folder(stage.parent)


def _undo_ready(stage: Path) -> None:
    """Undo ``make_ready`` before anything was replaced; the next start would complete the restore."""
    ready = stage.with_name(f"{RESTORING}{stage.name.removeprefix(UNPACKING)}")
    if ready.exists():
        ready.replace(stage)
        sync_folder(stage.parent)
