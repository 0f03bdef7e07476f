"""Questions to the user."""

from __future__ import annotations

from atelier_desk.domain.question import QuestionStatus, UserQuestion
from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.repositories.base_repository import Repository, guard, upsert
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from atelier_desk.support.i18n import N_


class QuestionRepository(Repository[UserQuestion]):
    """The question queue."""

    table = tables.QUESTIONS
    what = "question"
    absent = N_("There is no question {id}.")

    async def save(self, question: UserQuestion) -> None:
        """Insert or replace a question.

        Raises:
            NotFoundError: its workflow is gone.
        """
        await self._store.write(guard(question.workflow_id), upsert(self.table, question))

    async def pending(self, workflow_id: str | None = None) -> list[UserQuestion]:
        """Return unanswered questions, oldest first; without a ``workflow_id``, of all workflows outside the bin."""
        condition = "workflow = $workflow" if workflow_id is not None else "workflow.deleted = false"
        return await self._select(
            f"WHERE status = $status AND {condition} ORDER BY created_at, id",
            status=QuestionStatus.PENDING.value,
            workflow=record("workflow", workflow_id or ""),
        )

    async def list(self, workflow_id: str) -> list[UserQuestion]:
        """All questions of a workflow, oldest first."""
        return await self._select(
            "WHERE workflow = $workflow ORDER BY created_at, id", workflow=record("workflow", workflow_id)
        )

    async def add_seen(self, question_id: str, milliseconds: int) -> UserQuestion:
        """Add time during which a question was visible; return the updated question.

        Raises:
            NotFoundError: there is no such question.
        """
        row = self.table.record(question_id)
        await self._store.write(
            Statement(database_errors.throw_not_found(self.what), {"guarded": row}),
            Statement("UPDATE $row SET seen_ms += $ms RETURN NONE", {"row": row, "ms": milliseconds}),
        )
        return await self.get(question_id)
