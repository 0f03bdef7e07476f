"""The backup file: one zip with a copy of the database, the reports, the user's own tools and the attachments.

A copy is verified by unpacking it, opening its database in a separate process, reading all of it and counting its rows.
No change of the file goes unnoticed: its manifest has the SHA-256 of every file in it, and the comment at the end of
the zip has the SHA-256 of all bytes before it, including those outside any entry.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.copies import backup_signature
from atelier_desk.storage.copies.database_inspection import DamagedAttachment, inspect
from atelier_desk.storage.copies.progress_and_cancellation import CHUNK, Progress, Report, no_progress, part, stoppable
from atelier_desk.storage.damage_report import Damage
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.lock import FolderLock, shielded
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

FORMAT = 1
VERIFYING = "verifying-"
"""Beginning of the names of folders in which backups are verified."""
UNPACKED = 0.3
"""Part of the time of a verification in which the file is unpacked; then its database is read."""
MANIFEST = "backup.json"
FOLDERS = ("database", "reports", "tools", "attachments")
"""Folders that a backup contains. Settings, agents and providers are in the database; sent images are in its events."""
LOCK_FILE = "LOCK"
"""The engine's lock of the database, which Windows lets nobody read while it is held."""
SEAL = b"sha256:"
"""Start of the zip comment; 64 hexadecimal digits follow and end the file."""
SEAL_BYTES = len(SEAL) + 64
MANIFEST_BYTES = 256 * 1024 * 1024
"""Maximum size of the manifest, which is read into memory: about two million files."""
BAD_BACKUP = N_("The backup {path} cannot be used: {detail}. Choose another backup file.")
NO_BACKUP = N_("{path} is not a backup: a backup is a zip file written with: atelier backup create FILE")
NEWER_BACKUP = N_("The backup {path} was made by a newer version of Atelier. Update Atelier, then restore it.")
OLDER_BACKUP = N_(
    "The backup {path} was made by an early version of Atelier (its format is {found}; this version reads only "
    "format {oldest} and later). Nothing was changed. Restore it with the version of Atelier that made it and "
    "export the data there (Settings → Data → Export everything). Then start this version with a new folder "
    "(--data-dir) and import the export (Settings → Data and diagnostics → Import exported data)."
)
UNSEALED = N_("its content does not match its checksum")
MISMATCH = N_("The backup {path} does not match the database ({detail}) and was deleted. Try again.")


@dataclass(frozen=True)
class BackupInfo:
    """A backup that was opened and read through.

    Attributes:
        path: the zip file.
        schema: version of its schema.
        counts: rows by table.
        created_at: when it was made, RFC 3339.
        size: bytes of the file.
        files: how many files are in it.
        damaged: its reports (``<workflow id>/<name>.md``) that were already missing, damaged or changed by another
            program.
        attachments: those that were already missing or damaged when the backup was made.
        damaged_rows: rows of its database that were already missing or damaged.
        replaced: after a restore, the folder that the replaced data went to.
        own: made by the data folder it was verified for, and unchanged since.
        complete: nothing in it was damaged before the backup. Missing files are reported but do not count here: another
            backup would lack them too.
    """

    path: Path
    schema: int
    counts: dict[str, int]
    created_at: str
    size: int
    files: int = 0
    damaged: tuple[str, ...] = ()
    attachments: tuple[DamagedAttachment, ...] = ()
    damaged_rows: tuple[Damage, ...] = ()
    replaced: Path | None = None
    own: bool = False

    @property
    def complete(self) -> bool:
        return not self.damaged and not self.damaged_rows and all(each.missing for each in self.attachments)


async def verify(
    path: Path, root: Path | None = None, *, place: Path | None = None, progress: Progress = no_progress
) -> BackupInfo:
    """Unpack a backup into a folder of its own, read its database, and check every file and row against its manifest.

    Args:
        root: the data folder that may have made the backup.
        place: the folder to unpack it in; default: ``root``, if it exists.

    Raises:
        StorageError: ``damaged``, ``newer_schema`` or ``older_schema``; ``disk_full`` without room to unpack it.
    """
    async with _unpacking_place(place or root) as (folder, lock):
        return await unpack_and_check(path, folder, lock, root, progress)


async def verify_fresh(target: Path, root: Path, *, progress: Progress) -> BackupInfo:
    """Verify a backup that was just made of a data folder, within ``unfinished_backup.until_verified``."""
    try:
        return await verify(target, place=root, progress=progress)
    except StorageError as error:
        if error.code == "damaged":
            raise StorageError(MISMATCH, code="damaged", recoverable=True, path=target, detail=str(error)) from error
        raise


@asynccontextmanager
async def _unpacking_place(root: Path | None) -> AsyncIterator[tuple[Path, FolderLock]]:
    """Give the path of a folder to unpack a backup in, and the lock of the one above it; both are deleted at the end.

    In the data folder, because the system's temporary folder is often small or in memory; ``delete_left`` deletes what
    a killed process left there.
    """
    inside = root if root is not None and await in_storage_thread(os.access, root, os.W_OK) else None
    try:
        folder = Path(await in_storage_thread(tempfile.mkdtemp, prefix=VERIFYING, dir=inside))
    except OSError as error:
        raise database_errors.from_os_error(error, inside or Path(tempfile.gettempdir())) from error
    lock = await FolderLock.acquire(folder)
    try:
        yield folder / "unpacked", lock
    finally:
        lock.release()
        await shielded(shutil.rmtree, folder, ignore_errors=True)


def delete_left(root: Path) -> None:
    """Delete what killed processes unpacked to verify a backup; what another one unpacks at present is locked.

    What cannot be locked or deleted, as the folder of another user, stays.
    """
    for folder in root.glob(f"{VERIFYING}*"):
        with suppress(StorageError):
            if (lock := FolderLock.claim(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()
                shutil.rmtree(folder, ignore_errors=True)  # the file of the lock, where folders cannot be locked


async def unpack_and_check(
    path: Path,
    folder: Path,
    lock: FolderLock | None,
    root: Path | None,
    progress: Progress,
) -> BackupInfo:
    """Unpack a backup into a new folder and check it, as ``verify``."""
    manifest = await stoppable(_unpack, path, folder, progress=part(progress, 0, UNPACKED))
    own = root is not None and backup_signature.is_own(
        root, {name: value for name, value in manifest.items() if name != "size"}
    )
    try:
        found = await inspect(
            folder / "database", lock=lock, trusted=own or root is None, progress=part(progress, UNPACKED, 1)
        )
    except StorageError as error:
        if error.code == "newer_schema":
            raise StorageError(NEWER_BACKUP, code="newer_schema", path=path) from error
        if error.code == "older_schema":
            raise StorageError(
                OLDER_BACKUP, code="older_schema", path=path, found=error.params["found"], oldest=error.params["oldest"]
            ) from error
        raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=str(error)) from error
    wanted = manifest["counts"]
    different = [
        f"{name}: {found.counts.get(name, 0)}/{count}"
        for name, count in wanted.items()
        if found.counts.get(name, 0) != count
    ]
    if different or found.schema != manifest["schema"]:
        raise StorageError(
            BAD_BACKUP, code="damaged", path=path, detail=", ".join(different) or f"schema {found.schema}"
        )
    return BackupInfo(
        path,
        found.schema,
        found.counts,
        manifest["created_at"],
        manifest["size"],
        files=len(manifest["files"]),
        damaged=found.damaged,
        attachments=found.attachments,
        damaged_rows=found.damaged_rows,
        own=own,
    )


def hold(database: Path, root: Path, stage: Path, report: Report = no_progress) -> None:
    """Put what a backup contains into a new folder as it is now, in a moment: meanwhile nothing may be written.

    Files that are only ever replaced or deleted get a second name there; where that is impossible, those that the
    engine appends to, and tools, which a person's editor may write in place, are copied. ``report`` may end it before
    each: where no second names are possible, it takes as long as a copy of the database.

    Raises:
        StorageError: ``damaged`` when the engine has just deleted a file, and a problem with the disk.
    """
    changing = {*(database / "wal").glob("*"), *(database / "manifest").glob("*"), *database.glob("*")}
    changing |= {*sorted((database / "vlog").glob("*"))[-1:], *(root / "tools").rglob("*")}
    try:
        for name in FOLDERS:
            folder = database if name == "database" else root / name
            (stage / name).mkdir(mode=0o700, parents=True)
            for path in sorted(folder.rglob("*")):
                report(0, 1)
                copy = stage / name / path.relative_to(folder)
                if path.is_symlink():
                    continue  # a link may point to anything on this machine
                if path.is_dir():
                    copy.mkdir(exist_ok=True)
                elif path.is_file() and path != database / LOCK_FILE:
                    with suppress(OSError):
                        if path not in changing:
                            os.link(path, copy)
                    if not copy.exists():
                        shutil.copy2(path, copy)
    except FileNotFoundError as error:
        raise StorageError(MISMATCH, code="damaged", recoverable=True, path=stage, detail=str(error)) from error
    except OSError as error:
        raise database_errors.from_os_error(error, stage) from error


def pack(folders: Path, root: Path, target: Path, manifest: dict[str, object], report: Report = no_progress) -> None:
    """Write the zip and sync it.

    Args:
        folders: what contains the folders to pack: ``root``, or what ``hold`` made.
        root: the data folder, whose key signs the backup.
    """
    size = sum(database_preflight.size_of(folders / name) for name in FOLDERS)
    done = 0

    def count(read: int) -> None:
        nonlocal done
        done += read
        report(done, size)

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("w+b") as file:
            target.chmod(0o600)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as archive:
                hashes: dict[str, str] = {}
                for name in FOLDERS:
                    hashes |= _add_folder(archive, folders / name, name, count)
                archive.writestr(
                    MANIFEST, json.dumps(backup_signature.signed(root, {**manifest, "files": hashes}), indent=1)
                )
                archive.comment = bytes(SEAL_BYTES)
            file.write(_seal(file, lambda _read: count(0)))
            file.flush()
            os.fsync(file.fileno())
    except FileNotFoundError as error:
        raise StorageError(MISMATCH, code="damaged", recoverable=True, path=target, detail=str(error)) from error
    except OSError as error:
        written = target.stat().st_size if target.exists() else 0
        raise database_errors.from_os_error(error, target, written=written, size=size) from error


def _add_folder(archive: zipfile.ZipFile, folder: Path, name: str, count: Callable[[int], None]) -> dict[str, str]:
    """Add a folder to the archive; ``count`` is called with the size of each chunk.

    Returns the SHA-256 of each added file by its name there.
    """
    hashes = {}
    archive.writestr(f"{name}/", "")
    for path in sorted(folder.rglob("*")):
        entry = f"{name}/{path.relative_to(folder).as_posix()}"
        if path.is_symlink():
            continue  # a link may point to anything on this machine
        if path.is_dir():
            archive.writestr(f"{entry}/", "")
        elif path.is_file() and entry != f"database/{LOCK_FILE}":
            info = zipfile.ZipInfo.from_file(path, entry, strict_timestamps=False)
            info.compress_type = archive.compression
            digest = hashlib.sha256()
            with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as copy:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    copy.write(chunk)
                    count(len(chunk))
            hashes[entry] = digest.hexdigest()
    return hashes


def _seal(file: BinaryIO, count: Callable[[int], None] = lambda _read: None) -> bytes:
    """Return the comment that must end the file: the hash of all bytes before it. Leaves the file at that position."""
    left = file.seek(-SEAL_BYTES, os.SEEK_END)
    file.seek(0)
    digest = hashlib.sha256()
    while left and (chunk := file.read(min(left, CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
        count(len(chunk))
    return SEAL + digest.hexdigest().encode()


def _unpack(path: Path, folder: Path, report: Report = no_progress) -> dict[str, Any]:
    """Unpack into a folder and return the manifest.

    Refuses entries that would leave the folder, and any changed byte.
    """
    done = whole = 0

    def count(read: int) -> None:
        nonlocal done
        done += read
        report(done, whole)

    try:
        if path.exists() and not path.is_file():
            raise StorageError(NO_BACKUP, code="damaged", path=path)
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
                raise ValueError(MANIFEST)
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
            if manifest["format"] > FORMAT:
                raise StorageError(NEWER_BACKUP, code="newer_schema", path=path)
            whole = path.stat().st_size + sum(item.file_size for item in archive.infolist())
            with path.open("rb") as file:
                if _seal(file, count) != file.read():
                    raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=StorageError(UNSEALED))
            _check_room(archive, folder)
            found: dict[str, str] = {}
            for item in archive.infolist():
                if not (folder / item.filename).resolve().is_relative_to(folder.resolve()):
                    raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=item.filename)
            folder.mkdir(mode=0o700, exist_ok=True)
            for item in archive.infolist():
                found |= _extract(archive, item, folder.resolve(), count)
        del found[MANIFEST]
        wanted = manifest["files"]
        if wrong := sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)):
            raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=", ".join(wrong))
        return {**manifest, "size": path.stat().st_size}
    except AtelierError:
        raise
    except FileNotFoundError as error:
        raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=error.strerror) from error
    # a damaged zip fails in many ways, for example as encrypted or as compressed by another method
    except Exception as error:
        # seeking before the start of the file
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            written = database_preflight.size_of(folder)
            raise database_errors.from_os_error(error, folder, written=written, size=whole) from error
        raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=str(error)) from error


def _check_room(archive: zipfile.ZipFile, folder: Path) -> None:
    """Refuse to unpack what would fill the disk.

    A small zip can expand to any size. Never unpacks more than it declares.
    """
    database_preflight.require_room(folder, sum(item.file_size for item in archive.infolist()))


def _extract(
    archive: zipfile.ZipFile, item: zipfile.ZipInfo, folder: Path, count: Callable[[int], None]
) -> dict[str, str]:
    """Unpack an entry into a folder, which it does not leave. Returns its SHA-256 by its name, nothing for a folder."""
    path = (folder / item.filename).resolve()
    if item.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return {}
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with archive.open(item) as source, path.open("wb") as copy:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            copy.write(chunk)
            count(len(chunk))
    return {path.relative_to(folder).as_posix(): digest.hexdigest()}


def manifest_of(version: int, counts: dict[str, int], created: datetime) -> dict[str, object]:
    """Return the manifest of a backup or an export, without the hashes of its files (``files``)."""
    return {"format": FORMAT, "schema": version, "created_at": created.isoformat(), "counts": counts}


def stamp_of(time: datetime) -> str:
    return time.strftime("%Y%m%dT%H%M%S%fZ")
