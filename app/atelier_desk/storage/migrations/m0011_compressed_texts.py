"""Texts of the journal's rows may be compressed, and a row is no longer entered with its workflow a second time.

The engine kept a key a row for ``REFERENCE ON DELETE CASCADE``, a tenth of what a small row takes. A workflow's rows are deleted with it by
statements of their own, which the engine's index finds. Older rows stay as they are.
"""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

TEXT = "string | bytes"
OPTIONAL_TEXT = "option<string | bytes>"
WORKFLOW = "record<workflow> READONLY"
FIELDS = {
    "run_event": {"workflow": WORKFLOW, "body": TEXT},
    "message": {"workflow": WORKFLOW, "content": TEXT, "reasoning": TEXT, "usage": OPTIONAL_TEXT},
    "tool_execution": {"workflow": WORKFLOW, "arguments": TEXT, "result": OPTIONAL_TEXT, "presentation": TEXT},
    "prompt_frame": {"workflow": WORKFLOW, "system": TEXT, "tools": TEXT},
    "run": {"workflow": WORKFLOW, "usage": TEXT},
    "workflow": {"usage": TEXT, "choices": TEXT},
    "audit": {"workflow": WORKFLOW, "search": "option<string>"},
}
UNUSED = {"tool_execution": "by_message", "audit": "by_run"}
"""By table, an index that no query needs."""


@migration(11, "compressed texts")
async def compressed_texts(db: Migrator) -> None:
    """Define the columns anew; no row is written, but an old entry of the audit trail keeps the words for its search."""
    defined = [f"DEFINE FIELD OVERWRITE {name} ON {table} TYPE {kind}" for table, fields in FIELDS.items() for name, kind in fields.items()]
    removed = [f"REMOVE INDEX IF EXISTS {name} ON TABLE {table}" for table, name in UNUSED.items()]
    await db.run(";\n".join(defined + removed) + ";")
