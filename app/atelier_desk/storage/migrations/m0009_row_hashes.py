"""Rows with large values have a hash; those of a run's journal are tied to each other. Rows of before are without one."""

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
    """New fields, which older rows are without."""
    defined = [
        f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for table, fields in FIELDS.items() for name, kind in fields.items()
    ]
    await db.run(";\n".join(defined) + ";")
