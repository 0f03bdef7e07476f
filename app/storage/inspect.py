"""Opening and reading through a database directory in a process of its own.

A damaged file can abort the engine instead of giving an error; then only the helper process dies.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from app.domain.errors import AtelierError, StorageError
from app.i18n import N_
from app.storage import errors, preflight, schema
from app.storage.engine import Engine
from app.storage.schema import Migrator

READ_PAGE = 500
ABORTED = N_("the engine stopped while it read the files")


class Inspection(NamedTuple):
    """What a directory holds: its schema version and the rows of each table, all of which were read."""

    schema: int
    counts: dict[str, int]


async def inspect(directory: Path, *, read: bool = True) -> Inspection:
    """Open a database that nobody else has open, read every row (with ``read`` False only count them), and close it.

    Raises:
        StorageError: ``locked``, ``missing_manifest``, ``damaged`` or ``newer_schema``; a helper that was aborted counts as ``damaged``.
    """
    if not preflight.has_content(directory) or not preflight.manifest_exists(directory):
        raise StorageError(errors.MISSING_MANIFEST, code="missing_manifest", path=directory)
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        try:
            result = await loop.run_in_executor(pool, _inspect, str(directory), read)
        except BrokenProcessPool as error:
            raise StorageError(errors.DAMAGED, code="damaged", path=directory, detail=ABORTED) from error
    if "error" in result:
        raise StorageError(result["template"], code=result["error"], **result["params"])
    return Inspection(result["schema"], result["counts"])


def _inspect(directory: str, read: bool) -> dict[str, Any]:
    """Runs in the helper; gives plain values because errors with a template do not survive pickling."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    os.close(silence)
    try:
        return asyncio.run(_read_through(Path(directory), read))
    except AtelierError as error:
        params = {name: str(value) for name, value in error.params.items()}
        return {"error": error.code, "template": error.template, "params": params}


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
