"""Folders of version 13, the last before the first version, which has the same tables."""

from __future__ import annotations

from atelier_desk.storage.migration_registry import Migrator, migration


@migration(13, 14, "first version")
async def from_13(db: Migrator) -> None:
    """Replace the records of 13 migrations by one that has the time at which the database was made.

    The index of the history knows the database by that time, and need not be made anew.
    """
    made = "(SELECT VALUE applied_at FROM schema_version:`1`)[0]"
    await db.run(f"UPSERT schema_version:`14` SET applied_at = applied_at ?? {made} RETURN NONE")
    await db.run("DELETE schema_version WHERE version > 0 AND version < 14 RETURN NONE")
