"""Move the full-text index out of the database (see ``atelier_desk.storage.search``).

It took nine tenths of a text's space.
"""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration


@migration(10, "full-text index outside the database")
async def search_outside(db: Migrator) -> None:
    """Remove the indexes; the stored search words of a row stay until it is next written."""
    statements = []
    for table in ("message", "tool_execution", "memory", "report"):
        statements.append(f"REMOVE INDEX IF EXISTS full_text ON TABLE {table}")
        statements.append(f"DEFINE FIELD OVERWRITE search ON {table} TYPE option<string>")
    await db.run(";\n".join(statements) + ";")
