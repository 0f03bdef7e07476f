"""Marking all texts of a database at once as read from outside, and taking that mark back."""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.storage.store import Statement, Store

_TEXTS = ("workflow", "memory", "memory_bin", "prompt")


async def mark_contents(store: Store, names: Sequence[str]) -> None:
    """From now on every workflow, memory and prompt counts as having read from these; doing it again changes nothing."""
    await store.write(*(_changed(table, "array::union(tainted ?? [], $names)", names) for table in _TEXTS))


async def unmark_contents(store: Store, names: Sequence[str]) -> None:
    """None counts as having read from these any more. What a run has read since stays in its journal."""
    await store.write(*(_changed(table, "array::complement(tainted ?? [], $names)", names) for table in _TEXTS))


def _changed(table: str, value: str, names: Sequence[str]) -> Statement:
    return Statement(f"UPDATE {table} SET tainted = {value} RETURN NONE", {"names": list(names)})  # noqa: S608
