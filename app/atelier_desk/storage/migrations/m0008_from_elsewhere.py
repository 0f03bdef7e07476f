"""Workflows store the outside content that all their runs count as having read; imported rules store that they wait."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

FIELDS = {"workflow": {"tainted": "option<array<string>>"}, "permission_rule": {"held": "option<bool>"}}


@migration(8, "from elsewhere")
async def from_elsewhere(db: Migrator) -> None:
    """Define the new fields, absent in older rows."""
    defined = [
        f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for table, fields in FIELDS.items() for name, kind in fields.items()
    ]
    await db.run(";\n".join(defined) + ";")
