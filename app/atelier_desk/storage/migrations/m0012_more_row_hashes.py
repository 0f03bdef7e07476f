"""Rows of configuration, and those beside a workflow's journal, get a hash too. Older rows have none."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

TABLES = (
    "agent", "provider", "mcp_server", "permission_rule", "setting", "approval_request", "user_question", "task", "memory", "report",
)  # fmt: skip


@migration(12, "more row hashes")
async def more_row_hashes(db: Migrator) -> None:
    """Define the new field, absent in older rows until they are next written."""
    await db.run(";\n".join(f"DEFINE FIELD IF NOT EXISTS hash ON {table} TYPE option<bytes>" for table in TABLES) + ";")
