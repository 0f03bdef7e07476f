"""Deleted memories are kept for a while: a deletion, possibly by an agent, may be a mistake."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

TABLES = {
    "memory_bin": {
        "workflow": "option<record<workflow>> REFERENCE ON DELETE CASCADE READONLY",
        "type": "string",
        "content": "string",
        "importance": "float",
        "priority": "option<float>",
        "tags": "array<string>",
        "source": "string",
        "agent_source": "string",
        "run_id": "string",
        "turn_id": "string",
        "proposed": "bool",
        "origin": "string",
        "edited": "bool",
        "retrieved_by": "array<string>",
        "tainted": "array<string>",
        "embedder": "string",
        "created_at": "datetime",
        "updated_at": "datetime",
        "expires_at": "option<datetime>",
        "recency": "int VALUE -time::micros(deleted_at)",
        "deleted_at": "datetime",
        "merged": "option<string>",
    }
}
"""Columns of a memory without its search data, which are rebuilt on restore."""
INDEXES = {"memory_bin": {"newest": "recency", "by_workflow": "workflow"}}


@migration(6, "memory bin")
async def memory_bin(db: Migrator) -> None:
    """Create a table like that of the memories, with the time of deletion."""
    statements = []
    for table, fields in TABLES.items():
        statements.append(f"DEFINE TABLE IF NOT EXISTS {table} SCHEMAFULL")
        statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for name, kind in fields.items()]
    for table, indexes in INDEXES.items():
        statements += [f"DEFINE INDEX IF NOT EXISTS {name} ON {table} FIELDS {fields}" for name, fields in indexes.items()]
    await db.run(";\n".join(statements) + ";")
