"""The index by words over a real repository: both languages, every change, a first load beside other work."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from atelier_desk.domain.memory import Memory, MemoryFilter, MemoryScope, MemoryType
from atelier_desk.domain.workflow import Workflow
from atelier_desk.knowledge.words import MemoryWords
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.support.clock import ManualClock


@pytest.fixture
def words(repos: Repositories, clock: ManualClock) -> MemoryWords:
    return MemoryWords(repos.memories, clock)


def fact(content: str, workflow: Workflow | None = None, **fields: object) -> Memory:
    return Memory.model_validate(
        {"type": MemoryType.KNOWLEDGE, "content": content, "workflow_id": workflow.id if workflow else None, **fields}
    )


async def found(words: MemoryWords, query: str) -> list[str]:
    hits = (await words.search(query, 20)).hits
    return [memory.content for memory in await words._memories.get_many([memory_id for memory_id, _ in hits])]


async def test_the_list_and_the_search_see_the_same(repos: Repositories, words: MemoryWords, workflow: Workflow) -> None:
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
        ids = {each.id for each in await repos.memories.list(workflow_id=wanted.workflow_id, scope=wanted.scope, tags=wanted.tags)}
        assert await words.matching(wanted) == ids


async def test_what_has_expired_is_not_found(repos: Repositories, words: MemoryWords, clock: ManualClock) -> None:
    await repos.memories.save(fact("short lived", expires_at=clock.now() + timedelta(days=7)))
    await repos.memories.save(fact("long lived"))
    assert len(await found(words, "lived")) == 2
    await clock.advance(7 * 86_400)
    assert await found(words, "lived") == ["long lived"]


async def test_words_match_in_both_languages(repos: Repositories, words: MemoryWords) -> None:
    await repos.memories.save(fact("Les enfants mangeaient des pommes à la cantine"))
    await repos.memories.save(fact("The server is restarting after updates"))
    assert await found(words, "manger une pomme") == ["Les enfants mangeaient des pommes à la cantine"]
    assert await found(words, "CANTINE") == ["Les enfants mangeaient des pommes à la cantine"]
    assert await found(words, "restarted servers") == ["The server is restarting after updates"]
    assert await found(words, "the of à la") == [], "stop words find nothing by themselves"


async def test_scores_come_with_the_best_reachable_one(repos: Repositories, words: MemoryWords) -> None:
    await repos.memories.save(fact("budget"))
    await repos.memories.save(fact("budget of the long meeting about many other things in the spring"))
    await repos.memories.save(fact("nothing"))
    result = await words.search("budget meeting")
    assert len(result.hits) == 2
    assert all(0 < score < result.best for _, score in result.hits)
    assert (await words.search("zebra")).hits == []


async def test_the_index_follows_every_change(repos: Repositories, words: MemoryWords, workflow: Workflow) -> None:
    await words.warm()
    kept = await repos.memories.save(fact("apples", workflow))
    gone = await repos.memories.save(fact("apples and pears"))
    assert len(await found(words, "apples")) == 2
    await repos.memories.save(kept.model_copy(update={"content": "oranges"}))
    assert await found(words, "apples") == ["apples and pears"]
    await repos.memories.delete(gone.id)
    assert await found(words, "pears") == []
    assert await found(words, "orange") == ["oranges"]
    await repos.workflows.purge(workflow.id)
    assert await words.matching(MemoryFilter(scope=None)) == set()


async def test_a_fresh_process_finds_what_an_older_one_saved(tmp_path: Path) -> None:
    datadir = DataDir(tmp_path / "data").ensure()
    async with await Store.open(datadir.database) as store:
        repos = Repositories(store, datadir)
        await asyncio.gather(*(repos.memories.save(fact(f"number {number} w{number}")) for number in range(30)))
    async with await Store.open(datadir.database) as store:
        words = MemoryWords(Repositories(store, datadir).memories, store.clock)
        assert await found(words, "w17") == ["number 17 w17"]
        assert len((await words.search("number", 100)).hits) == 30


async def test_saves_during_the_first_load_are_seen(repos: Repositories, words: MemoryWords) -> None:
    old = [await repos.memories.save(fact(f"old {number}")) for number in range(5)]
    _, _, deleted = await asyncio.gather(words.warm(), repos.memories.save(fact("new arrival")), repos.memories.delete(old[0].id))
    assert deleted is None
    assert await found(words, "arrival") == ["new arrival"]
    assert len(await found(words, "old")) == 4


async def test_reload_reads_what_was_written_by_other_ways(repos: Repositories, words: MemoryWords) -> None:
    memory = await repos.memories.save(fact("apples"))
    assert await found(words, "apples") == ["apples"]
    await Repositories(repos.store, repos.datadir).memories.delete(memory.id)
    words.forget_loaded()
    assert (await words.search("apples")).hits == []
