"""Unpacking a sample, and reading the rows of a database as the engine returns them, whatever its schema."""

from __future__ import annotations

import tarfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from atelier_desk.storage.copies.jsonl_export_import import to_plain
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.migration_registry import Migrator

SAMPLES = Path(__file__).parent
Run = Callable[[str], Awaitable[list[Any]]]
"""Runs statements and returns the result of each."""
Rows = dict[str, dict[str, Any]]
"""By table and by the text of a row's id, the row as JSON."""


def versions() -> list[int]:
    """The schema versions that have a sample."""
    return sorted(
        int(file.name.removeprefix("schema-").removesuffix(".tar.xz")) for file in SAMPLES.glob("schema-*.tar.xz")
    )


def unpack(version: int, folder: Path) -> Path:
    """Unpack ``data`` (a data folder), ``backup.zip`` and ``rows.json`` into a new folder; returns that folder."""
    with tarfile.open(SAMPLES / f"schema-{version}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


async def read_rows(database: Path) -> Rows:
    """Every row of a closed database."""
    engine = await Engine.open(database)
    try:
        return await rows_of(Migrator(engine).run)
    finally:
        await engine.close()


async def rows_of(run: Run) -> Rows:
    """Every row of an open database."""
    names = sorted((await run("INFO FOR DB"))[0]["tables"])
    found = {name: (await run(f"SELECT * FROM {name}"))[0] for name in names}
    return {name: {str(row["id"]): to_plain(row) for row in rows} for name, rows in found.items()}
