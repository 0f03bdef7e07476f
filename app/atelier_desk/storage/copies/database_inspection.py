"""Open and read a database directory in a separate process.

A damaged file can abort the engine instead of raising an error; then only the helper process dies. The helper ends with
its parent and holds the parent's lock of the data folder until then.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors, migration_registry
from atelier_desk.storage.copies.bounded_memory_reading import BoundedReading
from atelier_desk.storage.copies.progress_and_cancellation import Progress, no_progress, part
from atelier_desk.storage.damage_report import Damage
from atelier_desk.storage.data_folder import database_preflight
from atelier_desk.storage.data_folder.atomic_files import files_of, plain_name, read_hashed, report_path
from atelier_desk.storage.data_folder.lock import FolderLock
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.table_pages import READ_PAGE, Run, count_by_reading, count_rows, rows_after
from atelier_desk.support.hashing import sha256_of
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread
from atelier_desk.support.worker.child import serve
from atelier_desk.support.worker.environment import environment
from atelier_desk.support.worker.errors import Failed, WorkerError
from atelier_desk.support.worker.requests_to_child import ask_once

NAMING = {"message": "details", "tool_execution": "parts"}
"""Tables whose rows name files of their workflow, and the JSON column that does so."""
_HASH = re.compile("[0-9a-f]{64}")
CHECKED = 0.7
"""Part of the time of an inspection in which hashes are compared; then every row is read, whatever its columns are."""
_MODULE = "atelier_desk.storage.copies.database_inspection"
ABORTED = N_("the database engine stopped while reading the files")
FOREIGN = N_("its database contains definitions that Atelier did not create ({names})")


class DamagedAttachment(NamedTuple):
    """An attachment or a tool's file that is missing or no longer matches its hash.

    Attributes:
        workflow: id of the workflow; ``workflow_name`` is its name.
        missing: the file does not exist: it was deleted, or an import came without it.
    """

    workflow: str
    workflow_name: str
    name: str
    sha256: str
    missing: bool


class Inspection(NamedTuple):
    """Contents of a database directory: schema version, number of rows by table, and damage.

    ``damaged_reports`` are files (``<workflow id>/<name>.md``) that are missing or do not match their rows, likewise
    the attachments; ``damaged_rows`` are missing or changed.
    """

    schema: int
    counts: dict[str, int]
    damaged: tuple[str, ...] = ()
    attachments: tuple[DamagedAttachment, ...] = ()
    damaged_rows: tuple[Damage, ...] = ()


async def inspect(
    directory: Path,
    *,
    read: bool = True,
    lock: FolderLock | None = None,
    trusted: bool = True,
    progress: Progress = no_progress,
) -> Inspection:
    """Open a database that nobody else has open, read every row and the reports beside it, and close it.

    With ``read`` False, only count the rows.

    Args:
        lock: the lock of the data folder that contains the directory, held by the caller; None for a private copy.
        trusted: this data folder made it. In a foreign one, no row is read before it is certain that nothing in it runs
            by itself.

    Raises:
        StorageError: ``locked``, ``missing_manifest``, ``damaged``, ``newer_schema`` or ``older_schema``; an aborted
            helper counts as ``damaged``. With ``memory_limit`` or ``clock`` nothing was inspected.
    """
    database_preflight.check_limits()
    if not database_preflight.has_content(directory) or not database_preflight.manifest_exists(directory):
        raise StorageError(database_errors.MISSING_MANIFEST, code="missing_manifest", path=directory)
    mode = "read" if read and trusted else "read-foreign" if read else "count"
    held = () if lock is None or sys.platform == "win32" else (lock.descriptor,)
    try:
        request = (os.fspath(directory), mode)
        asking = ask_once(
            _MODULE, request, limit_s=None, env=environment(), pass_fds=held, told=lambda value: progress(*value)
        )
        result = (await asking).value
    except Failed as error:
        if error.template:
            raise StorageError(error.template, code=error.code, **error.params) from error
        raise StorageError(database_errors.QUERY, code="query", detail=str(error)) from error
    except WorkerError as error:
        if error.code in ("signal", "exit"):
            raise StorageError(database_errors.DAMAGED, code="damaged", path=directory, detail=ABORTED) from error
        raise StorageError(
            database_errors.QUERY, code="query", detail=str(error)
        ) from error  # does not concern the files
    attachments = tuple(DamagedAttachment(*each) for each in result["attachments"])
    rows = tuple(Damage(*each) for each in result["damaged_rows"])
    return Inspection(result["schema"], result["counts"], tuple(result["damaged"]), attachments, rows)


async def _read_through(directory: Path, mode: str, progress: Progress) -> dict[str, object]:
    read = mode != "count"
    engine = await Engine.open(directory)
    try:
        version = await migration_registry.current(engine)
        migration_registry.check_version(version, directory)
        if mode == "read-foreign" and (foreign := await migration_registry.foreign_definitions(engine, SystemClock())):
            tables = ", ".join(name for name in foreign if name) or "*"
            raise StorageError(FOREIGN, code="damaged", names=tables)
        reading = BoundedReading.of_engine(engine)
        run = reading.run
        names = await migration_registry.tables(engine)
        from atelier_desk.storage import damaged_row_search  # loads the event types, which counting alone does not need

        counts = await count_rows(run, names)
        checking = reading.following(part(progress, 0, CHECKED))
        rows = await damaged_row_search.damaged_rows(run, checking) if read and version else []
        told, before, total = reading.following(part(progress, CHECKED, 1)), 0, sum(counts.values())
        # Rows of these tables that the engine cannot read are already among the damaged rows.
        for name in sorted({*names} - {each.table for each in rows}) if read else ():
            counts[name] = await count_by_reading(run, name, lambda done: told(before + done, total))  # noqa: B023
            before += counts[name]
        damaged = await damaged_reports(run, directory.parent / "reports") if read and "report" in names else []
        attachments = await damaged_attachments(run, directory.parent / "attachments", names) if read else []
    finally:
        await engine.close()
    return {"schema": version, "counts": counts, "damaged": damaged, "attachments": attachments, "damaged_rows": rows}


async def damaged_reports(run: Run, folder: Path) -> list[str]:
    """Return the reports whose file below ``folder`` is missing or does not match its row."""
    damaged = []
    for row in (await run("SELECT id, workflow, name, sha256 FROM report ORDER BY id"))[0]:
        path = report_path(folder, row["workflow"].id, row["name"])
        try:
            whole = await in_storage_thread(read_hashed, path, row["sha256"]) is not None
        except OSError:
            whole = False
        if not whole:
            damaged.append(path.relative_to(folder).as_posix())
    return damaged


async def damaged_attachments(
    run: Run, folder: Path, tables: Collection[str], progress: Callable[[int], None] | None = None
) -> list[DamagedAttachment]:
    """Return the attachments and tool files below ``folder`` that are missing or do not match their hash, once per
    workflow.

    ``progress`` is called with the number of files read.
    """
    names = (
        {row["id"].id: row["name"] for row in (await run("SELECT id, name FROM workflow"))[0]}
        if "workflow" in tables
        else {}
    )
    seen: set[tuple[str, str]] = set()
    found = []
    for table in sorted(NAMING.keys() & set(tables)):
        async for workflow, text in _naming(run, table, NAMING[table]):
            for name, sha256 in _named(json.loads(text)):
                if (workflow, sha256) in seen:
                    continue
                seen.add((workflow, sha256))
                path = files_of(folder, workflow) / plain_name(sha256)
                try:
                    whole, missing = await in_storage_thread(sha256_of, path) == sha256, False
                except OSError as error:
                    whole, missing = False, isinstance(error, FileNotFoundError)
                if not whole:
                    found.append(DamagedAttachment(workflow, names.get(workflow, ""), name, sha256, missing))
                if progress:
                    progress(len(seen))
    return found


async def _naming(run: Run, table: str, column: str) -> AsyncIterator[tuple[str, str]]:
    """Yield the workflow and the JSON of each row of a table that names a file."""
    after = None
    while True:
        source = rows_after(table, after)
        named = f"SELECT id, workflow, {column} FROM {source} WHERE string::contains({column}, 'sha256')"  # noqa: S608
        statement = f"{named} ORDER BY id LIMIT {READ_PAGE}"
        rows = (await run(statement, after=after))[0]
        if not rows:
            return
        for row in rows:
            yield row["workflow"].id, row[column]
        after = rows[-1]["id"]


def _named(value: object) -> Iterator[tuple[str, str]]:
    """Yield the name and hash of each file that a JSON value names."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, dict):
        for key in ("sha256", "text_sha256"):
            if isinstance(digest := value.get(key), str) and _HASH.fullmatch(digest):
                yield str(value.get("name", "")), digest
        for each in value.values():
            yield from _named(each)


if __name__ == "__main__":
    serve(
        lambda request, _data, tell: asyncio.run(
            _read_through(Path(request[0]), request[1], lambda *share: tell(share))
        )
    )
