"""Drafts keep what is attached; runs and memories what was read from outside before them. Folders made before have no such fields, and
some not the newest of the first tables."""

from __future__ import annotations

from atelier_desk.storage.migrations.m0001_first_tables import first_tables
from atelier_desk.storage.schema import Migrator, migration

FILLED = {("workflow", "draft_attachments"): "'[]'", ("run", "tainted"): "[]", ("memory", "tainted"): "[]"}
"""By table and field, what stands in rows that have none."""


@migration(2, "attachments of drafts, taint of runs and memories")
async def attachments_and_taint(db: Migrator) -> None:
    """Define what is missing, and fill it in."""
    await first_tables(db)
    updates = [f"UPDATE {table} SET {field} = {value} WHERE {field} = NONE RETURN NONE" for (table, field), value in FILLED.items()]  # noqa: S608
    await db.run(";\n".join(updates) + ";")
