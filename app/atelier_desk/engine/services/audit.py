"""The audit trail: who was allowed what, when and why, within the configured number of days."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

from atelier_desk.domain.audit import AuditFilter, AuditLine, AuditPage, as_csv
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.limits import LIST_MAX
from atelier_desk.engine.services.common.service import Service
from atelier_desk.presentation.audit_text import columns
from atelier_desk.storage.data_folder.atomic_files import write_atomic
from atelier_desk.support.i18n import N_


class AuditService(Service):
    """Read-only; ``audit_days`` limits what is shown, and deletes nothing."""

    async def page(self, wanted: AuditFilter, after: tuple[datetime, str] | None = None, limit: int = 100) -> AuditPage:
        """Return matching entries, newest first; ``after`` is the ``next`` of the previous page.

        Raises:
            LimitError: ``limit`` is below 1 or over ``limits.LIST_MAX``.
        """
        repos = self._context.repos
        days = (await repos.settings.load()).audit_days
        oldest = self._context.clock.now() - timedelta(days=days) if days else None
        if oldest is not None and (wanted.since is None or wanted.since < oldest):
            wanted = wanted.model_copy(update={"since": oldest})
        found = await repos.audit.page(wanted, after=after, limit=limit)
        names = await repos.audit.workflows({entry.workflow_id for entry in found})
        lines = []
        for entry in found:
            name, in_bin = names.get(entry.workflow_id, ("", False))
            lines.append(AuditLine(entry=entry, workflow=name, in_bin=in_bin))
        return AuditPage(lines=tuple(lines), next=(found[-1].created_at, found[-1].id) if len(found) == limit else None)

    async def export(self, wanted: AuditFilter, path: Path, most: int | None = None) -> int:
        """Atomically write all matching entries, or the newest ``most``, as CSV; return their number.

        Raises:
            UsageError: it cannot be written.
        """
        parts, count = [as_csv((), columns)], 0
        async for page in self._pages(wanted, most):
            count += len(page.lines)
            parts.append(as_csv(page.lines, columns, header=False))
        text = "".join(parts)
        try:
            await asyncio.to_thread(write_atomic, path, text.encode("utf-8-sig"))
        except OSError as error:
            raise UsageError(
                N_("{path} cannot be written: {reason}"), path=path, reason=error.strerror or error
            ) from None
        return count

    async def newest(self, wanted: AuditFilter, most: int | None = None) -> tuple[AuditLine, ...]:
        """Return the newest ``most`` matching entries, or all, across pages."""
        return tuple([line async for page in self._pages(wanted, most) for line in page.lines])

    async def _pages(self, wanted: AuditFilter, most: int | None) -> AsyncIterator[AuditPage]:
        after, left = None, most
        while left is None or left > 0:
            page = await self.page(wanted, after, LIST_MAX if left is None else min(left, LIST_MAX))
            yield page
            after, left = page.next, None if left is None else left - len(page.lines)
            if after is None:
                return
