"""Rows with large values get a hash; those of a run's journal are chained. Older rows have none."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

FIELDS = {
    "run_event": {"hash": "option<bytes>", "prev_hash": "option<bytes>", "wrote": "option<array<string>>"},
    "message": {"hash": "option<bytes>"},
    "tool_execution": {"hash": "option<bytes>"},
    "prompt_frame": {"hash": "option<bytes>"},
    "run": {"last_hash": "option<bytes>"},
    "workflow": {"last_hash": "option<bytes>"},
}


@migration(9, "row hashes")
async def row_hashes(db: Migrator) -> None:
    """Define the new fields, absent in older rows."""
    defined = [
        f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for table, fields in FIELDS.items() for name, kind in fields.items()
    ]
    await db.run(";\n".join(defined) + ";")
