"""Asked at each opening, so in a file that imports nearly nothing: a listing loads no more than it looks at."""

from __future__ import annotations

from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.writer import AT_WORK


async def at_work(store: Store) -> bool:
    """Whether a run says that it is at work; after a kill one does that nobody works on."""
    return bool(await store.query(AT_WORK))
