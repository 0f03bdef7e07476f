"""Workflows, and operations on all rows of one."""

from __future__ import annotations

import builtins
import shutil
from collections.abc import Sequence
from datetime import datetime

from atelier_desk.domain.errors import StorageError, UsageError
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.data_folder.atomic_files import files_of
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories.base_repository import Repository, guard, some, upsert
from atelier_desk.storage.repositories.memories import MemoryRepository, stamp
from atelier_desk.storage.repositories.usage_totals import UsageRecord, save_usage
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.search.index_changes import WorkflowRemoved
from atelier_desk.storage.store import Statement, Store
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread


class WorkflowRepository(Repository[Workflow]):
    """The workflow table, and operations on all tables of a workflow."""

    table = tables.WORKFLOWS
    what = "workflow"
    absent = N_("There is no workflow {id}.")

    def __init__(self, store: Store, datadir: DataDir, of_memories: MemoryRepository) -> None:
        """``of_memories`` is notified of a workflow whose rows are gone."""
        super().__init__(store)
        self._datadir = datadir
        self._memories = of_memories

    async def create(self, workflow: Workflow) -> Workflow:
        """Store a new workflow.

        Raises:
            StorageError: its id already exists.
        """
        row = self.table.encode(workflow)
        await self._store.write(
            Statement("CREATE $row CONTENT $content RETURN NONE", {"row": row["id"], "content": row})
        )
        return workflow

    async def list(
        self,
        *,
        limit: int | None = None,
        offset: int = 0,
        search: str = "",
        deleted: bool = False,
        archived: bool | None = None,
        filed: bool | None = None,
        collection: str | None = None,
        statuses: Sequence[WorkflowStatus] = (),
    ) -> list[Workflow]:
        """Return workflows, pinned ones first, then latest changed; all without a ``limit``.

        ``search`` filters by name, ignoring case; ``deleted`` lists the bin; ``archived``: only archived ones, or only
        others; ``filed``: only those in a folder of the list, or only others; ``collection``: those in this folder;
        ``statuses``: those in one of these states. None, or an empty value, does not filter.
        """
        wanted = {"archived": archived, "filed": filed, "collection": collection}
        only = "".join(f" AND {name} = ${name}" for name, value in wanted.items() if value is not None)
        if search:
            only += " AND string::contains(string::lowercase(name), $search)"
        if statuses:
            only += " AND status IN $statuses"
        page, bounds = some(limit, offset)
        return await self._select(
            f"WHERE deleted = $deleted{only} ORDER BY unpinned, recency{page}",
            deleted=deleted,
            search=search.lower(),
            statuses=[each.value for each in statuses],
            **wanted,
            **bounds,
        )

    async def existing_names(self, names: Sequence[str]) -> set[str]:
        """Return which of the names are in use by workflows outside the bin."""
        # With "deleted = false" the engine reads whole rows through an index, which takes ten times as long.
        rows = await self._store.query("SELECT name, deleted FROM workflow WHERE name IN $names", names=list(names))
        return {row["name"] for row in rows if not row["deleted"]}

    async def deleted_before(self, moment: datetime) -> builtins.list[str]:
        """Return the ids of workflows moved to the bin at or before ``moment``, longest ago first."""
        rows = await self._store.query(
            (
                "SELECT record::id(id) AS id, deleted_at FROM workflow WHERE deleted = true AND deleted_at <= $moment "
                "ORDER BY deleted_at"
            ),
            moment=moment,
        )
        return [row["id"] for row in rows]

    async def ids(self) -> set[str]:
        """Return the ids of all workflows, including the bin."""
        return {row["id"].id for row in await self._store.query("SELECT id FROM workflow")}

    async def archived(self) -> int:
        """Return the number of archived workflows."""
        rows = await self._store.query(
            "SELECT count() AS n FROM workflow WHERE deleted = false AND archived = true GROUP ALL"
        )
        return int(rows[0]["n"]) if rows else 0

    async def latest(self) -> Workflow | None:
        """Return the last changed workflow, pinned or not; None if there is none outside the bin."""
        found = await self._select("WHERE deleted = false ORDER BY recency LIMIT 1")
        return found[0] if found else None

    async def update(self, workflow_id: str, **fields: object) -> Workflow:
        """Change some fields. ``updated_at`` changes only if given.

        Raises:
            NotFoundError: there is no such workflow.
        """
        current = await self.get(workflow_id)
        checked = Workflow.model_validate({**current.model_dump(), **fields})
        if fields:
            changes = self.table.changes({name: getattr(checked, name) for name in fields})
            statement = Statement(
                "UPDATE $row MERGE $changes RETURN NONE", {"row": self.table.record(workflow_id), "changes": changes}
            )
            await self._store.write(guard(workflow_id), statement)
        return await self.get(workflow_id)

    async def soft_delete(self, workflow_id: str) -> Workflow:
        """Move a workflow to the bin: lists and searches skip it until ``restore``."""
        return await self.update(workflow_id, deleted_at=self._store.clock.now())

    async def restore(self, workflow_id: str) -> Workflow:
        """Restore a workflow from the bin."""
        return await self.update(workflow_id, deleted_at=None)

    async def save(self, workflow: Workflow) -> None:
        """Insert or replace a workflow."""
        await self._store.write(upsert(self.table, workflow))

    async def purge(self, workflow_id: str, spent: Sequence[UsageRecord] = ()) -> dict[str, int]:
        """Delete a workflow and all its rows in one transaction, then its files. Returns the deleted rows by table.

        ``spent`` is the usage of its runs, which is kept.

        Raises:
            NotFoundError: there is no such workflow.
            StorageError: the files could not be deleted; the rows are gone.
        """
        row = self.table.record(workflow_id)
        statements = [guard(workflow_id)]
        for name in tables.OWNED:
            statements.append(
                Statement(f"SELECT count() AS n FROM {name} WHERE workflow = $row GROUP ALL", {"row": row})  # noqa: S608
            )
            statements.append(Statement(f"DELETE {name} WHERE workflow = $row RETURN NONE", {"row": row}))
        gone = (WorkflowRemoved(workflow_id),)
        statements += [Statement("DELETE $row RETURN NONE", {"row": row}, gone), *save_usage(spent), stamp()]
        with self._memories.changing():
            results = await self._store.transact(*statements)
            self._store.last_hashes.clear()
            self._memories.workflow_deleted(workflow_id)
        counts = {
            name: (found[0]["n"] if found else 0) for name, found in zip(tables.OWNED, results[1::2], strict=False)
        }
        await in_storage_thread(self._delete_files, workflow_id)
        return {"workflow": 1, **counts}

    async def names_file(self, workflow_id: str, sha256: str) -> bool:
        """Whether a message or a call of the workflow, on any branch, names the file with this hash."""
        found = await self._store.query(
            "RETURN array::len((SELECT id FROM message WHERE workflow = $workflow AND string::contains(details, "
            "$hash) LIMIT 1))"
            " + array::len((SELECT id FROM tool_execution WHERE workflow = $workflow AND string::contains(parts, "
            "$hash) LIMIT 1))",
            workflow=record("workflow", workflow_id),
            hash=sha256,
        )
        return bool(found[0])

    def _delete_files(self, workflow_id: str) -> None:
        """Delete its reports, artefacts and snapshots."""
        for above in (self._datadir.reports, self._datadir.attachments, self._datadir.snapshots):
            try:
                folder = files_of(above, workflow_id)
            except UsageError:
                return  # no file can exist for such an id
            try:
                if folder.is_dir():
                    shutil.rmtree(folder)
            except OSError as error:
                raise StorageError(database_errors.READ_ONLY, code="read_only", path=folder) from error
