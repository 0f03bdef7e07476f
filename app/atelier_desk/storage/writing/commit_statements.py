"""Statements of a commit's transaction: events are inserted, other rows are replaced, all in one statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.row_mapping import M, Table, record
from atelier_desk.storage.search.index_changes import RemovedDocument, WorkflowAt, documents, micros
from atelier_desk.storage.search.request_usage_tables import of_commit
from atelier_desk.storage.writing import hash_chain
from atelier_desk.storage.writing.event_rows import EVENTS
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.storage.writing.sent_request_keys import sent_row
from atelier_desk.storage.writing.writer import Statement

_UPSERT = "FOR $row IN $rows { UPSERT $row.id CONTENT $row RETURN NONE }"
_MERGE = "UPDATE $row MERGE $changes RETURN NONE"
_RENAME = (
    "UPDATE $row SET name = $new, named_by = $by WHERE name = $old AND (named_by != 'person' OR $by = 'person') "
    "RETURN NONE"
)
_MATCHED = "UPDATE $row SET last_matched_at = $at RETURN NONE"
_PIN = "UPDATE $row SET pinned = $pinned RETURN NONE"
_LAST_HASH = "UPDATE $row SET last_hash = $hash RETURN NONE"
_DELETED_RUN = "UPDATE $row SET deleted_at = $at RETURN NONE"


def statements(commit: Commit, last: MutableMapping[str, bytes], *, again: bool = False) -> list[Statement]:
    """Return the statements of a commit; empty for an empty commit.

    The transaction fails if the workflow is gone or an event already exists.

    Args:
        last: the hashes of the newest events, as in ``hash_chain.link``; those of ``chained``.
        again: events may already exist, and are overwritten.

    Raises:
        ValueError: the commit changes its workflow, but nothing tells which one.
    """
    workflow_id = commit.workflow_id
    if commit.workflow and workflow_id is None:
        raise ValueError("a commit that changes its workflow needs an event or a run to tell which")
    events = [EVENTS.encode(event) for event in commit.events]
    messages, executions = _newest(tables.MESSAGES, commit.messages), _newest(tables.EXECUTIONS, commit.executions)
    hash_chain.link(events, (*messages, *executions), last)
    runs = [{**tables.RUNS.encode(run), "last_hash": last.get(run.id)} for run in commit.runs]
    changed = tables.WORKFLOWS.changes(commit.workflow) if commit.workflow else {}
    if any(not event.run_id for event in commit.events) and workflow_id is not None:
        changed["last_hash"] = last[workflow_id]
    # A run whose first event is here is new: an insert takes two thirds of the time of an upsert.
    new = {event.run_id for event in commit.events if event.seq == 1 and not again}
    alone = {event.run_id for event in commit.events} - {run.id for run in commit.runs} - {""}
    gone = [record("task", each) for each in commit.deleted_tasks]
    gone += [record("message", each) for each in commit.deleted_messages]
    gone += [record("partial_reply", each) for each in commit.clear_partial]
    gone += [sent_row(each) for each in commit.settled]
    removed = (RemovedDocument("message", tuple(commit.deleted_messages)),) if commit.deleted_messages else ()
    seq = (commit.workflow or {}).get("stream_seq")
    after = min((event.stream_from - 1 for event in commit.events), default=seq)
    newest = (WorkflowAt(workflow_id, seq, after),) if workflow_id and seq is not None else ()
    changed_rows = [
        *(events if again else ()),
        *(run for run in runs if run["id"].id not in new),
        *messages,
        *executions,
        *_newest(tables.QUESTIONS, commit.questions),
        *_newest(tables.APPROVALS, commit.approvals),
        *_newest(tables.FRAMES, commit.frames),
        *_newest(tables.TASKS, commit.tasks),
        *_newest(tables.RULES, commit.rules),
    ]
    written = [
        *(() if again else _insert(EVENTS, events)),
        *_insert(tables.RUNS, [run for run in runs if run["id"].id in new]),
        *_upsert(changed_rows),
        *(Statement(_LAST_HASH, {"row": record("run", each), "hash": last[each]}) for each in sorted(alone)),
        *([Statement(_MERGE, {"row": record("workflow", workflow_id), "changes": changed}, newest)] if changed else []),
        *(
            [Statement(_RENAME, {"row": record("workflow", workflow_id), **commit.rename._asdict()})]
            if commit.rename
            else []
        ),
        *insert_all(tables.AUDIT, commit.audit),
        *(
            Statement(_MATCHED, {"row": record("permission_rule", each), "at": at})
            for each, at in commit.matched_rules.items()
        ),
        *(Statement(_PIN, {"row": record("message", each), "pinned": pinned}) for each, pinned in commit.pins.items()),
        *(Statement(_DELETED_RUN, {"row": record("run", each), "at": at}) for each, at in commit.deleted_runs.items()),
        *([Statement("DELETE $rows RETURN NONE", {"rows": gone}, removed)] if gone else []),
    ]
    if written and workflow_id:
        used = of_commit(commit.events, commit.runs, micros)
        guard = Statement(
            database_errors.throw_not_found("workflow"), {"guarded": record("workflow", workflow_id)}, used
        )
        return [guard, *written]
    return written


def chained(commit: Commit) -> set[str]:
    """Return the runs and the workflow whose newest hash a commit needs: those that it extends or writes."""
    going_on = {event.run_id or event.workflow_id for event in commit.events if event.seq != 1}
    return (going_on | {run.id for run in commit.runs}) - {event.run_id for event in commit.events if event.seq == 1}


def insert_all(table: Table[M], values: Sequence[M]) -> list[Statement]:
    """Insert rows in one statement; an existing key is refused."""
    return _insert(table, [table.encode(value) for value in values])


def _insert(table: Table[M], rows: Sequence[Mapping[str, object]]) -> list[Statement]:
    return (
        [Statement(f"INSERT INTO {table.name} $rows RETURN NONE", {"rows": rows}, documents(table.name, rows))]
        if rows
        else []
    )


def _newest(table: Table[M], values: Iterable[M]) -> list[dict[str, Any]]:
    """Return the last state of each row that a commit contains several times."""
    return list({str(row["id"]): row for row in map(table.encode, values)}.values())


def _upsert(rows: Sequence[Mapping[str, Any]]) -> list[Statement]:
    """Write rows of any tables in one statement: each further statement costs more than a row."""
    changes = tuple(change for row in rows for change in documents(row["id"].table_name, (row,)))
    return [Statement(_UPSERT, {"rows": rows}, changes)] if rows else []
