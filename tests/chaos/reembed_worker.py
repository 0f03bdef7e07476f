"""Re-embed a folder's memories until killed; prints the number of finished vectors."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.knowledge.memory_search import BATCH, MemorySearch
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories.memories import MemoryRepository
from atelier_desk.storage.store import Store

MEMORIES = 10 * BATCH
OLD, NEW = "counted:old", "counted:new"


class Counted:
    """Vectors of four numbers computed from the text and the embedder's name; each embedded text is appended to a
    file.
    """

    dimension = 4

    def __init__(self, id: str, log: Path) -> None:
        self.id, self._log = id, log

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        await asyncio.sleep(0.02)
        if not query:
            with self._log.open("a", encoding="utf-8") as log:
                log.write("".join(f"{text}\n" for text in texts))
        return np.array([vector(self.id, text) for text in texts], dtype=np.float32)

    async def aclose(self) -> None:
        """Nothing to close."""


def vector(embedder: str, text: str) -> list[float]:
    """The vector of ``Counted`` for a text."""
    number = float(text.rpartition(" ")[2].rstrip("?"))
    return [number, number % 7, 1.0, float(embedder == NEW)]


async def main(folder: Path, log: Path) -> None:
    """Fill the folder when it is empty, then continue with the new embedder."""
    store = await Store.open(DataDir(folder).ensure().database)
    memories = MemoryRepository(store)
    search = MemorySearch(memories, Counted(OLD, log), SystemClock())
    if not await memories.count():
        await search.index_many(
            [Memory(type=MemoryType.KNOWLEDGE, content=f"fact {number}") for number in range(MEMORIES)]
        )
        log.unlink()
    if await memories.count_without(NEW):
        search.change_to(Counted(NEW, log))
    else:
        search.use(Counted(NEW, log))
    print("ready", flush=True)
    await search.reembed(lambda done, _total: print(done, flush=True))
    await search.aclose()
    await store.close()
    print("whole", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
