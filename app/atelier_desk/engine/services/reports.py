"""Reports of a workflow: reading, writing, deleting, and file locations."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, NotFoundError, StorageError
from atelier_desk.domain.workflow import Report
from atelier_desk.engine.services.common.service import Service
from atelier_desk.support.i18n import N_, _
from atelier_desk.tools.core.report_names import report_name


class ReportService(Service):
    """Reports. Changes are announced as ``report`` with the workflow's id."""

    async def list(self, workflow_id: str) -> list[Report]:
        return await self._context.repos.reports.list(workflow_id)

    async def read(self, workflow_id: str, name: str, *, check: bool = True) -> str:
        """Return the report's Markdown; with ``check`` False even if it is damaged.

        Raises:
            NotFoundError: there is no such report.
            StorageError: ``damaged_file`` if another program changed the file or it is damaged, ``read_only`` if it
                cannot be read.
        """
        return await self._context.repos.reports.read(workflow_id, name, check=check)

    async def accept(self, workflow_id: str, name: str) -> Report:
        """Accept the report's present file after a person changed it with another program.

        Raises:
            LimitError: it has more than 200 000 characters.
            NotFoundError: there is no such report.
            StorageError: its file cannot be read.
        """
        _check_length(await self.read(workflow_id, name, check=False))
        report = await self._context.repos.reports.accept(workflow_id, name)
        self._context.bus.changed("report", workflow_id)
        return report

    async def write(self, workflow_id: str, name: str, text: str) -> Report:
        """Create a report or replace its text, at most 200 000 characters; the name is a plain file name."""
        name = report_name(name)
        _check_length(text)
        await self._context.repos.workflows.get(workflow_id)
        now = self._context.clock.now()
        size = len(text.encode("utf-8"))
        old = await self._existing(workflow_id, name)
        if old is None:
            report = Report(
                workflow_id=workflow_id, name=name, size=size, author=_("You"), created_at=now, updated_at=now
            )
        else:
            report = old.model_copy(update={"size": size, "updated_at": now})
        stored = await self._context.repos.reports.save(report, text)
        self._context.bus.changed("report", workflow_id)
        return stored

    async def check_all(
        self, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, builtins.list[StorageError]]:
        """Read every report of every workflow. Returns their number, and an error for each missing or damaged one."""
        return await self._context.repos.reports.check_all(progress)

    async def delete(self, workflow_id: str, name: str) -> str | None:
        """Delete a report and return its text, for undoing with ``write``; None if its file is gone."""
        try:
            text = await self.read(workflow_id, name, check=False)
        except StorageError:
            text = None
        await self._context.repos.reports.delete(workflow_id, name)
        self._context.bus.changed("report", workflow_id)
        return text

    async def path(self, workflow_id: str, name: str) -> Path:
        """Return the report's file, for other programs."""
        report = await self._context.repos.reports.get(workflow_id, name)
        return self._context.repos.reports.path(workflow_id, report.name)

    async def _existing(self, workflow_id: str, name: str) -> Report | None:
        try:
            return await self._context.repos.reports.get(workflow_id, name)
        except NotFoundError:
            return None


def _check_length(text: str) -> None:
    if len(text) > limits.REPORT:
        raise LimitError(
            N_("A report can have at most {most} characters; this one has {length}."),
            most=limits.REPORT,
            length=len(text),
        )
