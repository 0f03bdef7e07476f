"""Memories store the turn whose team saved them, and whether they wait for approval.

Approved ones leave their workflow.
"""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

MOVED = ("memory", "memory_vector")
"""Tables whose rows leave their workflow when a memory becomes general."""
FIELDS = {"turn_id": "string", "proposed": "bool"}


@migration(4, "proposed memories")
async def proposed_memories(db: Migrator) -> None:
    """Define and fill the missing fields together: a row that lacks either cannot be written."""
    # Between a workflow and none, but never between two workflows.
    rule = "ASSERT $value = NONE OR $before = NONE OR $before = $value"
    kind = f"option<record<workflow>> REFERENCE ON DELETE CASCADE {rule}"
    statements = [f"DEFINE FIELD OVERWRITE workflow ON {table} TYPE {kind}" for table in MOVED]
    statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON memory TYPE {type_}" for name, type_ in FIELDS.items()]
    statements.append(
        "UPDATE memory SET turn_id = turn_id ?? '', proposed = proposed ?? false WHERE turn_id = NONE OR proposed = NONE RETURN NONE"
    )
    statements.append("DEFINE INDEX IF NOT EXISTS by_turn ON memory FIELDS turn_id")
    await db.run(";\n".join(statements) + ";")
