"""Opening and reading through a database directory in a process of its own.

A damaged file can abort the engine instead of giving an error; then only the helper process dies. The helper ends when its parent does,
and holds the parent's lock of the data folder until then.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import atelier_desk
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.i18n import N_
from atelier_desk.storage import errors, preflight, schema
from atelier_desk.storage.engine import Engine
from atelier_desk.storage.lock import FolderLock
from atelier_desk.storage.schema import Migrator

READ_PAGE = 500
ABORTED = N_("the engine stopped while it read the files")


class Inspection(NamedTuple):
    """What a directory holds: its schema version and the rows of each table."""

    schema: int
    counts: dict[str, int]


async def inspect(directory: Path, *, read: bool = True, lock: FolderLock | None = None) -> Inspection:
    """Open a database that nobody else has open, read every row (with ``read`` False only count them), and close it.

    Args:
        lock: the lock of the data folder the directory is in, which the caller holds; None for a copy that nobody else knows of.

    Raises:
        StorageError: ``locked``, ``missing_manifest``, ``damaged`` or ``newer_schema``; a helper that was aborted counts as ``damaged``.
    """
    if not preflight.has_content(directory) or not preflight.manifest_exists(directory):
        raise StorageError(errors.MISSING_MANIFEST, code="missing_manifest", path=directory)
    status, output = await _run_helper(directory, read, lock)
    if status == 0:
        result = json.loads(output)
        if "error" in result:
            raise StorageError(result["template"], code=result["error"], **result["params"])
        return Inspection(result["schema"], result["counts"])
    if status == 1:  # Python's own failure, which says nothing about the files
        raise StorageError(errors.QUERY, code="query", detail=output.strip().splitlines()[-1] if output.strip() else "")
    raise StorageError(errors.DAMAGED, code="damaged", path=directory, detail=ABORTED)


def _environment() -> dict[str, str]:
    """The helper finds this very package, wherever it starts."""
    root = str(Path(atelier_desk.__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}


async def _run_helper(directory: Path, read: bool, lock: FolderLock | None) -> tuple[int, str]:
    """Exit status of the helper and what it printed; an abort gives a negative status, on Windows a large one."""
    lifeline, ours = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "atelier_desk.storage.inspect", os.fspath(directory), "read" if read else "count"),
            stdin=lifeline,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
            pass_fds=() if lock is None or sys.platform == "win32" else (lock.descriptor,),
        )
        try:
            output, complaint = await process.communicate()
        except BaseException:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
    finally:
        os.close(lifeline)
        os.close(ours)
    status = process.returncode or 0
    return status, (complaint if status == 1 else output).decode(errors="replace")


def _end_with_parent() -> None:
    """The other end of standard input is open for as long as the parent lives and waits."""
    os.read(0, 1)
    os._exit(2)


def main(directory: str, mode: str) -> None:
    """The helper: prints what it found, or the error, as JSON."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    result: dict[str, Any]
    try:
        result = asyncio.run(_read_through(Path(directory), mode == "read"))
    except AtelierError as error:
        params = {name: str(value) for name, value in error.params.items()}
        result = {"error": error.code, "template": error.template, "params": params}
    sys.stdout.write(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the engine is closed; ending without the interpreter's shutdown cannot abort


async def _read_through(directory: Path, read: bool) -> dict[str, Any]:
    engine = await Engine.open(directory)
    try:
        version = await schema.current(engine)
        if version > schema.latest():
            raise StorageError(errors.NEWER_SCHEMA, code="newer_schema", path=directory, found=version, known=schema.latest())
        count = count_by_reading if read else count_rows
        counts = {name: await count(engine, name) for name in await schema.tables(engine)}
    finally:
        await engine.close()
    return {"schema": version, "counts": counts}


async def count_rows(engine: Engine, table: str) -> int:
    """How many rows a table has."""
    rows = (await Migrator(engine).run(f"SELECT count() AS n FROM {table} GROUP ALL"))[0]  # noqa: S608
    return rows[0]["n"] if rows else 0


async def count_by_reading(engine: Engine, table: str) -> int:
    """How many rows a table has, each of them read whole.

    Raises:
        StorageError: ``damaged`` when they cannot be read.
    """
    count, after = 0, None
    while True:
        condition = "WHERE id > $after" if after is not None else ""
        rows = (await Migrator(engine).run(f"SELECT * FROM {table} {condition} ORDER BY id LIMIT {READ_PAGE}", after=after))[0]  # noqa: S608
        if not rows:
            return count
        count += len(rows)
        after = rows[-1]["id"]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
