"""Journal texts may be compressed, and the index entries of rows under their workflow are dropped.

``REFERENCE ON DELETE CASCADE`` cost one engine key per row, a tenth of a small row's size. The rows of a workflow are
now deleted by separate statements that use an index. Older rows stay unchanged.
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
"""By table: an index that no query needs."""


@migration(11, "compressed texts")
async def compressed_texts(db: Migrator) -> None:
    """Redefine the columns. Writes no rows; older audit entries keep their stored search words."""
    defined = [f"DEFINE FIELD OVERWRITE {name} ON {table} TYPE {kind}" for table, fields in FIELDS.items() for name, kind in fields.items()]
    removed = [f"REMOVE INDEX IF EXISTS {name} ON TABLE {table}" for table, name in UNUSED.items()]
    await db.run(";\n".join(defined + removed) + ";")
