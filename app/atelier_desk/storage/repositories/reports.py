"""Reports: index rows in the database, texts as Markdown files whose SHA-256 is in the row."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from atelier_desk.domain.errors import NotFoundError, StorageError, UsageError
from atelier_desk.domain.workflow import Report
from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.data_folder import atomic_files
from atelier_desk.storage.data_folder.atomic_files import report_path
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories.base_repository import Repository, guard
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.search.index_changes import RemovedDocument, document
from atelier_desk.storage.store import Statement, Store
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

UNREADABLE = N_("The report file {path} cannot be read or written: {reason}.")
CHANGED = N_(
    "The report file {path} was changed by another program or is damaged. Check it. To keep it as it is "
    "now: atelier reports accept {workflow} {name}. Otherwise, write it again or restore a backup."
)

T = TypeVar("T")


class ReportRepository(Repository[Report]):
    """Reports by workflow and name. A file is compared with its row whenever it is read."""

    table = tables.REPORTS
    what = "report"
    absent = N_("There is no report {id}.")

    def __init__(self, store: Store, datadir: DataDir) -> None:
        super().__init__(store)
        self._datadir = datadir
        self._one = asyncio.Lock()
        """Held while a row and its file are accessed.

        A reader must not see the row of one version beside the file of the next.
        """

    def path(self, workflow_id: str, name: str) -> Path:
        """Return the path of a report's text.

        Raises:
            UsageError: the name or the id is no plain file name.
        """
        return report_path(self._datadir.reports, workflow_id, name)

    async def save(self, report: Report, text: str) -> Report:
        """Write a report's file and row; return the row, with size and hash.

        A report of the same name is replaced and keeps its id. Once started, it completes even if the caller is
        cancelled. A kill leaves the old report or the new.

        Raises:
            NotFoundError: the workflow is gone.
            UsageError: the name is no plain file name.
        """
        return await asyncio.shield(self._save(report, text))

    async def _save(self, report: Report, text: str) -> Report:
        path = self.path(report.workflow_id, report.name)
        data = text.encode("utf-8", errors="replace")
        async with self._one:
            existing = await self._by_name(report.workflow_id, report.name)
            await self._store.write(guard(report.workflow_id))
            await _in_thread(path, lambda: atomic_files.stage(path, data))
            stored = await self._write_row(report.model_copy(update={"id": existing.id}) if existing else report, data)
            await _in_thread(path, lambda: atomic_files.put_in_place(path))
        return stored

    async def _write_row(self, report: Report, data: bytes) -> Report:
        stored, statement = self._row(report, data)
        await self._store.write(guard(report.workflow_id), statement)
        return stored

    def _row(self, report: Report, data: bytes) -> tuple[Report, Statement]:
        stored = report.model_copy(update={"size": len(data), "sha256": atomic_files.sha256(data)})
        content = self.table.encode(stored)
        found = (document("report", content, _text(data)),)
        return stored, Statement(
            "UPSERT $row CONTENT $content RETURN NONE", {"row": content["id"], "content": content}, found
        )

    @contextlib.asynccontextmanager
    async def staged(self, reports: Sequence[tuple[Report, str]]) -> AsyncIterator[builtins.list[Statement]]:
        """Stage the texts of reports; put them in place after the block has committed the yielded statements.

        Raises:
            UsageError: a name or an id is not a plain file name.
            StorageError: a text cannot be written.
        """
        waiting = [
            (self.path(report.workflow_id, report.name), report, text.encode("utf-8", errors="replace"))
            for report, text in reports
        ]
        ready = False
        async with self._one:
            try:
                for path, _report, data in waiting:
                    await _in_thread(path, partial(atomic_files.stage, path, data))
                ready = True
                yield [self._row(report, data)[1] for _path, report, data in waiting]
            except BaseException as error:
                # After a database error the rows may still exist; then the staged texts are theirs.
                if not ready or isinstance(error, UsageError):
                    for path, _report, _data in waiting:
                        await in_storage_thread(atomic_files.unstage, path)
                raise
            for path, _report, _data in waiting:
                await _in_thread(path, partial(atomic_files.put_in_place, path))

    async def remove_files(self, workflow_id: str, names: Sequence[str]) -> None:
        """Delete the files of reports whose rows are gone."""
        for name in names:
            await in_storage_thread(atomic_files.remove, self.path(workflow_id, name))

    async def get(self, workflow_id: str, name: str = "") -> Report:
        """Return the row of a report.

        Raises:
            NotFoundError: there is none of that name.
        """
        found = await self._by_name(workflow_id, name)
        if found is None:
            raise self.missing(name)
        return found

    async def read(self, workflow_id: str, name: str, *, check: bool = True) -> str:
        """Return the text of a report; with ``check`` False even if it is damaged.

        Raises:
            NotFoundError: there is none of that name.
            StorageError: ``damaged_file`` when the file does not match its row, ``read_only`` when it cannot be read.
        """
        async with self._one:
            report = await self.get(workflow_id, name)
            path = self.path(workflow_id, name)
            data = await _in_thread(path, lambda: atomic_files.read_hashed(path, report.sha256))
            if data is None and check:
                raise StorageError(
                    CHANGED, code="damaged_file", path=path, workflow=workflow_id, name=shlex.quote(name)
                )
            return _text(await _in_thread(path, path.read_bytes) if data is None else data)

    async def accept(self, workflow_id: str, name: str) -> Report:
        """Accept the present file as the report after another program changed it. Returns the new row.

        Raises:
            NotFoundError: there is none of that name.
            StorageError: its file cannot be read.
        """
        async with self._one:
            report = await self.get(workflow_id, name)
            path = self.path(workflow_id, name)
            data = await _in_thread(path, path.read_bytes)
            if atomic_files.sha256(data) == report.sha256:
                return report
            return await self._write_row(report.model_copy(update={"updated_at": self._store.clock.now()}), data)

    async def check_all(
        self, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, builtins.list[StorageError]]:
        """Read the file of every report. Returns their number and an error for each missing or damaged one.

        ``progress`` is called with the number read and the total.
        """
        found: builtins.list[StorageError] = []
        reports = await self._select("ORDER BY id")
        for number, report in enumerate(reports, 1):
            try:
                await self.read(report.workflow_id, report.name)
            except NotFoundError:
                continue  # deleted meanwhile
            except StorageError as error:
                found.append(error)
            if progress:
                progress(number, len(reports))
        return len(reports), found

    async def list(self, workflow_id: str) -> list[Report]:
        """All reports of a workflow, by name."""
        return await self._select("WHERE workflow = $workflow ORDER BY name", workflow=record("workflow", workflow_id))

    async def delete(self, workflow_id: str, name: str) -> None:
        """Delete a report's row, then its file.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._one:
            found = await self.get(workflow_id, name)
            row = self.table.record(found.id)
            await self._store.write(
                Statement(database_errors.throw_not_found(self.what), {"guarded": row}),
                Statement("DELETE $row RETURN NONE", {"row": row}, (RemovedDocument("report", (found.id,)),)),
            )
            path = self.path(workflow_id, name)
            await in_storage_thread(atomic_files.remove, path)

    async def _by_name(self, workflow_id: str, name: str) -> Report | None:
        found = await self._select(
            "WHERE workflow = $workflow AND name = $name LIMIT 1", workflow=record("workflow", workflow_id), name=name
        )
        return found[0] if found else None


async def _in_thread(path: Path, work: Callable[[], T]) -> T:
    try:
        return await in_storage_thread(work)
    except OSError as error:
        raise StorageError(UNREADABLE, code="read_only", path=path, reason=error.strerror or str(error)) from error


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
