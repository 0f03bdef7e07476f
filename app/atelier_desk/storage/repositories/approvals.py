"""Approval requests."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.repositories.base_repository import Repository
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from atelier_desk.support.i18n import N_


class ApprovalRepository(Repository[ApprovalRequest]):
    """Approval requests, including decided ones: they are the audit trail."""

    table = tables.APPROVALS
    what = "approval"
    absent = N_("There is no approval request {id}.")

    async def pending(self, workflow_id: str | None = None) -> list[ApprovalRequest]:
        """Return undecided requests, oldest first; without a ``workflow_id``, of all workflows outside the bin."""
        condition = "workflow = $workflow" if workflow_id is not None else "workflow.deleted = false"
        return await self._select(
            f"WHERE status = $status AND {condition} ORDER BY created_at, id",
            status=ApprovalStatus.PENDING.value,
            workflow=record("workflow", workflow_id or ""),
        )

    async def list(self, workflow_id: str) -> list[ApprovalRequest]:
        """All requests of a workflow, oldest first."""
        return await self._select(
            "WHERE workflow = $workflow ORDER BY created_at, id", workflow=record("workflow", workflow_id)
        )

    async def of_teams(self, workflow_id: str, root_run_ids: Sequence[str]) -> builtins.list[ApprovalRequest]:
        """Return all requests of some root runs and their sub-agents, oldest first."""
        if not root_run_ids:
            return []
        return await self._select(
            "WHERE workflow = $workflow AND root_run_id IN $roots ORDER BY created_at, id",
            workflow=record("workflow", workflow_id),
            roots=list(root_run_ids),
        )

    async def add_seen(self, approval_id: str, milliseconds: int) -> ApprovalRequest:
        """Add time during which an approval card was visible; return the updated request.

        Raises:
            NotFoundError: there is no such request.
        """
        row = self.table.record(approval_id)
        await self._store.write(
            Statement(database_errors.throw_not_found(self.what), {"guarded": row}),
            Statement("UPDATE $row SET seen_ms += $ms RETURN NONE", {"row": row, "ms": milliseconds}),
        )
        return await self.get(approval_id)
