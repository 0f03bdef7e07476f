"""Putting a backup in the place of the data: all or nothing, also when it is killed in the middle."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import errors
from atelier_desk.storage.copies import origin
from atelier_desk.storage.copies.archive import FOLDERS, BackupInfo, stamp_of, unpack_and_check
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.storage.folder.files import sync_folder, sync_tree
from atelier_desk.storage.folder.lock import FolderLock, shielded
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

UNPACKING = "unpacking-"
RESTORING = "restoring-"
REPLACED = "replaced-"
MOUNTED = N_(
    "The folder {path} is a disk of its own, so it cannot be replaced. Nothing was changed. "
    "Unmount it, or restore into another folder with --data-dir."
)
IN_USE = N_("The data in {path} is in use. Close Atelier before a backup is restored.")


async def restore(path: Path, datadir: DataDir, clock: Clock | None = None, *, from_elsewhere: bool = False) -> BackupInfo:
    """Put a backup in the place of the data. The data it replaces is kept in ``backups/replaced-<time>``, or beside ``backups`` when that
    is on another file system.

    The data folder is locked from before the first look until after the last move. The change is all or nothing: a program killed in the
    middle finishes it at the next start.

    Args:
        from_elsewhere: also one that this data folder did not make, or that was changed since. What it grants is switched off when the
            folder is opened next: see ``origin.MARKER``.

    Raises:
        StorageError: ``from_elsewhere`` for such a backup; ``locked`` when the data is in use; ``damaged`` or
            ``newer_schema`` when the backup cannot be used, ``mounted`` when a folder cannot be moved, and then nothing was
            changed.
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
        stamp = stamp_of((clock or SystemClock()).now())
        unpacked = datadir.root / f"{UNPACKING}{stamp}"
        try:
            info = await unpack_and_check(path, unpacked, lock, datadir.root)
            if not info.own:
                if not from_elsewhere:
                    raise StorageError(origin.FROM_ELSEWHERE, code="from_elsewhere", recoverable=True, path=path)
                await shielded(origin.mark, unpacked)
            await shielded(make_ready, unpacked, datadir.root / f"{RESTORING}{stamp}")
        finally:
            await shielded(shutil.rmtree, unpacked, ignore_errors=True)
        replaced = await shielded(finish_restore, datadir.root)
    finally:
        lock.release()
    return replace(info, replaced=replaced)


async def replace_database(stage: Path, root: Path) -> None:
    """Put a database that was made in ``stage`` (``unpacking-…`` in the data folder) in the place of the present one, which is deleted.
    The caller holds the lock of ``root``.

    Raises:
        StorageError: as ``finish_restore``.
    """
    if found := await in_storage_thread(origin.marked, root):  # the swap takes the mark away unless what comes has it
        await shielded(origin.mark, stage, found)
    await shielded(make_ready, stage, root / f"{RESTORING}{stage.name.removeprefix(UNPACKING)}")
    replaced = await shielded(finish_restore, root)
    if replaced is not None:
        await shielded(shutil.rmtree, replaced, ignore_errors=True)


def finish_restore(root: Path) -> Path | None:
    """Move a backup that was unpacked and verified into place, also after a kill, and delete what one that was cut off before has left.
    The caller holds the lock of ``root``. Returns where the replaced data is, if any was.

    Raises:
        StorageError: a file cannot be moved; doing it again goes on.
    """
    kept: Path | None = None
    try:
        for unfinished in root.glob(f"{UNPACKING}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        for ready in sorted(root.glob(f"{RESTORING}*")):
            # Before the data, which must never be opened without it; a copy, since all of this may be done again after a kill.
            if stage := origin.marked(ready):
                origin.mark(root, stage)
            else:
                origin.unmark(root)
            # Aside within the folder's own file system first: all moves of data are renames, which cannot fail half-way.
            aside = root / f"{REPLACED}{ready.name.removeprefix(RESTORING)}"
            for name in FOLDERS:
                if (ready / name).is_dir():
                    _swap(root / name, ready / name, aside)
            for index in root.glob(f"{DataDir(root).history_index.name}*"):
                index.unlink()  # it is of the data that was replaced
            if (snapshots := DataDir(root).snapshots).is_dir():
                shutil.rmtree(snapshots)
            sync_folder(root)
            kept = _kept(aside, root / "backups")
            # Under a name that is never restored from: half deleted, without its mark, it would pass for one of this folder's own.
            gone = root / f"{UNPACKING}{ready.name.removeprefix(RESTORING)}"
            ready.replace(gone)
            sync_folder(root)
            shutil.rmtree(gone)
    except OSError as error:
        raise errors.from_os_error(error, root) from error
    return kept


def _swap(present: Path, new: Path, aside: Path) -> None:
    """Put a folder in the place of another one, which goes aside; each step can be the last before a kill."""
    if present.exists():
        if (aside / present.name).exists():
            present.rmdir()  # gone aside before the kill; since then a start has made an empty one
        else:
            aside.mkdir(mode=0o700, parents=True, exist_ok=True)
            present.replace(aside / present.name)
            sync_folder(aside)
    new.replace(present)


def _kept(aside: Path, backups: Path) -> Path | None:
    """Where the replaced data stays: with the backups, where a rename can take it there."""
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


def make_ready(unpacked: Path, ready: Path) -> None:
    """From here on the restore is finished whatever happens, so everything unpacked is on the disk before."""
    sync_tree(unpacked)
    unpacked.replace(ready)
    sync_folder(ready.parent)
