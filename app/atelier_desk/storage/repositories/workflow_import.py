"""Write an imported workflow in one transaction: completely or not at all, without touching rows of other workflows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atelier_desk.domain.memory import Memory
from atelier_desk.domain.workflow import Report, Workflow
from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.repositories.base_repository import guard, upsert
from atelier_desk.storage.repositories.usage_totals import UsageRecord, save_usage
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.search.index_changes import KINDS, RemovedDocument, WorkflowAt
from atelier_desk.storage.search.request_usage_tables import RequestsRemoved
from atelier_desk.storage.store import Statement
from atelier_desk.storage.writing.commit_statements import statements
from atelier_desk.storage.writing.journal_commit import Commit

if TYPE_CHECKING:
    from surrealdb import RecordID

    from atelier_desk.storage.repositories import Repositories


@dataclass(frozen=True)
class WorkflowRows:
    """All rows of one workflow.

    Attributes:
        commit: its events and the rows that follow from them.
        reports: with their texts.
        ids: by table, the ids that now belong to this workflow only, including those of all rows.
        used: what the workflow that it replaces used here.
    """

    workflow: Workflow
    commit: Commit
    memories: tuple[Memory, ...]
    reports: tuple[tuple[Report, str], ...]
    ids: Mapping[str, Collection[str]]
    used: Sequence[UsageRecord] = ()


async def write(repos: Repositories, rows: WorkflowRows, *, replace: bool) -> None:
    """Store a new workflow, or with ``replace`` put it in place of the one with its id.

    Memories can then be found by their words; adding vectors is up to the caller.

    Raises:
        ConflictError: ``taken``: one of its ids belongs to another workflow or to a general memory; nothing was
            changed.
        NotFoundError: the workflow to replace is gone.
        StorageError: nothing was changed, unless the error says that this is unknown.
    """
    workflow = rows.workflow
    home = {"home": record("workflow", workflow.id)}
    before = [guard(workflow.id)] if replace else []
    claimed = [record(table, each) for table, ids in rows.ids.items() if table != "workflow" for each in ids]
    before.append(Statement(database_errors.throw_exists(), {"claimed": claimed, **home}))
    before += save_usage(rows.used)
    seen = (RequestsRemoved(workflow_id=workflow.id), WorkflowAt(workflow.id, workflow.stream_seq))
    after: list[Statement] = []
    old_reports = await repos.reports.list(workflow.id) if replace else []
    if replace:
        for table in tables.OWNED:
            if table == "audit":
                continue  # Local audit entries stay, whatever the file says; imports contain none.
            gone = await _left_out(repos, table, rows, home)
            # Delete runs last: their approvals go with them, and may belong to another run in the file.
            removed = (RemovedDocument(table, tuple(str(each.id) for each in gone)),) if table in KINDS and gone else ()
            (after if table == "run" else before).append(Statement("DELETE $gone RETURN NONE", {"gone": gone}, removed))
        before.append(upsert(tables.WORKFLOWS, workflow)._replace(changes=seen))
    else:
        row = tables.WORKFLOWS.encode(workflow)
        before.append(Statement("CREATE $row CONTENT $content RETURN NONE", {"row": row["id"], "content": row}, seen))
    memories, entries = await repos.memories.prepared(rows.memories)
    with repos.memories.changing():
        async with repos.reports.staged(rows.reports) as reports:
            await repos.store.write(*before, *statements(rows.commit, {}, again=replace), *memories, *reports, *after)
        repos.store.last_hashes.clear()
        if replace:
            repos.memories.workflow_deleted(workflow.id)
        repos.memories.notify(entries)
    if replace:
        await repos.snapshots.remove(workflow.id)
        existing = {report.name for report, _text in rows.reports}
        await repos.reports.remove_files(
            workflow.id, [report.name for report in old_reports if report.name not in existing]
        )


async def _left_out(repos: Repositories, table: str, rows: WorkflowRows, home: Mapping[str, object]) -> list[RecordID]:
    """Return records of the workflow that are not among the new ones.

    Rows that stay are overwritten: deleted and re-inserted in one transaction, they would be lost in an in-memory
    database.
    """
    existing = set(rows.ids.get(table, ()))
    found = await repos.store.query(f"SELECT VALUE id FROM {table} WHERE workflow = $home", **home)  # noqa: S608
    return [each for each in found if not isinstance(each.id, str) or each.id not in existing]
