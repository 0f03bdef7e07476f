"""Logical export and import: JSON Lines, one file per table, with a versioned manifest.

Independent of the engine's own files, whose format may change between versions. Values without a JSON form are tagged:
``{"$time": …}``, ``{"$bytes": …}`` (base64), ``{"$record": [table, key]}``; an object whose only key begins with ``$``
is written as ``{"$object": [[key, value]]}``.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from atelier_desk.domain.errors import ConflictError, StorageError, UsageError
from atelier_desk.storage import damaged_row_search, database_errors, migration_registry
from atelier_desk.storage.compressed_text import packed, unpacked
from atelier_desk.storage.copies import backup_signature
from atelier_desk.storage.copies.backup_file import FOLDERS, FORMAT, manifest_of
from atelier_desk.storage.damage_report import Damage
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.atomic_files import hashes_in, sync_folder, write_atomic
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.data_folder.lock import shielded
from atelier_desk.storage.row_mapping import plain_time, record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.surrealdb_driver_loader import surrealdb
from atelier_desk.storage.table_pages import Run, insertion, read_pages
from atelier_desk.support.hashing import sha256_of
from atelier_desk.support.i18n import N_
from atelier_desk.support.regular_files import open_plain
from atelier_desk.support.threads import in_storage_thread

MANIFEST = "manifest.json"
PAGE = 500
PAGE_BYTES = 16 * 1024**2
LINE_BYTES = 256 * 1024**2
"""Maximum bytes of a row, and of the manifest, which are read into memory."""
LEFT_OUT = frozenset({"schema_version"})
"""Tables that belong to the data folder: neither exported nor imported."""
HASHED = frozenset({"workflow", "run", "run_event", "message", "tool_execution", "prompt_frame"})
HASHES = frozenset({"hash", "prev_hash", "wrote", "last_hash"})
"""Tables whose rows have hashes or are linked by them, and the columns for that."""
ADDED: dict[str, dict[str, object]] = {
    "approval_request": {"always": []},
    "memory": {"proposed": False, "tainted": [], "turn_id": ""},
    "run": {"tainted": []},
    "tool_execution": {"taint": ""},
    "workflow": {"draft_attachments": "[]"},
}
"""Required columns that exports of versions 1 to 3 lack, with the values of rows from before them."""
_BROKEN = (OSError, ValueError, KeyError, TypeError, RecursionError, IndexError, AttributeError)
"""What reading a file that is none of an export raises."""
NOT_AN_EXPORT = N_("{path} is not an Atelier export: {detail}")
CHANGED = N_(
    "{path} was damaged or changed after the export. If it was changed on purpose, remove its line from {manifest}."
)
NEWER_EXPORT = N_("The export in {path} was written by a newer version of Atelier. Update Atelier, then import it.")
NOT_EMPTY = N_("The database already contains data ({table}); an export can only be imported into an empty one.")
FOLDER_IN_USE = N_("The folder {path} is not empty; choose a new one for the export.")


class TransferInfo(NamedTuple):
    """Result of an export or import: folder, schema version and rows by table; for an export also its damaged rows."""

    path: Path
    schema: int
    counts: dict[str, int]
    damaged_rows: tuple[Damage, ...] = ()


async def export_jsonl(
    store: Store, target: Path, *, datadir: DataDir | None = None, progress: Callable[[int], None] | None = None
) -> TransferInfo:
    """Write every table into a new folder.

    Creates ``<table>.jsonl`` files; with ``datadir`` the reports, own tools and attachments in folders of these names;
    and, last, ``manifest.json`` with the SHA-256 of every file. Writes are held back meanwhile, so that the tables are
    consistent. ``progress`` is called with the number of rows written.

    If that fails or is cancelled, the folder is empty.

    Raises:
        ConflictError: the folder is not empty.
        StorageError: ``disk_full``, ``read_only`` or ``io``.
    """
    if await in_storage_thread(_in_use, target):
        raise ConflictError(FOLDER_IN_USE, path=target)
    try:
        return await _export(store, target, datadir, progress)
    except BaseException as error:
        written = await shielded(_emptied, target)
        if isinstance(error, OSError):
            raise database_errors.from_os_error(error, target, size=max(store.size, written)) from error
        raise


async def _export(
    store: Store, target: Path, datadir: DataDir | None, progress: Callable[[int], None] | None
) -> TransferInfo:
    counts: dict[str, int] = {}
    damage = tuple(await damaged_row_search.damaged_anywhere(store))
    async with store.quiet():
        total = sum((await store.counts()).values())
        reading = store.bounded_reading(held=True)
        told = reading.following(lambda done, _total: progress(done) if progress else None)
        for table in await store.tables():
            if table not in LEFT_OUT:
                before = sum(counts.values())
                counts[table] = await _export_table(
                    reading.run,
                    table,
                    target,
                    lambda count: told(before + count, total),  # noqa: B023
                )
        if datadir is not None:
            await in_storage_thread(_copy_folders, datadir.root, target)
    hashes = await in_storage_thread(hashes_in, target)
    manifest = {**manifest_of(store.version, counts, store.clock.now()), "files": hashes}
    await in_storage_thread(write_atomic, target / MANIFEST, json.dumps(manifest, indent=1).encode())
    return TransferInfo(target, store.version, counts, damage)


async def import_jsonl(
    store: Store, source: Path, *, datadir: DataDir | None = None, progress: Callable[[int], None] | None = None
) -> TransferInfo:
    """Read an export into an empty database.

    Exports of every earlier version are read. Settings, agents, providers and models of a first start are replaced.
    With ``datadir``, its folder is marked as foreign (``backup_signature.MARKER``) before the first row, so that a kill
    leaves nothing active; the caller disables what the data grants and removes the mark.

    Raises:
        ConflictError: the database holds workflows or memories.
        StorageError: ``newer_schema`` for an export of a newer version, ``damaged`` when files are missing, truncated
            or changed; the database is then left empty.
    """
    manifest = await in_storage_thread(_read_manifest, source)
    if manifest["format"] > FORMAT or manifest["schema"] > migration_registry.latest():
        raise StorageError(NEWER_EXPORT, code="newer_schema", path=source)
    present = await store.counts()
    for table in ("workflow", "memory"):
        if present.get(table):
            raise ConflictError(NOT_EMPTY, table=table)
    for table in manifest["counts"]:
        if table not in present or table in LEFT_OUT:
            raise StorageError(NOT_AN_EXPORT, code="damaged", path=source, detail=table)
    await in_storage_thread(_check_hashes, source, manifest["files"])
    if datadir is not None:
        await in_storage_thread(backup_signature.mark, datadir.root)
        await in_storage_thread(_copy_folders, source, datadir.root)
    # Rows that a person edited no longer match their hashes, nor do the rows linked to them.
    without = frozenset() if {f"{table}.jsonl" for table in HASHED} <= manifest["files"].keys() else HASHES
    try:
        counts: dict[str, int] = {}
        for table, wanted in manifest["counts"].items():
            counts[table] = await _import_table(store, table, source, sum(counts.values()), progress, without)
            if counts[table] != wanted:
                raise StorageError(
                    NOT_AN_EXPORT, code="damaged", path=source, detail=f"{table}: {counts[table]}/{wanted}"
                )
    except BaseException:
        for table in manifest["counts"]:
            await store.write(Statement(f"DELETE {table} RETURN NONE", {}))
        if datadir is not None:
            await in_storage_thread(backup_signature.unmark, datadir.root)
        raise
    return TransferInfo(source, manifest["schema"], counts)


async def _export_table(run: Run, table: str, target: Path, progress: Callable[[int], None]) -> int:
    await in_storage_thread(target.mkdir, 0o700, True, True)
    computed = await _computed_columns(run, table)
    count = 0
    file = await in_storage_thread((target / f"{table}.jsonl").open, "w", encoding="utf-8", newline="\n")
    try:
        async for rows in read_pages(run, table):
            lines = [
                json.dumps(
                    {name: to_plain(value) for name, value in _texts(table, row).items() if name not in computed}
                )
                + "\n"
                for row in rows
            ]
            await in_storage_thread(file.writelines, lines)
            count += len(rows)
            progress(count)
        return count
    finally:
        await in_storage_thread(file.close)
        await in_storage_thread(sync_folder, target)


def _texts(table: str, row: dict[str, object]) -> dict[str, object]:
    """Return a row with its texts uncompressed, or unchanged when one is damaged."""
    try:
        return unpacked(table, row)
    except ValueError:
        return row


async def _import_table(
    store: Store, table: str, source: Path, before: int, progress: Callable[[int], None] | None, without: frozenset[str]
) -> int:
    path = source / f"{table}.jsonl"
    await store.write(Statement(f"DELETE {table} RETURN NONE", {}))
    store.last_hashes.clear()
    count, offset, added = 0, 0, ADDED.get(table, {})
    while True:
        rows, offset = await in_storage_thread(_read_rows, path, offset)
        if not rows:
            return count
        if (other := next((row for row in rows if not _belongs(row, table)), None)) is not None:
            raise StorageError(NOT_AN_EXPORT, code="damaged", path=path, detail=str(other.get("id"))[:80])
        if without and table in HASHED:
            rows = [{name: value for name, value in row.items() if name not in without} for row in rows]
        rows = [packed(table, {**added, **row}) for row in rows]
        try:
            await store.write(Statement(insertion(table, rows), {"rows": rows}))
        except UsageError as error:
            raise StorageError(NOT_AN_EXPORT, code="damaged", path=path, detail=error) from error
        count += len(rows)
        if progress:
            progress(before + count)


def _belongs(row: dict[str, object], table: str) -> bool:
    """Whether a row's id is one of this table: the engine would write it into the table that the id names."""
    id = row.get("id")
    return isinstance(id, surrealdb().RecordID) and id.table_name == table


async def _computed_columns(run: Run, table: str) -> frozenset[str]:
    """Return the columns that the schema computes; they are not exported."""
    fields = (await run(f"INFO FOR TABLE {table}"))[0]["fields"]
    return frozenset(name for name, definition in fields.items() if " VALUE " in definition)


def _copy_folders(source: Path, target: Path) -> None:
    for name in FOLDERS[1:]:  # without the database
        if (source / name).is_dir() and not (source / name).is_symlink():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True, ignore=_special)


def _special(folder: str, names: list[str]) -> list[str]:
    """Return what is neither a file nor a folder, and is skipped.

    A symbolic link may point to anything on this machine, and a pipe is never read to its end.
    """
    paths = ((name, Path(folder) / name) for name in names)
    return [name for name, path in paths if path.is_symlink() or not (path.is_file() or path.is_dir())]


def _check_hashes(source: Path, wanted: dict[str, str]) -> None:
    """Refuse files that are missing or changed; those that the manifest does not list may be anything."""
    inside = source.resolve()
    for name, digest in wanted.items():
        path = source / name
        if not (real := path.resolve()).is_relative_to(inside) or real != inside / name:  # elsewhere, or by a link
            raise StorageError(NOT_AN_EXPORT, code="damaged", path=source, detail=name)
        if not path.is_file() or sha256_of(path) != digest:
            raise StorageError(CHANGED, code="damaged", path=path, manifest=MANIFEST)


def _emptied(folder: Path) -> int:
    """Delete everything in a folder that may not exist; return its bytes."""
    size = database_preflight.size_of(folder)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    return size


def _in_use(target: Path) -> bool:
    return target.exists() and (not target.is_dir() or any(target.iterdir()))


def _read_manifest(source: Path) -> dict[str, Any]:
    try:
        with open_plain(source / MANIFEST, follow=False) as file:
            content = file.read(LINE_BYTES + 1)
        if len(content) > LINE_BYTES:
            raise ValueError(MANIFEST)
        manifest: dict[str, object] = json.loads(content)
        counts = manifest["counts"]
        if (
            not isinstance(manifest["format"], int)
            or not isinstance(manifest["schema"], int)
            or not isinstance(counts, dict)
        ):
            raise ValueError(MANIFEST)
        for table in counts:
            if not table.replace("_", "").isalpha():
                raise ValueError(table)
        if not isinstance(manifest.setdefault("files", {}), dict):
            raise TypeError(MANIFEST)
        return manifest
    except _BROKEN as error:
        raise StorageError(NOT_AN_EXPORT, code="damaged", path=source, detail=str(error)) from error


def _read_rows(path: Path, offset: int) -> tuple[list[dict[str, object]], int]:
    """Return up to ``PAGE`` rows, or about ``PAGE_BYTES``, from a byte offset, and the offset after them."""
    try:
        with open_plain(path, follow=False) as file:
            file.seek(offset)
            rows: list[dict[str, object]] = []
            while len(rows) < PAGE and file.tell() - offset < PAGE_BYTES and (line := file.readline(LINE_BYTES + 1)):
                if len(line) > LINE_BYTES:
                    raise ValueError(path.name)
                row = from_plain(json.loads(line), top=True)
                if not isinstance(row, dict):
                    raise TypeError(path.name)
                rows.append(row)
            return rows, file.tell()
    except _BROKEN as error:
        raise StorageError(NOT_AN_EXPORT, code="damaged", path=path, detail=str(error)) from error


def to_plain(value: object) -> object:
    """Convert a database value to JSON."""
    if isinstance(value, datetime):
        return {"$time": plain_time(value).isoformat()}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, surrealdb().RecordID):
        return {"$record": [value.table_name, to_plain(value.id)]}
    if isinstance(value, dict):
        plain = {name: to_plain(each) for name, each in value.items()}
        return {"$object": list(plain.items())} if len(plain) == 1 and next(iter(plain)).startswith("$") else plain
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value


def from_plain(value: object, *, top: bool = False) -> object:
    """Inverse of ``to_plain``; ``top`` is True for a row, which is never a tagged value."""
    if isinstance(value, list):
        return [from_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and not top:
        tag, content = next(iter(value.items()))
        if tag == "$time":
            return datetime.fromisoformat(content)
        if tag == "$bytes":
            return base64.b64decode(content, validate=True)
        if tag == "$record":
            return record(content[0], from_plain(content[1]))
        if tag == "$object":
            return {name: from_plain(each) for name, each in content}
    return {name: from_plain(each) for name, each in value.items()}
