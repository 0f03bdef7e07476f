"""Projects store which suspected secrets may be read, why a folder was not fully read, and that they are being deleted."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

FIELDS = {"readable": "option<array<string>>", "cut": "option<string>", "leaving": "option<bool>"}


@migration(7, "project choices")
async def project_choices(db: Migrator) -> None:
    """Define the new fields, absent in older rows."""
    await db.run(";\n".join(f"DEFINE FIELD IF NOT EXISTS {name} ON project TYPE {kind}" for name, kind in FIELDS.items()) + ";")
