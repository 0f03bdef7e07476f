"""Deleted memories that can be restored.

They are added in the transaction that deletes a memory and removed in the one that restores it; see
``MemoryRepository``.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import datetime

from atelier_desk.domain.memory import DeletedMemory
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base_repository import DeletingRepository, some
from atelier_desk.storage.store import Statement, Store
from atelier_desk.support.i18n import N_

_COLUMNS = ", ".join(
    column for field in tables.MEMORIES.model.model_fields if (column := tables.MEMORIES.column(field)) != "id"
)


class MemoryBinRepository(DeletingRepository[DeletedMemory]):
    """Deleted memories."""

    table = tables.MEMORY_BIN
    what = "deleted memory"
    absent = N_("There is no deleted memory {id}.")

    async def list(self, limit: int | None = None, offset: int = 0) -> list[DeletedMemory]:
        """Return deleted memories, last deleted first; all without a ``limit``.

        Skips those of deleted workflows: they are restored with their workflow.
        """
        page, bounds = some(limit, offset)
        return await self._select(
            f"WHERE workflow = NONE OR workflow.deleted_at = NONE ORDER BY recency, id{page}", **bounds
        )

    async def purge_before(self, oldest: datetime) -> int:
        """Permanently delete what was deleted before ``oldest``; return the number."""
        gone = await self._store.transact(
            Statement("DELETE memory_bin WHERE deleted_at < $oldest RETURN BEFORE", {"oldest": oldest})
        )
        return len(gone[0])


def copy_to_bin(condition: str, params: Mapping[str, object], store: Store, merged: str | None = None) -> Statement:
    """Statement that copies the memories matching a condition (a constant of the code); must precede their deletion."""
    return Statement(
        f"INSERT INTO memory_bin (SELECT record::id(id) AS id, {_COLUMNS}, $binned_at AS deleted_at, $merged AS merged"  # noqa: S608
        f" FROM memory WHERE {condition}) RETURN NONE",
        {**params, "binned_at": store.clock.now(), "merged": merged},
    )


def unbinned(memory_ids: builtins.list[str]) -> Statement:
    """Statement that removes restored memories from the bin."""
    return Statement(
        "DELETE $unbinned RETURN NONE", {"unbinned": [tables.MEMORY_BIN.record(each) for each in memory_ids]}
    )
