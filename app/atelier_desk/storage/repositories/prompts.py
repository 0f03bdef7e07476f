"""A person's prompts."""

from __future__ import annotations

from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.domain.prompt import Prompt
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base_repository import DeletingRepository, upsert
from atelier_desk.support.i18n import N_

NAME_IN_USE = N_("There is already a prompt named {name}. Choose another name.")


class PromptRepository(DeletingRepository[Prompt]):
    """Prompts; names are unique regardless of case."""

    table = tables.PROMPTS
    what = "prompt"
    absent = N_("There is no prompt {id}.")

    async def save(self, prompt: Prompt) -> None:
        """Insert or replace a prompt.

        Raises:
            ConflictError: another prompt has the name.
        """
        try:
            await self._store.write(upsert(self.table, prompt))
        except StorageError as error:
            if "already contains" in str(error):
                raise ConflictError(NAME_IN_USE, name=prompt.name) from error
            raise

    async def list(self) -> list[Prompt]:
        """All prompts by name."""
        return await self._select("ORDER BY folded")

    async def named(self, name: str) -> Prompt | None:
        """Return the prompt with this name, regardless of case."""
        found = await self._select("WHERE folded = $folded LIMIT 1", folded=name.casefold())
        return found[0] if found else None
