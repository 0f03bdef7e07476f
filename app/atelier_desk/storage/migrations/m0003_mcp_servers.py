"""MCP servers, and an index that finds calls by server."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

TABLES = {"mcp_server": {"name": "string", "config": "string", "known": "string", "created_at": "datetime"}}
INDEXES = {"tool_execution": {"by_server": "server, recency"}}


@migration(3, "MCP servers")
async def mcp_servers(db: Migrator) -> None:
    """Create the table and the index."""
    statements = []
    for table, fields in TABLES.items():
        statements.append(f"DEFINE TABLE IF NOT EXISTS {table} SCHEMAFULL")
        statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for name, kind in fields.items()]
    for table, indexes in INDEXES.items():
        statements += [f"DEFINE INDEX IF NOT EXISTS {name} ON {table} FIELDS {fields}" for name, fields in indexes.items()]
    await db.run(";\n".join(statements) + ";")
