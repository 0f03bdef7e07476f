"""Drafts store attachments; runs and memories store what was read from outside before them.

Version 1 changed during its last day: folders made earlier that day lack prices, the taint of calls, standing approval
rules and the audit trail, and get them here.
"""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

FIELDS = {
    "workflow": {"draft_attachments": "string"},
    "run": {"tainted": "array<string>"},
    "memory": {"tainted": "array<string>"},
    "model": {"price_cache_read": "option<float>", "price_cache_write": "option<float>"},
    "tool_execution": {"taint": "string"},
    "approval_request": {"always": "array<string>"},
}
AUDIT = {
    "workflow": "record<workflow> REFERENCE ON DELETE CASCADE READONLY",
    "run": "record<run>",
    "call_id": "string",
    "message_id": "string",
    "agent_id": "string",
    "agent_name": "string",
    "tool": "string",
    "server": "string",
    "detail": "string",
    "effect": "string",
    "risk": "string",
    "decision": "string",
    "decided_by": "string",
    "note": "string",
    "edited": "bool",
    "mode": "string",
    "reason": "string",
    "rule": "string",
    "about": "string",
    "created_at": "datetime",
    "recency": "int VALUE -time::micros(created_at)",
    "search": "string",
}
AUDIT_INDEXES = {"newest": "recency", "by_workflow": "workflow, recency", "by_run": "run"}
FILLED = {
    ("workflow", "draft_attachments"): "'[]'",
    ("run", "tainted"): "[]",
    ("memory", "tainted"): "[]",
    ("tool_execution", "taint"): "''",
    ("approval_request", "always"): "[]",
}
"""By table and field: the value for existing rows."""


@migration(2, "attachments of drafts, taint of runs and memories")
async def attachments_and_taint(db: Migrator) -> None:
    """Define the missing fields and fill them in."""
    fields = {**FIELDS, "audit": AUDIT}
    statements = ["DEFINE TABLE IF NOT EXISTS audit SCHEMAFULL"]
    statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for table in fields for name, kind in fields[table].items()]
    statements += [f"DEFINE INDEX IF NOT EXISTS {name} ON audit FIELDS {columns}" for name, columns in AUDIT_INDEXES.items()]
    statements += [f"UPDATE {table} SET {name} = {value} WHERE {name} = NONE RETURN NONE" for (table, name), value in FILLED.items()]  # noqa: S608
    await db.run(";\n".join(statements) + ";")
