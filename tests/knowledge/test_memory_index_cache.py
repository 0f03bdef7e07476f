"""The index follows every change of the memories, and its file is used only when it matches the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.memory import Memory, MemoryFilter, MemoryScope, MemoryType
from atelier_desk.domain.workflow import Workflow
from atelier_desk.knowledge import memory_index_cache as keeper_module
from atelier_desk.knowledge.memory_search import MemorySearch
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.helpers.manual_clock import ManualClock
from tests.helpers.memory_fixtures import WordEmbedder


@pytest.fixture
def words(repos: Repositories, clock: ManualClock) -> MemorySearch:
    return MemorySearch(repos.memories, None, clock)


def fact(content: str, workflow: Workflow | None = None, **fields: Any) -> Memory:
    values = {"type": MemoryType.KNOWLEDGE, "workflow_id": workflow.id if workflow else None, **fields}
    return Memory(content=content, **values)


async def found(search: MemorySearch, query: str) -> list[str]:
    return [hit.memory.content for hit in (await search.search(query, threshold=0, limit=50)).hits]


async def matching(search: MemorySearch, wanted: MemoryFilter) -> set[str]:
    return (await search.index_cache.loaded()).matching(wanted, 0.0)


async def test_list_and_search_find_the_same(repos: Repositories, words: MemorySearch, workflow: Workflow) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    await repos.memories.save(fact("general", tags=("a", "b")))
    await repos.memories.save(fact("mine", workflow, type=MemoryType.DECISION))
    await repos.memories.save(fact("theirs", other, tags=("a",)))
    for wanted in (
        MemoryFilter(),
        MemoryFilter(workflow.id),
        MemoryFilter(workflow.id, MemoryScope.WORKFLOW),
        MemoryFilter(scope=None, tags=("a",)),
    ):
        ids = {
            each.id
            for each in await repos.memories.list(workflow_id=wanted.workflow_id, scope=wanted.scope, tags=wanted.tags)
        }
        assert await matching(words, wanted) == ids


async def test_expired_memories_are_not_found(repos: Repositories, words: MemorySearch, clock: ManualClock) -> None:
    await repos.memories.save(fact("short lived", expires_at=clock.now() + timedelta(days=7)))
    await repos.memories.save(fact("long lived"))
    assert len(await found(words, "lived")) == 2
    await clock.advance(7 * 86_400)
    assert await found(words, "lived") == ["long lived"]


async def test_words_match_in_both_languages(repos: Repositories, words: MemorySearch) -> None:
    await repos.memories.save(fact("Les enfants mangeaient des pommes à la cantine"))
    await repos.memories.save(fact("The server is restarting after updates"))
    assert await found(words, "manger une pomme") == ["Les enfants mangeaient des pommes à la cantine"]
    assert await found(words, "CANTINE") == ["Les enfants mangeaient des pommes à la cantine"]
    assert await found(words, "restarted servers") == ["The server is restarting after updates"]
    assert await found(words, "the of à la") == [], "some of several stop words find nothing"


async def test_the_index_follows_every_change(repos: Repositories, words: MemorySearch, workflow: Workflow) -> None:
    await words.index_cache.loaded()
    kept = await repos.memories.save(fact("apples", workflow))
    gone = await repos.memories.save(fact("apples and pears"))
    assert len(await found(words, "apples")) == 2
    await repos.memories.save(kept.model_copy(update={"content": "oranges"}))
    assert await found(words, "apples") == ["apples and pears"]
    await repos.memories.delete(gone.id)
    assert await found(words, "pears") == []
    assert await found(words, "orange") == ["oranges"]
    await repos.workflows.purge(workflow.id)
    assert await matching(words, MemoryFilter(scope=None)) == set()


async def test_a_new_process_finds_what_an_older_one_saved(tmp_path: Path) -> None:
    datadir = DataDir(tmp_path / "data").ensure()
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        await asyncio.gather(*(repos.memories.save(fact(f"number {number} w{number}")) for number in range(30)))
    async with await Store.open(datadir.database) as store:
        words = MemorySearch(Repositories(store, datadir).memories, None, store.clock)
        assert await found(words, "w17") == ["number 17 w17"]
        assert len(await found(words, "number")) == 30


async def test_saves_during_the_first_load_are_seen(repos: Repositories, words: MemorySearch) -> None:
    old = [await repos.memories.save(fact(f"old {number}")) for number in range(5)]
    await asyncio.gather(
        words.index_cache.loaded(), repos.memories.save(fact("new arrival")), repos.memories.delete(old[0].id)
    )
    assert await found(words, "arrival") == ["new arrival"]
    assert len(await found(words, "old")) == 4


async def test_reload_finds_rows_written_in_other_ways(repos: Repositories, words: MemorySearch) -> None:
    memory = await repos.memories.save(fact("apples"))
    assert await found(words, "apples") == ["apples"]
    await Repositories(repos.store, repos.datadir).memories.delete(memory.id)
    words.index_cache.invalidate()
    assert await found(words, "apples") == []


@pytest.mark.parametrize("version", [0, 0x8000_0000])
async def test_memories_of_earlier_versions_are_found_too(
    repos: Repositories, words: MemorySearch, version: int
) -> None:
    await repos.memories.save(fact("Trains leave at nine", tags=("commute", "vélo")))
    assert (
        await found(words, "commuting")
        == await found(words, "velos")
        == await found(words, "at")
        == ["Trains leave at nine"]
    )
    terms = (await repos.store.query("SELECT VALUE terms FROM memory"))[0]
    bare = (int.from_bytes(terms[:4], "little") & 0x3FFF_FFFF | version).to_bytes(4, "little") + terms[4:28]
    from atelier_desk.storage.store import Statement

    await repos.store.write(Statement("UPDATE memory SET terms = $terms RETURN NONE", {"terms": bare}))
    words.index_cache.invalidate()
    assert await found(words, "commuting") == await found(words, "at") == ["Trains leave at nine"]


# The file


Opened = Callable[[], MemorySearch]


@pytest.fixture
async def kept(repos: Repositories, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Some memories, and their index in a file."""
    monkeypatch.setattr(keeper_module, "FILE_FROM", 1)

    def opened() -> MemorySearch:
        made = Repositories(repos.store, repos.datadir)
        return MemorySearch(made.memories, WordEmbedder("cat chat", "car auto"), clock, repos.datadir.memory_index)

    search = opened()
    for content in ("the cat sleeps", "a red car", "number 8443"):
        await search.index(fact(content, tags=("one",)))
    await search.index_cache.loaded()
    await search.aclose()
    return opened


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records every read of rows."""
    read: list[str] = []
    inner = keeper_module.IndexKeeper._from_rows

    async def noted(self: Any) -> Any:
        read.append("rows")
        return await inner(self)

    monkeypatch.setattr(keeper_module.IndexKeeper, "_from_rows", noted)
    return read


async def test_a_complete_file_of_the_newest_change_is_used(kept: Opened, no_rows: list[str]) -> None:
    search = kept()
    assert await found(search, "chat") == ["the cat sleeps"]
    assert (await found(search, "8443"))[0] == "number 8443"
    assert no_rows == []
    await search.index(fact("another cat"))
    assert len(await found(search, "chat")) == 2, "it is changed like any other"


async def test_an_old_file_is_not_used_and_rewritten(kept: Opened, no_rows: list[str], repos: Repositories) -> None:
    before = repos.datadir.memory_index.read_bytes()
    await Repositories(repos.store, repos.datadir).memories.save(fact("the cat eats"))
    search = kept()
    assert len(await found(search, "cat")) == 2
    assert no_rows == ["rows"]
    await search.aclose()
    assert repos.datadir.memory_index.read_bytes() != before
    assert len(await found(kept(), "cat")) == 2
    assert no_rows == ["rows"]


async def test_a_deletion_and_a_purge_invalidate_the_file(
    kept: Opened, no_rows: list[str], repos: Repositories, workflow: Workflow
) -> None:
    await repos.workflows.purge(workflow.id)
    assert len((await kept().index_cache.loaded()).rows) == 3
    assert no_rows == ["rows"]


@pytest.mark.parametrize("place", ["magic", "head", "first part", "last part", "end", "empty"])
async def test_a_damaged_file_is_never_used(kept: Opened, no_rows: list[str], repos: Repositories, place: str) -> None:
    path = repos.datadir.memory_index
    data = bytearray(path.read_bytes())
    head = int.from_bytes(data[23:31], "little") + 35
    at = {"magic": 3, "head": 60, "first part": head, "last part": len(data) - 64, "end": 0, "empty": 0}[place]
    if place in ("end", "empty"):
        data = data[: -len(data) // 4] if place == "end" else bytearray()
    else:
        data[at] ^= 4
    path.write_bytes(data)
    search = kept()
    assert await found(search, "chat") == ["the cat sleeps"]
    assert no_rows == ["rows"]
    path.unlink()
    assert await found(kept(), "chat") == ["the cat sleeps"]


async def test_a_file_of_another_embedder_is_not_used(
    kept: Opened, no_rows: list[str], repos: Repositories, clock: ManualClock
) -> None:
    other = MemorySearch(
        Repositories(repos.store, repos.datadir).memories,
        WordEmbedder("x", id="y:8"),
        clock,
        repos.datadir.memory_index,
    )
    assert await found(other, "cat") == ["the cat sleeps"]
    assert no_rows == ["rows"]


async def test_a_file_no_longer_contains_deleted_memories(kept: Opened) -> None:
    search = kept()
    (hit,) = (await search.search("cat")).hits
    await search.index(hit.memory.model_copy(update={"content": "the dog eats"}))
    await search.aclose()
    index = await kept().index_cache.loaded()
    assert index.rows.count == len(index) == 3
    vectors = index.vectors
    assert vectors is not None
    assert np.array_equal(vectors.has(3), np.ones(3, dtype=bool))
    assert (await found(kept(), "dog"))[0] == "the dog eats"
