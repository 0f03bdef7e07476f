"""Memories know the turn whose team stored them, and whether they wait for a person's yes; after it they leave their workflow."""

from __future__ import annotations

from atelier_desk.storage.migrations.m0001_first_tables import first_tables
from atelier_desk.storage.schema import Migrator, migration

MOVED = ("memory", "memory_vector")
"""What leaves its workflow when it comes to hold for all."""
FILLED = {"turn_id": "''", "proposed": "false"}


@migration(4, "proposed memories")
async def proposed_memories(db: Migrator) -> None:
    """Define what is missing, and fill it in."""
    await first_tables(db)
    # From a workflow to none and back, never from one to another.
    rule = "ASSERT $value = NONE OR $before = NONE OR $before = $value"
    kind = f"option<record<workflow>> REFERENCE ON DELETE CASCADE {rule}"
    await db.run(";\n".join(f"DEFINE FIELD OVERWRITE workflow ON {table} TYPE {kind}" for table in MOVED) + ";")
    updates = [f"UPDATE memory SET {field} = {value} WHERE {field} = NONE RETURN NONE" for field, value in FILLED.items()]  # noqa: S608
    await db.run(";\n".join(updates) + ";")
