"""A commit as statements of one transaction: events are inserted, rows are written whole, a statement a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from atelier_desk.domain.base import Model
from atelier_desk.storage import errors, tables
from atelier_desk.storage.rows import Table, record
from atelier_desk.storage.search.changes import Removed, WorkflowAt, documents
from atelier_desk.storage.writing.commit import Commit
from atelier_desk.storage.writing.event_table import EVENTS
from atelier_desk.storage.writing.writer import Statement

_UPSERT = "FOR $row IN $rows { UPSERT $row.id CONTENT $row RETURN NONE }"
_MERGE = "UPDATE $row MERGE $changes RETURN NONE"
_RENAME = "UPDATE $row SET name = $new, named_by = $by WHERE name = $old AND (named_by != 'person' OR $by = 'person') RETURN NONE"
_MATCHED = "UPDATE $row SET last_matched_at = $at RETURN NONE"
_PIN = "UPDATE $row SET pinned = $pinned RETURN NONE"
_DELETED_RUN = "UPDATE $row SET deleted_at = $at RETURN NONE"


def statements(commit: Commit, *, again: bool = False) -> list[Statement]:
    """All of a commit; the transaction fails when the workflow is gone or an event exists already. Empty for an empty commit.

    With ``again`` events may exist already, and are written over.

    Raises:
        ValueError: the commit changes its workflow and nothing tells which that is.
    """
    workflow_id = commit.workflow_id
    if commit.workflow and workflow_id is None:
        raise ValueError("a commit that changes its workflow needs an event or a run to tell which")
    changed = tables.WORKFLOWS.changes(commit.workflow) if commit.workflow else None
    # A run whose first event is here is new: inserting it takes two thirds of the time.
    new = {event.run_id for event in commit.events if event.seq == 1 and not again}
    gone = [record("task", each) for each in commit.deleted_tasks]
    gone += [record("message", each) for each in commit.deleted_messages]
    gone += [record("partial_reply", each) for each in commit.clear_partial]
    removed = (Removed("message", tuple(commit.deleted_messages)),) if commit.deleted_messages else ()
    seq = (commit.workflow or {}).get("stream_seq")
    newest = (WorkflowAt(workflow_id, seq),) if workflow_id and seq is not None else ()
    written = [
        *(_upsert if again else insert_all)(EVENTS, commit.events),
        *insert_all(tables.RUNS, [run for run in commit.runs if run.id in new]),
        *_upsert(tables.RUNS, [run for run in commit.runs if run.id not in new]),
        *([Statement(_MERGE, {"row": record("workflow", workflow_id), "changes": changed}, newest)] if changed else []),
        *([Statement(_RENAME, {"row": record("workflow", workflow_id), **commit.rename._asdict()})] if commit.rename else []),
        *_upsert(tables.MESSAGES, commit.messages),
        *_upsert(tables.EXECUTIONS, commit.executions),
        *_upsert(tables.QUESTIONS, commit.questions),
        *_upsert(tables.APPROVALS, commit.approvals),
        *insert_all(tables.AUDIT, commit.audit),
        *_upsert(tables.FRAMES, commit.frames),
        *_upsert(tables.TASKS, commit.tasks),
        *_upsert(tables.RULES, commit.rules),
        *(Statement(_MATCHED, {"row": record("permission_rule", each), "at": at}) for each, at in commit.matched_rules.items()),
        *(Statement(_PIN, {"row": record("message", each), "pinned": pinned}) for each, pinned in commit.pins.items()),
        *(Statement(_DELETED_RUN, {"row": record("run", each), "at": at}) for each, at in commit.deleted_runs.items()),
        *([Statement("DELETE $rows RETURN NONE", {"rows": gone}, removed)] if gone else []),
    ]
    if written and workflow_id:
        guard = Statement(errors.throw_not_found("workflow"), {"guarded": record("workflow", workflow_id)})
        return [guard, *written]
    return written


def insert_all(table: Table[Any], values: Sequence[Model]) -> list[Statement]:
    """Write new rows in one statement; a key that exists is refused."""
    rows = [table.encode(value) for value in values]
    return [Statement(f"INSERT INTO {table.name} $rows RETURN NONE", {"rows": rows}, documents(table.name, rows))] if rows else []


def _upsert(table: Table[Any], values: Iterable[Model]) -> list[Statement]:
    """Of a row that a commit has several times, the last state."""
    newest = {str(row["id"]): row for row in map(table.encode, values)}
    rows = list(newest.values())
    return [Statement(_UPSERT, {"rows": rows}, documents(table.name, rows))] if rows else []
