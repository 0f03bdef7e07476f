"""Reports of a workflow: reading, writing and deleting them, and where their files are."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError, NotFoundError
from atelier_desk.domain.workflow import Report
from atelier_desk.engine.services.context import ServiceContext
from atelier_desk.i18n import N_, _
from atelier_desk.tools.core.report_names import report_name


class ReportService:
    """Reports. Changes are announced as ``report`` with the workflow's id."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def list(self, workflow_id: str) -> list[Report]:
        return await self._context.repos.reports.list(workflow_id)

    async def read(self, workflow_id: str, name: str) -> str:
        """The report's Markdown."""
        return await self._context.repos.reports.read(workflow_id, name)

    async def write(self, workflow_id: str, name: str, text: str) -> Report:
        """Create a report or replace its text, at most 200 000 characters; the name is a plain file name without folders."""
        name = report_name(name)
        if len(text) > limits.REPORT:
            raise LimitError(N_("A report has at most {most} characters, not {length}."), most=limits.REPORT, length=len(text))
        await self._context.repos.workflows.get(workflow_id)
        now = self._context.clock.now()
        size = len(text.encode("utf-8"))
        old = await self._existing(workflow_id, name)
        if old is None:
            report = Report(workflow_id=workflow_id, name=name, size=size, author=_("You"), created_at=now, updated_at=now)
        else:
            report = old.model_copy(update={"size": size, "updated_at": now})
        await self._context.repos.reports.save(report, text)
        self._context.bus.changed("report", workflow_id)
        return report

    async def delete(self, workflow_id: str, name: str) -> str:
        """Remove a report; gives its text, so that ``write`` can undo it."""
        text = await self.read(workflow_id, name)
        await self._context.repos.reports.delete(workflow_id, name)
        self._context.bus.changed("report", workflow_id)
        return text

    async def path(self, workflow_id: str, name: str) -> Path:
        """The report's file, for a file manager or another program."""
        report = await self._context.repos.reports.get(workflow_id, name)
        return Path(self._context.datadir.reports) / workflow_id / f"{report.name}.md"

    async def _existing(self, workflow_id: str, name: str) -> Report | None:
        try:
            return await self._context.repos.reports.get(workflow_id, name)
        except NotFoundError:
            return None
