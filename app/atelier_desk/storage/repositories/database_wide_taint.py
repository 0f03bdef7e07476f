"""Mark all texts of a database as read from outside, or remove that mark."""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.storage.store import Statement, Store

_TEXTS = ("workflow", "memory", "memory_bin", "prompt")


async def mark_contents(store: Store, names: Sequence[str]) -> None:
    """Make every workflow, memory and prompt count as having read from these sources. Idempotent."""
    await store.write(*(_changed(table, "array::union(tainted ?? [], $names)", names) for table in _TEXTS))


async def unmark_contents(store: Store, names: Sequence[str]) -> None:
    """Remove these sources from all of them. What a run has read since stays in its journal."""
    await store.write(*(_changed(table, "array::complement(tainted ?? [], $names)", names) for table in _TEXTS))


def _changed(table: str, value: str, names: Sequence[str]) -> Statement:
    return Statement(f"UPDATE {table} SET tainted = {value} RETURN NONE", {"names": list(names)})  # noqa: S608
