"""Reports: index rows in the database, texts as Markdown files."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Report
from atelier_desk.i18n import N_
from atelier_desk.storage import errors, tables
from atelier_desk.storage.datadir import DataDir
from atelier_desk.storage.files import plain_name, write_atomic
from atelier_desk.storage.repositories.base import Repository, guard
from atelier_desk.storage.rows import record
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.text import search_text
from atelier_desk.threads import in_storage_thread

UNREADABLE = N_("The report file {path} cannot be read or written: {reason}.")


class ReportRepository(Repository[Report]):
    """Reports by workflow and name. The file is written first: a row always has its file."""

    table = tables.REPORTS
    what = "report"

    def __init__(self, store: Store, datadir: DataDir) -> None:
        super().__init__(store)
        self._datadir = datadir

    def path(self, workflow_id: str, name: str) -> Path:
        """Where a report's text is.

        Raises:
            UsageError: the name or the id is no plain file name.
        """
        return self._datadir.reports / plain_name(workflow_id) / f"{plain_name(name)}.md"

    async def save(self, report: Report, text: str) -> Report:
        """Write the file and its row; a report of the same name is replaced and keeps its id. Returns the row, its size in bytes.

        Raises:
            NotFoundError: the workflow is gone.
            UsageError: the name is no plain file name.
        """
        path = self.path(report.workflow_id, report.name)
        data = text.encode("utf-8", errors="replace")
        existing = await self._by_name(report.workflow_id, report.name)
        stored = report.model_copy(update={"size": len(data), **({"id": existing.id} if existing else {})})
        await self._store.write(guard(report.workflow_id))
        try:
            await in_storage_thread(write_atomic, path, data)
        except OSError as error:
            raise StorageError(UNREADABLE, code="read_only", path=path, reason=error.strerror or str(error)) from error
        content = {**self.table.encode(stored), "search": search_text(report.name, text)}
        statement = Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": content["id"], "content": content})
        await self._store.write(guard(report.workflow_id), statement)
        return stored

    async def get(self, workflow_id: str, name: str = "") -> Report:
        """One report's row.

        Raises:
            NotFoundError: there is none of that name.
        """
        found = await self._by_name(workflow_id, name)
        if found is None:
            raise self.missing(name)
        return found

    async def read(self, workflow_id: str, name: str) -> str:
        """A report's text.

        Raises:
            NotFoundError: there is none of that name.
            StorageError: its file cannot be read.
        """
        await self.get(workflow_id, name)
        path = self.path(workflow_id, name)
        try:
            return (await in_storage_thread(path.read_bytes)).decode("utf-8", errors="replace")
        except OSError as error:
            raise StorageError(UNREADABLE, code="read_only", path=path, reason=error.strerror or str(error)) from error

    async def list(self, workflow_id: str) -> list[Report]:
        """All reports of a workflow, by name."""
        return await self._select("WHERE workflow = $workflow ORDER BY name", workflow=record("workflow", workflow_id))

    async def delete(self, workflow_id: str, name: str) -> None:
        """Delete a report's row, then its file.

        Raises:
            NotFoundError: there is none of that name.
        """
        found = await self.get(workflow_id, name)
        row = self.table.record(found.id)
        await self._store.write(
            Statement(errors.throw_not_found(self.what), {"guarded": row}), Statement("DELETE $row RETURN NONE", {"row": row})
        )
        path = self.path(workflow_id, name)
        await in_storage_thread(path.unlink, missing_ok=True)

    async def _by_name(self, workflow_id: str, name: str) -> Report | None:
        found = await self._select(
            "WHERE workflow = $workflow AND name = $name LIMIT 1", workflow=record("workflow", workflow_id), name=name
        )
        return found[0] if found else None
