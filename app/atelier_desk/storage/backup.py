"""Backups: one zip file with a copy of the database, the reports, the user's own tools and the attachments, proven by opening the copy.

The copy is made while no write runs. It is then unpacked, opened in a process of its own and read through, and its rows are counted.
Nothing in the file can change unnoticed: its list of contents has the SHA-256 of every file in it, and the comment that ends the zip the
SHA-256 of all bytes before it, also of those that no file of it covers.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import AtelierError, ConflictError, StorageError
from atelier_desk.hashing import sha256_of
from atelier_desk.i18n import N_
from atelier_desk.storage import errors
from atelier_desk.storage.datadir import DataDir
from atelier_desk.storage.files import sync_folder
from atelier_desk.storage.inspect import inspect
from atelier_desk.storage.lock import FolderLock, uninterrupted
from atelier_desk.storage.store import Store
from atelier_desk.threads import in_storage_thread

FORMAT = 1
MANIFEST = "backup.json"
FOLDERS = ("database", "reports", "tools", "attachments")
"""What a backup holds of the data folder. Settings, agents and providers are in the database; pictures that were sent, in its events."""
SEAL = b"sha256:"
"""Begins the comment of the zip; 64 hexadecimal digits follow and end the file."""
SEAL_BYTES = len(SEAL) + 64
CHUNK = 1024 * 1024
ATTEMPTS = 3
"""The engine may rearrange its files while they are copied, without a write; then the copy is made again."""
UNPACKING = "unpacking-"
RESTORING = "restoring-"
BAD_BACKUP = N_("The backup {path} cannot be used: {detail}. Choose another backup file.")
NEWER_BACKUP = N_("The backup {path} was made by a newer Atelier. Update Atelier, then restore it.")
MISMATCH = N_("The backup {path} does not hold what the database holds ({detail}) and was deleted. Try again.")
UNSEALED = N_("its bytes do not have the checksum at its end")
EXISTS = N_("There is a file at {path} already; choose another name for the backup.")
IN_USE = N_("The data in {path} is in use. Close Atelier before a backup is restored.")


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
        damaged: reports in it (``<workflow id>/<name>.md``) that were missing, damaged or changed by another program when it was made.
        replaced: after a restore, the folder that the replaced data went to.
    """

    path: Path
    schema: int
    counts: dict[str, int]
    created_at: str
    size: int
    files: int = 0
    damaged: tuple[str, ...] = ()
    replaced: Path | None = None


async def create(store: Store, datadir: DataDir, target: Path) -> BackupInfo:
    """Back up an open database with the files that belong to it into a new zip file, and verify it.

    A report that was damaged before is copied as it is and named in the result.

    Raises:
        ConflictError: the target exists.
        StorageError: ``disk_full``, ``read_only``, or ``damaged`` when the copy does not hold what the database holds.
    """
    if store.path is None:
        raise StorageError(BAD_BACKUP, code="query", path=target, detail=N_("a database in memory has no files"))
    if await in_storage_thread(target.exists):
        raise ConflictError(EXISTS, path=target)
    for attempt in range(ATTEMPTS):
        try:
            async with store.quiet():
                counts = await store.counts()
                manifest = _manifest(store.version, counts, store.clock.now())
                await uninterrupted(_pack, store.path, datadir.root, target, manifest)
            return await _verify_fresh(target)
        except StorageError as error:
            if error.code != "damaged" or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


async def before_migration(directory: Path, backups: Path, version: int, clock: Clock, lock: FolderLock) -> BackupInfo:
    """Back up a closed database before its schema changes. The caller holds the data folder's lock.

    Raises:
        StorageError: it could not be made or does not hold what the database holds; then nothing may be migrated.
    """
    found = await inspect(directory, lock=lock)
    target = backups / f"before-schema-{version + 1}-{_stamp(clock.now())}.zip"
    await uninterrupted(_pack, directory, directory.parent, target, _manifest(version, found.counts, clock.now()))
    return await _verify_fresh(target)


async def verify(path: Path) -> BackupInfo:
    """Unpack a backup into a temporary folder, open it, read it through and compare every file and row with its list of contents.

    Raises:
        StorageError: ``damaged`` or ``newer_schema``.
    """
    with tempfile.TemporaryDirectory(prefix="atelier-verify-") as folder:
        return await _unpack_and_check(path, Path(folder))


async def restore(path: Path, datadir: DataDir, clock: Clock | None = None) -> BackupInfo:
    """Put a backup in the place of the data. The data it replaces is kept in ``backups/replaced-<time>``.

    The data folder is locked from before the first look until after the last move. The change is all or nothing: a program killed in the
    middle finishes it at the next start.

    Raises:
        StorageError: ``locked`` when the data is in use; ``damaged`` or ``newer_schema`` when the backup cannot be used, and then
            nothing was changed.
    """
    await in_storage_thread(datadir.ensure)
    try:
        lock = await FolderLock.acquire(datadir.root)
    except StorageError as error:
        if error.code == "locked":
            raise StorageError(IN_USE, code="locked", recoverable=True, path=datadir.root) from error
        raise
    try:
        await uninterrupted(finish_restore, datadir.root)
        stamp = _stamp((clock or SystemClock()).now())
        unpacked = datadir.root / f"{UNPACKING}{stamp}"
        try:
            info = await _unpack_and_check(path, unpacked, lock)
            await uninterrupted(_make_ready, unpacked, datadir.root / f"{RESTORING}{stamp}")
        finally:
            await uninterrupted(shutil.rmtree, unpacked, ignore_errors=True)
        replaced = await uninterrupted(finish_restore, datadir.root)
    finally:
        lock.release()
    return BackupInfo(**{**_fields(info), "replaced": replaced})


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
            aside = root / "backups" / f"replaced-{ready.name.removeprefix(RESTORING)}"
            for name in FOLDERS:
                if (ready / name).is_dir():
                    _swap(root / name, ready / name, aside)
            sync_folder(root)
            shutil.rmtree(ready)
            kept = aside if aside.exists() else None
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


def _make_ready(unpacked: Path, ready: Path) -> None:
    """From here on the restore is finished whatever happens, so everything unpacked is on the disk before."""
    for folder, _folders, files in os.walk(unpacked):
        for name in files:
            with (Path(folder) / name).open("rb+") as file:
                os.fsync(file.fileno())
        sync_folder(Path(folder))
    unpacked.replace(ready)
    sync_folder(ready.parent)


async def _verify_fresh(target: Path) -> BackupInfo:
    """Verify a backup that was just made; one that fails is deleted."""
    try:
        return await verify(target)
    except StorageError as error:
        await in_storage_thread(target.unlink, missing_ok=True)
        if error.code == "damaged":
            raise StorageError(MISMATCH, code="damaged", recoverable=True, path=target, detail=str(error)) from error
        raise


async def _unpack_and_check(path: Path, folder: Path, lock: FolderLock | None = None) -> BackupInfo:
    manifest = await uninterrupted(_unpack, path, folder)
    try:
        found = await inspect(folder / "database", lock=lock)
    except StorageError as error:
        if error.code == "newer_schema":
            raise StorageError(NEWER_BACKUP, code="newer_schema", path=path) from error
        raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=str(error)) from error
    wanted = manifest["counts"]
    different = [f"{name}: {found.counts.get(name, 0)}/{count}" for name, count in wanted.items() if found.counts.get(name, 0) != count]
    if different or found.schema != manifest["schema"]:
        raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=", ".join(different) or f"schema {found.schema}")
    return BackupInfo(
        path, found.schema, found.counts, manifest["created_at"], manifest["size"], files=len(manifest["files"]), damaged=found.damaged
    )


def _pack(database: Path, root: Path, target: Path, manifest: dict[str, Any]) -> None:
    """Write the zip beside its target, sync it, rename it."""
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as archive:
                hashes: dict[str, str] = {}
                for name in FOLDERS:
                    hashes |= _add_folder(archive, database if name == "database" else root / name, name)
                archive.writestr(MANIFEST, json.dumps({**manifest, "files": hashes}, indent=1))
                archive.comment = bytes(SEAL_BYTES)
            file.write(_seal(file))
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o600)
        temporary.replace(target)
        sync_folder(target.parent)
    except FileNotFoundError as error:
        raise StorageError(MISMATCH, code="damaged", recoverable=True, path=target, detail=str(error)) from error
    except OSError as error:
        raise errors.from_os_error(error, target) from error
    finally:
        temporary.unlink(missing_ok=True)


def _add_folder(archive: zipfile.ZipFile, folder: Path, name: str) -> dict[str, str]:
    """Put a folder into the archive. Returns the SHA-256 of each file as it was put in, by its name there."""
    hashes = {}
    archive.writestr(f"{name}/", "")
    for path in sorted(folder.rglob("*")):
        entry = f"{name}/{path.relative_to(folder).as_posix()}"
        if path.is_symlink():
            continue  # what it points to may be anything of this machine
        if path.is_dir():
            archive.writestr(f"{entry}/", "")
        elif path.is_file() and entry != "database/LOCK":
            info = zipfile.ZipInfo.from_file(path, entry, strict_timestamps=False)
            info.compress_type = archive.compression
            digest = hashlib.sha256()
            with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as copy:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    copy.write(chunk)
            hashes[entry] = digest.hexdigest()
    return hashes


def _seal(file: BinaryIO) -> bytes:
    """What the file has to end with: the hash of all bytes before that place. The file is left there."""
    left = file.seek(-SEAL_BYTES, os.SEEK_END)
    file.seek(0)
    digest = hashlib.sha256()
    while left and (chunk := file.read(min(left, CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    return SEAL + digest.hexdigest().encode()


def _unpack(path: Path, folder: Path) -> dict[str, Any]:
    """Unpack into a folder and return the list of contents; entries that would leave the folder are refused, and so is every bit that is
    not as it was written."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
            if manifest["format"] > FORMAT:
                raise StorageError(NEWER_BACKUP, code="newer_schema", path=path)
            for item in archive.infolist():
                if not (folder / item.filename).resolve().is_relative_to(folder.resolve()):
                    raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=item.filename)
            folder.mkdir(mode=0o700, exist_ok=True)
            archive.extractall(folder)
        wrong = _differences(folder, manifest["files"])
        if wrong:
            raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=", ".join(wrong))
        with path.open("rb") as file:
            if _seal(file) != file.read():
                raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=StorageError(UNSEALED))
        return {**manifest, "size": path.stat().st_size}
    except AtelierError:
        raise
    except FileNotFoundError as error:
        raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=error.strerror) from error
    except Exception as error:  # a damaged zip fails in many ways: also as encrypted, or compressed by another method
        if isinstance(error, OSError) and error.errno is not None:
            raise errors.from_os_error(error, folder) from error
        raise StorageError(BAD_BACKUP, code="damaged", path=path, detail=str(error)) from error


def _differences(folder: Path, hashes: dict[str, str]) -> list[str]:
    """Names of the unpacked files that are missing, not listed, or not as they are listed."""
    found = {path.relative_to(folder).as_posix(): sha256_of(path) for path in folder.rglob("*") if path.is_file()}
    del found[MANIFEST]
    return sorted(name for name in found.keys() | hashes.keys() if found.get(name) != hashes.get(name))


def _manifest(version: int, counts: dict[str, int], created: datetime) -> dict[str, Any]:
    return {"format": FORMAT, "schema": version, "created_at": created.isoformat(), "counts": counts}


def _stamp(time: datetime) -> str:
    return time.strftime("%Y%m%dT%H%M%S%fZ")


def _fields(info: BackupInfo) -> dict[str, Any]:
    return {**asdict(info), "path": info.path}
