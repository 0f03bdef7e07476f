"""Memories know the turn whose team stored them, and whether they wait for a person's yes; after it they leave their workflow."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

MOVED = ("memory", "memory_vector")
"""What leaves its workflow when it comes to hold for all."""
FIELDS = {"turn_id": "string", "proposed": "bool"}


@migration(4, "proposed memories")
async def proposed_memories(db: Migrator) -> None:
    """Define what is missing, and fill it in: both at once, since a row that lacks either cannot be written."""
    # From a workflow to none and back, never from one to another.
    rule = "ASSERT $value = NONE OR $before = NONE OR $before = $value"
    kind = f"option<record<workflow>> REFERENCE ON DELETE CASCADE {rule}"
    statements = [f"DEFINE FIELD OVERWRITE workflow ON {table} TYPE {kind}" for table in MOVED]
    statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON memory TYPE {type_}" for name, type_ in FIELDS.items()]
    statements.append(
        "UPDATE memory SET turn_id = turn_id ?? '', proposed = proposed ?? false WHERE turn_id = NONE OR proposed = NONE RETURN NONE"
    )
    statements.append("DEFINE INDEX IF NOT EXISTS by_turn ON memory FIELDS turn_id")
    await db.run(";\n".join(statements) + ";")
