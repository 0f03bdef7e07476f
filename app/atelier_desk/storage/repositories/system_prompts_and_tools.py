"""What was sent to models besides the conversation: system messages and tool definitions."""

from __future__ import annotations

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.storage import tables
from atelier_desk.storage.damage_report import CODE
from atelier_desk.storage.repositories.base_repository import Repository, guard, upsert
from atelier_desk.storage.row_mapping import record
from atelier_desk.support.i18n import N_


class PromptFrameRepository(Repository[PromptFrame]):
    """System messages and tool definitions, each stored once per workflow."""

    table = tables.FRAMES
    what = "stored prompt"
    absent = N_("There is no record {id} of instructions and tools sent to a model.")

    async def save(self, frame: PromptFrame) -> None:
        """Insert or replace a frame.

        Raises:
            NotFoundError: its workflow is gone.
        """
        await self._store.write(guard(frame.workflow_id), upsert(self.table, frame))

    async def list(self, workflow_id: str) -> list[PromptFrame]:
        """Return all readable frames of a workflow, by id."""
        text = f"SELECT {self.table.columns} FROM {self.table.name} WHERE workflow = $workflow ORDER BY id"  # noqa: S608
        try:
            rows = await self._store.query(text, workflow=record("workflow", workflow_id))
        except StorageError as error:
            if error.code != CODE:
                raise
            return []
        return self.table.decode_all(row for row in rows if self.table.is_intact(row))
