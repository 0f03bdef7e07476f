"""The full-text index moves out of the database, see ``atelier_desk.storage.search``: it was nine tenths of what a text took."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration


@migration(10, "full-text index outside the database")
async def search_outside(db: Migrator) -> None:
    """Remove the indexes; the words that rows hold for them stay until a row is written anew."""
    statements = []
    for table in ("message", "tool_execution", "memory", "report"):
        statements.append(f"REMOVE INDEX IF EXISTS full_text ON TABLE {table}")
        statements.append(f"DEFINE FIELD OVERWRITE search ON {table} TYPE option<string>")
    await db.run(";\n".join(statements) + ";")
