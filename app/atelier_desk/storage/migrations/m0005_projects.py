"""Projects, their files, and their graph of entities and relations.

Keys are hexadecimal, and related keys share a prefix, so that the rows of a project or a file are one key range and
need no index: 8 digits for the project, 10 more for the file, 8 more for the entity; a relation's key begins with that
of its source.
"""

from __future__ import annotations

from atelier_desk.storage.schema import Migrator, migration

TABLES: dict[str, dict[str, str]] = {
    "project": {
        "name": "string",
        "folded": "string",
        "root": "string",
        "loaded": "bool",
        "watched": "bool",
        "embedded": "bool",
        "pending": "bool",
        "stamp": "option<string>",
        "created_at": "datetime",
        "updated_at": "datetime",
        "ingested_at": "option<datetime>",
    },
    "project_file": {
        "project": "record<project>",
        "path": "string",
        "hash": "string",
        "size": "int",
        "kind": "string",
        "language": "string",
        "symbols": "string",
        "related": "bool",
        "problem": "string",
        "skipped": "bool",
    },
    "entity": {
        "kind": "string",
        "type": "string",
        "name": "string",
        "qualified": "string",
        "path": "string",
        "language": "string",
        "start_line": "int",
        "end_line": "int",
        "signature": "string",
        "docstring": "string",
        "text": "string",
        "parent": "option<record<entity>>",
        "digest": "string",
        "terms": "bytes",
    },
    "text_vector": {"embedder": "string", "digest": "string", "vector": "bytes"},
}
RELATIONS: dict[str, dict[str, str]] = {"relates": {"kind": "string", "confidence": "float", "line": "int"}}
"""Edge tables: ``entity->relates->entity``."""
INDEXES = {"project": {"by_name": "folded UNIQUE"}}


@migration(5, "projects")
async def projects(db: Migrator) -> None:
    """Create the tables of projects and their graphs."""
    statements = []
    for table, fields in {**TABLES, **RELATIONS}.items():
        kind = "TYPE RELATION IN entity OUT entity SCHEMAFULL" if table in RELATIONS else "SCHEMAFULL"
        statements.append(f"DEFINE TABLE IF NOT EXISTS {table} {kind}")
        statements += [f"DEFINE FIELD IF NOT EXISTS {name} ON {table} TYPE {type_}" for name, type_ in fields.items()]
    for table, indexes in INDEXES.items():
        statements += [f"DEFINE INDEX IF NOT EXISTS {name} ON {table} FIELDS {fields}" for name, fields in indexes.items()]
    await db.run(";\n".join(statements) + ";")
