"""The tables of the first version.

Lists that a screen shows newest first have an index on a negated column (``back``, ``recency``): the engine walks an index backwards in
time linear in what was written since its last flush (170 ms against 3 ms for 100 rows after 8 000 messages), forwards it does not.

Full text is one index a table over ``search``, the distinct words that ``atelier_desk.storage.text`` makes: it costs 0.8 ms and 7 KB for a
message of 60 words, the engine's two keys a word. An index over raw text cost 0.7–1.1 ms a message, two languages 1.4 ms. Memories are
ranked in process from ``terms`` (see ``atelier_desk.knowledge.lexical``).
"""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

KEPT = "REFERENCE ON DELETE CASCADE READONLY"
"""A row stays with its workflow: no write of ours, whatever id it was given, can take it to another one."""
WORKFLOW = f"record<workflow> {KEPT}"
OPTIONAL_WORKFLOW = f"option<record<workflow>> {KEPT}"
RUN = "record<run>"
OF_RUN = f"{RUN} REFERENCE ON DELETE CASCADE"

TABLES: dict[str, dict[str, str]] = {
    "schema_version": {
        "version": "option<int>",
        "name": "option<string>",
        "applied_at": "option<datetime>",
        "commits": "option<int>",
    },
    "setting": {"value": "string"},
    "agent": {"name": "string", "config": "string", "created_at": "datetime", "updated_at": "datetime"},
    "provider": {
        "name": "string",
        "kind": "string",
        "base_url": "string",
        "api_key_env": "string",
        "has_key": "bool",
        "ca_file": "string",
        "headers": "string",
        "api_version": "string",
        "key_style": "string",
        "enabled": "bool",
        "created_at": "datetime",
    },
    "model": {
        "provider": "string",
        "name": "string",
        "label": "string",
        "context_window": "option<int>",
        "max_output_tokens": "option<int>",
        "supports_tools": "option<bool>",
        "supports_vision": "option<bool>",
        "supports_thinking": "option<bool>",
        "embedding": "bool",
        "starter": "bool",
        "price_input": "option<float>",
        "price_output": "option<float>",
        "size_bytes": "option<int>",
        "source": "string",
    },
    "workflow": {
        "name": "string",
        "agent_id": "string",
        "status": "string",
        "head_run": f"option<{RUN}>",
        "stream_seq": "int",
        "usage": "string",
        "context_tokens": "int",
        "pinned": "bool",
        "draft": "string",
        "folders": "array<string>",
        "pending_questions": "int",
        "pending_approvals": "int",
        "created_at": "datetime",
        "updated_at": "datetime",
        "deleted_at": "option<datetime>",
        "deleted": "bool VALUE deleted_at != NONE",
        "unpinned": "bool VALUE !pinned",
        "recency": "int VALUE -time::micros(updated_at)",
    },
    "run": {
        "workflow": WORKFLOW,
        "previous_run": f"option<{RUN}>",
        "parent_run": f"option<{RUN}>",
        "parent_call_id": "string",
        "title": "string",
        "correlation_id": "string",
        "agent_id": "string",
        "agent_name": "string",
        "depth": "int",
        "mode": "string",
        "status": "string",
        "usage": "string",
        "tool_calls": "int",
        "elapsed_ms": "int",
        "last_seq": "int",
        "error": "string",
        "created_at": "datetime",
        "updated_at": "datetime",
    },
    "run_event": {
        "workflow": WORKFLOW,
        "run": f"option<{RUN}>",
        "seq": "int",
        "stream_from": "int",
        "v": "int",
        "type": "string",
        "time": "datetime",
        "body": "string",
    },
    "partial_reply": {
        "workflow": WORKFLOW,
        "message_id": "string",
        "content": "string",
        "reasoning": "string",
        "usage": "string",
        "updated_at": "datetime",
    },
    "message": {
        "workflow": WORKFLOW,
        "run": f"option<{RUN}>",
        "seq": "int",
        "back": "int VALUE -seq",
        "role": "string",
        "kind": "string",
        "content": "string",
        "reasoning": "string",
        "reasoning_ms": "int",
        "call_ids": "array<string>",
        "agent_name": "string",
        "model": "string",
        "provider": "string",
        "usage": "option<string>",
        "duration_ms": "int",
        "details": "string",
        "pinned": "bool",
        "created_at": "datetime",
        "search": "string",
    },
    "tool_execution": {
        "workflow": WORKFLOW,
        "run": RUN,
        "call_id": "string",
        "message_id": "string",
        "agent_name": "string",
        "tool": "string",
        "server": "string",
        "section": "string",
        "effect": "string",
        "risk": "string",
        "arguments": "string",
        "result": "option<string>",
        "error": "string",
        "status": "string",
        "truncated": "bool",
        "duration_ms": "int",
        "iteration": "int",
        "started_at": "datetime",
        "recency": "int VALUE -time::micros(started_at)",
        "search": "string",
    },
    "task": {
        "workflow": WORKFLOW,
        "run_id": "string",
        "name": "string",
        "description": "string",
        "agent_assigned": "string",
        "priority": "int",
        "status": "string",
        "dependencies": "array<string>",
        "position": "float",
        "duration_ms": "option<int>",
        "created_at": "datetime",
        "started_at": "option<datetime>",
        "completed_at": "option<datetime>",
    },
    "memory": {
        "workflow": OPTIONAL_WORKFLOW,
        "type": "string",
        "content": "string",
        "importance": "float",
        "priority": "option<float>",
        "tags": "array<string>",
        "source": "string",
        "agent_source": "string",
        "run_id": "string",
        "retrieved_by": "array<string>",
        "embedder": "string",
        "created_at": "datetime",
        "updated_at": "datetime",
        "expires_at": "option<datetime>",
        "recency": "int VALUE -time::micros(updated_at)",
        "search": "string",
        "terms": "bytes",
    },
    "memory_vector": {
        "memory": "record<memory> REFERENCE ON DELETE CASCADE",
        "workflow": OPTIONAL_WORKFLOW,
        "embedder": "string",
        "dimension": "int",
        "vector": "bytes",
    },
    "user_question": {
        "workflow": WORKFLOW,
        "run": RUN,
        "call_id": "string",
        "agent_id": "string",
        "agent_name": "string",
        "lineage": "string",
        "spec": "string",
        "status": "string",
        "selected_options": "array<string>",
        "text_response": "string",
        "timeout_s": "float",
        "seen_ms": "int",
        "created_at": "datetime",
        "answered_at": "option<datetime>",
    },
    "approval_request": {
        "workflow": WORKFLOW,
        "run": OF_RUN,
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
    "report": {
        "workflow": WORKFLOW,
        "run_id": "string",
        "name": "string",
        "size": "int",
        "sha256": "string",
        "author": "string",
        "created_at": "datetime",
        "updated_at": "datetime",
        "search": "string",
    },
}

INDEXES: dict[str, dict[str, str]] = {
    "agent": {"by_name": "name UNIQUE"},
    "model": {"by_provider": "provider, name UNIQUE"},
    "workflow": {"shown": "deleted, unpinned, recency"},
    "run": {"by_workflow": "workflow, created_at", "by_status": "status", "by_parent": "parent_run", "by_team": "correlation_id"},
    "run_event": {"by_run": "run, seq UNIQUE", "by_stream": "workflow, stream_from"},
    "partial_reply": {"by_workflow": "workflow"},
    "message": {"newest": "workflow, back"},
    "tool_execution": {"by_run": "run", "by_message": "message_id", "newest": "workflow, recency"},
    "task": {"by_position": "workflow, position"},
    "memory": {"newest": "workflow, recency", "by_type": "type, recency"},
    "memory_vector": {"by_embedder": "embedder, memory", "by_memory": "memory", "by_workflow": "workflow"},
    "user_question": {"by_workflow": "workflow, created_at", "by_status": "status, created_at"},
    "approval_request": {"by_workflow": "workflow, created_at", "by_status": "status, created_at"},
    "prompt_frame": {"by_workflow": "workflow"},
    "report": {"by_name": "workflow, name UNIQUE"},
}

SEARCHED = ("message", "tool_execution", "memory", "report")


@migration(1, "first tables")
async def first_tables(db: Migrator) -> None:
    """Everything the first version stores."""
    statements = [
        "DEFINE ANALYZER IF NOT EXISTS english TOKENIZERS blank FILTERS snowball(english)",
        "DEFINE ANALYZER IF NOT EXISTS french TOKENIZERS blank FILTERS snowball(french)",
    ]
    for table, fields in TABLES.items():
        statements.append(f"DEFINE TABLE IF NOT EXISTS {table} SCHEMAFULL")
        statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {kind}" for name, kind in fields.items()]
    for table, indexes in INDEXES.items():
        statements += [f"DEFINE INDEX IF NOT EXISTS {name} ON {table} FIELDS {fields}" for name, fields in indexes.items()]
    statements += [
        f"DEFINE INDEX IF NOT EXISTS full_text ON {table} FIELDS search FULLTEXT ANALYZER english BM25(1.2,0.75)" for table in SEARCHED
    ]
    await db.run(";\n".join(statements) + ";")
