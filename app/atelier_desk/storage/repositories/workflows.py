"""Workflows and the search through all they hold."""

from __future__ import annotations

import builtins
import shutil
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from atelier_desk.domain.call import Presentation
from atelier_desk.domain.errors import StorageError, UsageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.i18n import _
from atelier_desk.storage import errors, tables
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.storage.folder.files import files_of
from atelier_desk.storage.repositories.base import Repository, guard, page_size, upsert
from atelier_desk.storage.repositories.memories import MemoryRepository, stamp
from atelier_desk.storage.repositories.used import Spent, keep_spent
from atelier_desk.storage.rows import Table, plain_time, record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.text import content_words, excerpt, said_in
from atelier_desk.threads import in_storage_thread


class SearchHit(NamedTuple):
    """One place where all searched words were found.

    Attributes:
        kind: ``message``, ``tool_execution``, ``report`` or ``memory``.
        workflow_id: empty, like its name, for a general memory.
        seq: place of a message in its workflow, 0 for the others.
        excerpt: text around the first word found, with its lines, as Markdown where it was written so; of a call, those of the values it
            was given and gave that have it.
        at: when it was said, done or last changed.
        run_id: of a message or a call, the run it is of.
        message_id: of a message its own id, of a call that of the reply which made it; empty for the others.
        who: of a message the agent's name, empty when it was said to an agent.
        to: of what was said to a sub-agent, by a person or by its parent, the sub-agent's name.
        tool, presentation: of a call, its tool's own name, and icon and words for people.
    """

    kind: str
    workflow_id: str
    workflow_name: str
    row_id: str
    seq: int
    excerpt: str
    at: datetime
    run_id: str = ""
    message_id: str = ""
    who: str = ""
    tool: str = ""
    presentation: Presentation = Presentation()
    to: str = ""


_SEARCHES = {
    "message": "workflow, run, seq, content AS text, agent_name, created_at AS at, -time::micros(created_at) AS place",
    "report": "workflow, 0 AS seq, name AS text, updated_at AS at, -time::micros(updated_at) AS place",
    "memory": "workflow, 0 AS seq, content AS text, updated_at AS at, recency AS place",
    "tool_execution": "workflow, run, 0 AS seq, message_id, tool, presentation, arguments, result, error, started_at AS at, "
    "recency AS place",
}


_TABLES: dict[str, Table[Any]] = {"message": tables.MESSAGES, "tool_execution": tables.EXECUTIONS}
_HASHED = {kind: f", {_TABLES[kind].columns}" if kind in _TABLES else "" for kind in _SEARCHES}
"""What tells whether a row that was found is as it was written."""


class WorkflowRepository(Repository[Workflow]):
    """The workflow table, and what concerns all tables of a workflow."""

    table = tables.WORKFLOWS
    what = "workflow"

    def __init__(self, store: Store, datadir: DataDir, of_memories: MemoryRepository) -> None:
        """``of_memories`` is told of a workflow whose rows are gone."""
        super().__init__(store)
        self._datadir = datadir
        self._memories = of_memories

    async def create(self, workflow: Workflow) -> Workflow:
        """Store a new workflow.

        Raises:
            StorageError: its id exists already.
        """
        row = self.table.encode(workflow)
        await self._store.write(Statement("CREATE $row CONTENT $content RETURN NONE", {"row": row["id"], "content": row}))
        return workflow

    async def list(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        search: str = "",
        deleted: bool = False,
        archived: bool | None = None,
        filed: bool | None = None,
        collection: str | None = None,
    ) -> list[Workflow]:
        """Pinned ones first, then the latest changed. ``search`` filters by name, without case; ``deleted`` lists those in the bin.

        ``archived``: those that are put away, or those that are not; ``filed``: those in a folder of the list, or those in none;
        ``collection``: those in this folder. None takes all.
        """
        wanted = {"archived": archived, "filed": filed, "collection": collection}
        only = "".join(f" AND {name} = ${name}" for name, value in wanted.items() if value is not None)
        if search:
            only += " AND string::contains(string::lowercase(name), $search)"
        return await self._select(
            f"WHERE deleted = $deleted{only} ORDER BY unpinned, recency LIMIT $limit START $offset",
            deleted=deleted,
            search=search.lower(),
            **wanted,
            limit=page_size(limit),
            offset=offset,
        )

    async def ids(self) -> set[str]:
        """Of all there are, those in the bin too."""
        return {row["id"].id for row in await self._store.query("SELECT id FROM workflow")}

    async def archived(self) -> int:
        """How many are put away."""
        rows = await self._store.query("SELECT count() AS n FROM workflow WHERE deleted = false AND archived = true GROUP ALL")
        return int(rows[0]["n"]) if rows else 0

    async def latest(self) -> Workflow | None:
        """The one that was changed last, pinned or not; None when there is none outside the bin."""
        found = await self._select("WHERE deleted = false ORDER BY recency LIMIT 1")
        return found[0] if found else None

    async def update(self, workflow_id: str, **fields: Any) -> Workflow:
        """Change some fields; ``updated_at`` is not touched unless it is given.

        Raises:
            NotFoundError: there is no such workflow.
        """
        current = await self.get(workflow_id)
        checked = Workflow.model_validate({**current.model_dump(), **fields})
        if fields:
            changes = self.table.changes({name: getattr(checked, name) for name in fields})
            statement = Statement("UPDATE $row MERGE $changes RETURN NONE", {"row": self.table.record(workflow_id), "changes": changes})
            await self._store.write(guard(workflow_id), statement)
        return await self.get(workflow_id)

    async def soft_delete(self, workflow_id: str) -> Workflow:
        """Put a workflow into the bin: lists and searches leave it out until ``restore``."""
        return await self.update(workflow_id, deleted_at=self._store.clock.now())

    async def restore(self, workflow_id: str) -> Workflow:
        """Take a workflow out of the bin."""
        return await self.update(workflow_id, deleted_at=None)

    async def save(self, workflow: Workflow) -> None:
        """Write the whole row, new or not."""
        await self._store.write(upsert(self.table, workflow))

    async def purge(self, workflow_id: str, spent: Sequence[Spent] = ()) -> dict[str, int]:
        """Delete a workflow and every row of it in one transaction, then its files; ``spent`` is what its runs used, which is kept. Returns
        how many rows each table lost.

        Raises:
            NotFoundError: there is no such workflow.
            StorageError: the files could not be deleted; the rows are gone.
        """
        row = self.table.record(workflow_id)
        statements = [guard(workflow_id)]
        for name in tables.OWNED:
            statements.append(Statement(f"SELECT count() AS n FROM {name} WHERE workflow = $row GROUP ALL", {"row": row}))  # noqa: S608
            statements.append(Statement(f"DELETE {name} WHERE workflow = $row RETURN NONE", {"row": row}))
        statements += [Statement("DELETE $row RETURN NONE", {"row": row}), *keep_spent(spent), stamp()]
        with self._memories.changing():
            results = await self._store.transact(*statements)
            self._store.last_hashes.clear()
            self._memories.workflow_deleted(workflow_id)
        counts = {name: (found[0]["n"] if found else 0) for name, found in zip(tables.OWNED, results[1::2], strict=False)}
        await in_storage_thread(self._delete_files, workflow_id)
        return {"workflow": 1, **counts}

    async def search(self, text: str, limit: int = 50) -> builtins.list[SearchHit]:
        """Where all words of a text occur: messages, reports, memories, tool input and output; newest first.

        Words match by their stem; stop words are left out. Workflows in the bin are left out. Not ranked by score: the engine's score
        alone takes 50 ms at 100 000 messages, and who looks for something said wants the latest place.
        """
        wanted = " ".join(content_words(text))
        if not wanted:
            return []
        hits: builtins.list[tuple[str, dict[str, Any]]] = []
        for kind, columns in _SEARCHES.items():
            rows = await self._store.query(
                f"SELECT id, {columns}{_HASHED[kind]} FROM {kind} WHERE search @1,AND@ $wanted ORDER BY place LIMIT $limit",  # noqa: S608
                wanted=wanted,
                limit=page_size(limit),
            )
            hits += [(kind, row) for row in rows]
        names = await self._names({row["workflow"].id for _kind, row in hits if row.get("workflow") is not None})
        runs = await self._runs({row["run"].id for _kind, row in hits if row.get("run") is not None})
        hits = [(kind, row) for kind, row in hits if row.get("run") is None or not runs.get(row["run"].id, {}).get("gone")]
        kept = [(kind, row) for kind, row in hits if row.get("workflow") is None or row["workflow"].id in names]
        found = [self._hit(kind, row, names, runs, wanted) for kind, row in kept]
        return sorted(found, key=lambda hit: hit.at, reverse=True)[:limit]

    @staticmethod
    def _hit(kind: str, row: dict[str, Any], names: dict[str, str], runs: dict[str, dict[str, Any]], wanted: str) -> SearchHit:
        workflow = row["workflow"].id if row.get("workflow") is not None else ""
        call = kind == "tool_execution"
        run = runs.get(row["run"].id, {}) if row.get("run") is not None else {}
        text = said_in((row["arguments"], row["error"], row.get("result") or ""), wanted) if call else row["text"]
        if kind in _TABLES and not _TABLES[kind].is_whole(row):
            text = _("This is not as it was written, because the data folder is damaged.")
        return SearchHit(
            kind,
            workflow,
            names.get(workflow, ""),
            row["id"].id,
            row["seq"],
            excerpt(text, wanted),
            plain_time(row["at"]),
            run_id=row["run"].id if row.get("run") is not None else "",
            message_id=row["message_id"] if call else row["id"].id if kind == "message" else "",
            who=row.get("agent_name") or "",
            tool=row["tool"] if call else "",
            presentation=Presentation.model_validate_json(row["presentation"]) if call else Presentation(),
            to=run.get("agent_name") or "" if kind == "message" and not row.get("agent_name") and run.get("depth") else "",
        )

    async def _runs(self, ids: set[str]) -> dict[str, dict[str, Any]]:
        """Agent and depth of these runs, and whether a person deleted them with their branch (``gone``)."""
        rows = await self._store.query(
            "SELECT id, agent_name, depth, deleted_at != NONE AS gone FROM $rows", rows=[record("run", each) for each in sorted(ids)]
        )
        return {row["id"].id: row for row in rows}

    async def names_file(self, workflow_id: str, sha256: str) -> bool:
        """Whether a message or a call of the workflow names the file of this hash, on whatever branch."""
        found = await self._store.query(
            "RETURN array::len((SELECT id FROM message WHERE workflow = $workflow AND string::contains(details, $hash) LIMIT 1))"
            " + array::len((SELECT id FROM tool_execution WHERE workflow = $workflow AND string::contains(parts, $hash) LIMIT 1))",
            workflow=record("workflow", workflow_id),
            hash=sha256,
        )
        return bool(found[0])

    async def _names(self, ids: set[str]) -> dict[str, str]:
        """Names of those workflows that are not in the bin."""
        rows = await self._store.query(
            "SELECT id, name FROM $rows WHERE deleted = false", rows=[record("workflow", each) for each in sorted(ids)]
        )
        return {row["id"].id: row["name"] for row in rows}

    def _delete_files(self, workflow_id: str) -> None:
        """Its reports and artefacts."""
        for above in (self._datadir.reports, self._datadir.attachments):
            try:
                folder = files_of(above, workflow_id)
            except UsageError:
                return  # no file was ever written for such an id
            try:
                if folder.is_dir():
                    shutil.rmtree(folder)
            except OSError as error:
                raise StorageError(errors.READ_ONLY, code="read_only", path=folder) from error
