"""Projects know what is read of them though it looks like a secret, why not all of a folder was looked at, and that they are to go."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

FIELDS = {"readable": "option<array<string>>", "cut": "option<string>", "leaving": "option<bool>"}


@migration(7, "project choices")
async def project_choices(db: Migrator) -> None:
    """New fields, which older rows are without."""
    await db.run(";\n".join(f"DEFINE FIELD IF NOT EXISTS {name} ON project TYPE {kind}" for name, kind in FIELDS.items()) + ";")
