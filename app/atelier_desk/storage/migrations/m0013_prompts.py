"""A person's prompts, called with ``/name``."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

FIELDS = {
    "name": "string",
    "folded": "string",
    "description": "string",
    "content": "string",
    "tainted": "array<string>",
    "created_at": "datetime",
    "updated_at": "datetime",
    "hash": "option<bytes>",
}


@migration(13, "prompts")
async def prompts(db: Migrator) -> None:
    """Create the table; names are unique regardless of case."""
    statements = ["DEFINE TABLE IF NOT EXISTS prompt SCHEMAFULL"]
    statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON prompt TYPE {kind}" for name, kind in FIELDS.items()]
    statements.append("DEFINE INDEX IF NOT EXISTS by_name ON prompt FIELDS folded UNIQUE")
    await db.run(";\n".join(statements) + ";")
