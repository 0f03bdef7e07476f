"""Deleted memories, kept for a while: whoever deletes one, an agent too, may have been wrong."""

from __future__ import annotations

from atelier_desk.storage.migrations import m0001_first_tables
from atelier_desk.storage.schema import Migrator, migration

COMPUTED = ("search", "terms")
"""What a memory is found by; it is made anew when one is brought back."""
TABLES = {
    "memory_bin": {
        **{name: kind for name, kind in m0001_first_tables.TABLES["memory"].items() if name not in COMPUTED},
        "workflow": m0001_first_tables.OPTIONAL_WORKFLOW,
        "recency": "int VALUE -time::micros(deleted_at)",
        "deleted_at": "datetime",
        "merged": "option<string>",
    }
}
INDEXES = {"memory_bin": {"newest": "recency", "by_workflow": "workflow"}}


@migration(6, "memory bin")
async def memory_bin(db: Migrator) -> None:
    """A table like that of the memories, with when each was deleted."""
    statements = []
    for table, fields in TABLES.items():
        statements.append(f"DEFINE TABLE IF NOT EXISTS {table} SCHEMAFULL")
        statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for name, kind in fields.items()]
    for table, indexes in INDEXES.items():
        statements += [f"DEFINE INDEX IF NOT EXISTS {name} ON {table} FIELDS {fields}" for name, fields in indexes.items()]
    await db.run(";\n".join(statements) + ";")
