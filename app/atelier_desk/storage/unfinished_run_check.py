"""Whether a run is unfinished. Asked at each opening, so this module imports almost nothing: a listing stays fast."""

from __future__ import annotations

from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.writer import AT_WORK


async def at_work(store: Store) -> bool:
    """Whether a run is marked as running; after a kill that may be one that nobody works on."""
    return bool(await store.query(AT_WORK))
