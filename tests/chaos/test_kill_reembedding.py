"""Re-embedding under kills: resumed each time, complete at the end, and only texts of the interrupted batch are
embedded again.
"""

from __future__ import annotations

import random
from pathlib import Path
from time import sleep

import pytest

from atelier_desk.knowledge.memory_search import BATCH
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories.memories import MemoryRepository
from atelier_desk.storage.store import Store
from tests.chaos.reembed_worker import MEMORIES, NEW, vector
from tests.helpers import forked_workers

KILLS = 12


@pytest.mark.timeout(600)
async def test_all_vectors_exist_after_kills(tmp_path: Path) -> None:
    chance = random.Random(7)
    folder, log = tmp_path / "data", tmp_path / "embedded.txt"
    kills = 0
    for _start in range(10 * KILLS):
        with forked_workers.start("tests.chaos.reembed_worker", str(folder), str(log)) as worker:
            assert worker.stdout.readline() == b"ready\n"
            said = b""
            if kills < KILLS:
                sleep(chance.uniform(0.0, 0.06))
                worker.kill()
                kills += 1
            else:
                said = worker.stdout.read().splitlines()[-1]
            worker.wait()
        if said == b"whole":
            break
    store = await Store.open(DataDir(folder).database)
    memories = MemoryRepository(store)
    assert await memories.count() == MEMORIES
    assert await memories.count_without(NEW) == 0
    ids, matrix = await memories.vectors(NEW, limit=MEMORIES)
    contents = {each.id: each.content for each in await memories.get_many(ids)}
    assert len(ids) == MEMORIES
    assert all(list(row) == vector(NEW, contents[id]) for id, row in zip(ids, matrix, strict=True))
    rows = await store.query("SELECT count() AS n FROM memory_vector GROUP ALL")
    assert rows[0]["n"] == MEMORIES, "vectors of the one before are left"
    await store.close()
    embedded = len(log.read_text("utf-8").splitlines())
    print(f"{kills} kills: {embedded} embeddings for {MEMORIES} memories")
    assert embedded <= MEMORIES + kills * BATCH
