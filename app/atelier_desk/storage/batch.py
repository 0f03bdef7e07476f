"""Commits as statements, and as bytes of the log: many commits in one transaction write each row once, as it was left.

A commit that waits in the log was checked before it was taken (see ``JournalRepository.commit``), so its rows are written without asking
whether the workflow is there; one that is written alone asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any

from pydantic import ConfigDict, TypeAdapter, create_model
from pydantic_core import PydanticSerializationError, to_json

from atelier_desk.domain.base import Model
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage import errors, tables
from atelier_desk.storage.commit import Commit, PartialReply
from atelier_desk.storage.rows import Table, record
from atelier_desk.storage.writer import Statement

_UPSERT = "FOR $row IN $rows { UPSERT $row.id CONTENT $row RETURN NONE }"
_MERGE = "FOR $pair IN $pairs { UPDATE $pair[0] MERGE $pair[1] RETURN NONE }"
_DELETE = "DELETE $rows RETURN NONE"
_NUL = b"\\u0000"
_LARGE = 2**62
_INSERT = "INSERT INTO {table} $rows RETURN NONE"


def guarded(commit: Commit) -> list[Statement]:
    """One commit by itself; it fails when its workflow is gone or an event exists already."""
    workflow_id = commit.workflow_id
    if commit.workflow and workflow_id is None:
        raise ValueError("a commit that changes its workflow needs an event or a run to tell which")
    written = statements([commit])
    if workflow_id and written and not commit.created:
        return [Statement(errors.throw_not_found("workflow"), {"guarded": record("workflow", workflow_id)}), *written]
    return written


def statements(commits: Sequence[Commit]) -> list[Statement]:
    """All of the commits, in the order in which they were made; of rows that were written several times only the last state."""
    created: dict[str, Workflow] = {}
    changed: dict[str, dict[str, Any]] = {}
    for commit in commits:
        created.update((workflow.id, workflow) for workflow in commit.created)
        workflow_id = commit.workflow_id
        if not commit.workflow or workflow_id is None:
            continue
        if workflow_id in created:
            created[workflow_id] = created[workflow_id].model_copy(update=commit.workflow)
        else:
            changed.setdefault(workflow_id, {}).update(commit.workflow)
    pairs = [[record("workflow", key), tables.WORKFLOWS.changes(fields)] for key, fields in changed.items()]
    return [
        *_insert("workflow", [tables.WORKFLOWS.encode(each) for each in created.values()]),
        *_insert("run_event", [tables.EVENTS.encode(event) for commit in commits for event in commit.events]),
        *_runs(commits),
        *([Statement(_MERGE, {"pairs": pairs})] if pairs else []),
        *_upsert(_last(tables.MESSAGES, (each for commit in commits for each in commit.messages))),
        *_upsert(_last(tables.EXECUTIONS, (each for commit in commits for each in commit.executions))),
        *_upsert(_last(tables.QUESTIONS, (each for commit in commits for each in commit.questions))),
        *_upsert(_last(tables.APPROVALS, (each for commit in commits for each in commit.approvals))),
        *_upsert(_last(tables.FRAMES, (each for commit in commits for each in commit.frames))),
        *_tasks(commits),
        *_partials(commits),
    ]


def _insert(table: str, rows: list[dict[str, Any]]) -> list[Statement]:
    return [Statement(_INSERT.format(table=table), {"rows": rows})] if rows else []


def _upsert(rows: list[dict[str, Any]]) -> list[Statement]:
    return [Statement(_UPSERT, {"rows": rows})] if rows else []


def _last(table: Table[Any], values: Iterable[Model]) -> list[dict[str, Any]]:
    newest = {value.id: value for value in values}  # type: ignore[attr-defined]
    return [table.encode(value) for value in newest.values()]


def _runs(commits: Sequence[Commit]) -> list[Statement]:
    """A run whose first event is here is new: inserting it takes two thirds of the time."""
    new = {event.run_id for commit in commits for event in commit.events if event.seq == 1}
    rows = _last(tables.RUNS, (each for commit in commits for each in commit.runs))
    return [*_insert("run", [row for row in rows if row["id"].id in new]), *_upsert([row for row in rows if row["id"].id not in new])]


def _tasks(commits: Sequence[Commit]) -> list[Statement]:
    left: dict[str, Any] = {}
    for commit in commits:
        left.update((task.id, task) for task in commit.tasks)
        left.update(dict.fromkeys(commit.deleted_tasks))
    return _kept_and_gone(
        [tables.TASKS.encode(task) for task in left.values() if task is not None],
        [record("task", key) for key, task in left.items() if task is None],
    )


def _partials(commits: Sequence[Commit]) -> list[Statement]:
    left: dict[str, PartialReply | None] = {}
    for commit in commits:
        left.update((partial.run_id, partial) for partial in commit.partials)
        left.update(dict.fromkeys(commit.clear_partial))
    return _kept_and_gone(
        [_partial_row(partial) for partial in left.values() if partial is not None],
        [record("partial_reply", key) for key, partial in left.items() if partial is None],
    )


def _kept_and_gone(kept: list[dict[str, Any]], gone: list[Any]) -> list[Statement]:
    return [*_upsert(kept), *([Statement(_DELETE, {"rows": gone})] if gone else [])]


def _partial_row(partial: PartialReply) -> dict[str, Any]:
    return {
        "id": record("partial_reply", partial.run_id),
        "workflow": record("workflow", partial.workflow_id),
        "message_id": partial.message_id,
        "content": partial.content,
        "reasoning": partial.reasoning,
        "updated_at": partial.updated_at,
    }


# -- the log's form ---------------------------------------------------------------------------------------------------------------
def dump(commit: Commit) -> bytes | None:
    """The commit as JSON; None when it holds something that the database might refuse, or text not carry exactly: half characters, NUL,
    columns with numbers beyond 64 bits or not finite. Then it has to be written directly, so that who brought it is told."""
    given = {name: value for name, value in commit.__dict__.items() if value}
    if not all(_fits(row.__dict__) for rows in given.values() if type(rows) is tuple for row in rows if isinstance(row, Model)):
        return None
    if commit.workflow and not _fits(commit.workflow):
        return None
    try:
        content = to_json(given, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return None
    return None if _NUL in content else content


def _fits(columns: Mapping[str, Any]) -> bool:
    for value in columns.values():
        kind = type(value)
        if (kind is int and not -_LARGE < value < _LARGE) or (kind is float and not isfinite(value)):
            return False
    return True


def load(content: bytes) -> Commit:
    """The commit that ``dump`` wrote.

    Raises:
        ValueError: it was written by another version that knew other things.
    """
    found = json.loads(content)
    fields = found.pop("workflow", None)
    commit = _commits().validate_python(found)
    if fields is None:
        return commit
    changes = _changes().model_validate(fields)
    return Commit(**{**commit.__dict__, "workflow": {name: getattr(changes, name) for name in fields}})


@cache
def _commits() -> TypeAdapter[Commit]:
    return TypeAdapter(Commit)


@cache
def _changes() -> type[Model]:
    """A workflow's fields, each of which may be missing."""
    fields: dict[str, Any] = {name: (info.annotation, None) for name, info in Workflow.model_fields.items()}
    return create_model("WorkflowChanges", __config__=ConfigDict(extra="forbid"), **fields)
