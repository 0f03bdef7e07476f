"""Memories that were deleted and can be brought back. They come here in the transaction that deletes them, and go in that which writes them
again; see ``MemoryRepository``."""

from __future__ import annotations

import builtins
from datetime import datetime
from typing import Any

from atelier_desk.domain.memory import DeletedMemory
from atelier_desk.storage import tables
from atelier_desk.storage.repositories.base import Repository, some
from atelier_desk.storage.store import Statement, Store

_COLUMNS = ", ".join(column for field in tables.MEMORIES.model.model_fields if (column := tables.MEMORIES.column(field)) != "id")


class MemoryBinRepository(Repository[DeletedMemory]):
    """Deleted memories."""

    table = tables.MEMORY_BIN
    what = "deleted memory"

    async def list(self, limit: int | None = None, offset: int = 0) -> list[DeletedMemory]:
        """The last deleted first, all when no ``limit`` is given; none of a workflow that was deleted itself: they come back with it."""
        page, bounds = some(limit, offset)
        return await self._select(f"WHERE workflow = NONE OR workflow.deleted_at = NONE ORDER BY recency, id{page}", **bounds)

    async def purge(self, memory_id: str) -> None:
        """Delete one for good.

        Raises:
            NotFoundError: there is none.
        """
        await self._delete(memory_id)

    async def purge_before(self, oldest: datetime) -> int:
        """Delete for good what was deleted before; gives how many."""
        gone = await self._store.transact(Statement("DELETE memory_bin WHERE deleted_at < $oldest RETURN BEFORE", {"oldest": oldest}))
        return len(gone[0])


def binned(condition: str, params: dict[str, Any], store: Store, merged: str | None = None) -> Statement:
    """Copies what a condition, a constant of the code, finds among the memories; belongs before their deletion."""
    return Statement(
        f"INSERT INTO memory_bin (SELECT record::id(id) AS id, {_COLUMNS}, $binned_at AS deleted_at, $merged AS merged"  # noqa: S608
        f" FROM memory WHERE {condition}) RETURN NONE",
        {**params, "binned_at": store.clock.now(), "merged": merged},
    )


def unbinned(memory_ids: builtins.list[str]) -> Statement:
    """Takes out what is written again."""
    return Statement("DELETE $unbinned RETURN NONE", {"unbinned": [tables.MEMORY_BIN.record(each) for each in memory_ids]})
