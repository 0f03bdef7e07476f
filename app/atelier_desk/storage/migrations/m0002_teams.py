"""What teams need: approval requests, what was sent to models, and what a run's row says of a sub-agent."""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

WORKFLOW = "record<workflow> REFERENCE ON DELETE CASCADE"
RUN = "record<run> REFERENCE ON DELETE CASCADE"

ADDED: dict[str, dict[str, str]] = {
    "workflow": {"pending_approvals": "int DEFAULT 0"},
    "run": {
        "parent_call_id": "string DEFAULT ''",
        "title": "string DEFAULT ''",
        "tool_calls": "int DEFAULT 0",
        "elapsed_ms": "int DEFAULT 0",
    },
    "user_question": {"lineage": "string DEFAULT '[]'"},
}
"""Columns of tables that exist; rows written before have their defaults."""

TABLES: dict[str, dict[str, str]] = {
    "approval_request": {
        "workflow": WORKFLOW,
        "run": RUN,
        "root_run_id": "string",
        "call_id": "string",
        "agent_id": "string",
        "agent_name": "string",
        "lineage": "string",
        "kind": "string",
        "tool": "string",
        "operation": "string",
        "server": "string",
        "section": "string",
        "effect": "string",
        "risk": "string",
        "reason": "string",
        "arguments": "string",
        "edited": "option<string>",
        "details": "string",
        "status": "string",
        "scope": "string",
        "timeout_s": "float",
        "on_timeout": "string",
        "seen_ms": "int",
        "round": "int",
        "decided_by": "string",
        "note": "string",
        "created_at": "datetime",
        "decided_at": "option<datetime>",
    },
    "prompt_frame": {"workflow": WORKFLOW, "system": "string", "tools": "string"},
}

INDEXES: dict[str, dict[str, str]] = {
    "run": {"by_parent": "parent_run", "by_team": "correlation_id"},
    "approval_request": {"by_workflow": "workflow, created_at", "by_status": "status, created_at"},
    "prompt_frame": {"by_workflow": "workflow"},
}


@migration(2, "teams")
async def teams(db: Migrator) -> None:
    """Approval requests, prompt frames, and the columns of sub-agents."""
    statements = []
    for table, fields in ADDED.items():
        statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for name, kind in fields.items()]
    for table, fields in TABLES.items():
        statements.append(f"DEFINE TABLE IF NOT EXISTS {table} SCHEMAFULL")
        statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for name, kind in fields.items()]
    for table, indexes in INDEXES.items():
        statements += [f"DEFINE INDEX IF NOT EXISTS {name} ON {table} FIELDS {fields}" for name, fields in indexes.items()]
    statements += [
        "UPDATE workflow SET pending_approvals = 0 WHERE pending_approvals = NONE RETURN NONE",
        "UPDATE run SET parent_call_id = '', title = '', tool_calls = 0, elapsed_ms = 0 WHERE title = NONE RETURN NONE",
        "UPDATE user_question SET lineage = '[]' WHERE lineage = NONE RETURN NONE",
    ]
    await db.run(";\n".join(statements) + ";")
