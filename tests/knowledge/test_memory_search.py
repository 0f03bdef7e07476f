"""Search in a real repository: combined scores, filters, and a report of what could not be searched."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.errors import ProviderError, UsageError
from atelier_desk.domain.memory import Memory, MemoryFilter, MemoryScope, MemoryType
from atelier_desk.domain.workflow import Workflow
from atelier_desk.knowledge import memory_index_cache, query_vector
from atelier_desk.knowledge import memory_search as search_module
from atelier_desk.knowledge.memory_index import MemoryIndex
from atelier_desk.knowledge.memory_search import MemorySearch
from atelier_desk.storage.repositories import Repositories
from tests.helpers.manual_clock import ManualClock
from tests.helpers.memory_fixtures import WordEmbedder


async def add(search: MemorySearch, clock: ManualClock, content: str, **fields: object) -> Memory:
    now = clock.now()
    defaults = {"content": content, "type": MemoryType.KNOWLEDGE, "created_at": now, "updated_at": now}
    return await search.index(Memory.model_validate({**defaults, **fields}))


def contents(found: search_module.MemoryMatch) -> list[str]:
    return [hit.memory.content for hit in found.hits]


async def test_memories_are_found_by_meaning_and_by_words(search: MemorySearch, clock: ManualClock) -> None:
    await add(search, clock, "the feline sleeps")
    await add(search, clock, "the automobile is red")
    await add(search, clock, "number 8443 belongs to staging")
    found = await search.search("cat", threshold=0)
    assert contents(found)[0] == "the feline sleeps"
    assert found.search_type == "hybrid"
    assert found.note == ""
    assert contents(await search.search("8443", threshold=0))[0] == "number 8443 belongs to staging"


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("病院は機能していないので、東京タワーへ行きました。", "機能"),
        ("我们在北京的服务器上部署了新的数据库系统。", "数据库"),
        ("서울에서 회의를 했습니다 데이터베이스를", "데이터베이스"),
        ("เราติดตั้งฐานข้อมูลใหม่ในกรุงเทพ", "ฐานข้อมูล"),
        ("L’été dernier, j’ai déployé la base à Nîmes", "ete"),
        ("Meeting with Will and Don", "will don"),
        ("The function getUserNameById failed", "username"),
        ("The function getUserNameById failed", "getUserName"),
        ("İstanbul'daki sunucu ISPARTA", "ısparta"),
        ("ship it 🚀 now", "🚀"),
        ("the heron stood in a field of reeds " * 20 + "and fished", "heron fishing"),
    ],
)
async def test_a_memory_with_all_words_comes_first_whatever_the_vectors(
    search: MemorySearch, embedder: WordEmbedder, clock: ManualClock, content: str, query: str
) -> None:
    embedder._direction.update(dict.fromkeys([*query.casefold().split(), "near"], 0))
    await add(search, clock, "near near", importance=1.0)
    await add(search, clock, "数 据 the heron will", importance=1.0)
    await add(search, clock, content, importance=0.0)
    assert contents(await search.search(query))[0] == content
    assert contents(await search.search(query, limit=1, threshold=1.0)) == [content]


async def test_every_part_of_the_score_is_returned(search: MemorySearch, clock: ManualClock) -> None:
    await add(search, clock, "the cat sleeps", importance=0.6)
    (hit,) = (await search.search("cat")).hits
    assert hit.cosine is not None
    assert 0 < hit.cosine <= 1
    assert 0 < hit.lexical <= 1
    assert hit.importance == 0.6
    assert hit.recency == 1.0
    assert hit.score == pytest.approx(hit.relevance + 0.016)


async def test_without_an_embedder_only_words_are_searched_and_that_is_reported(
    repos: Repositories, clock: ManualClock
) -> None:
    search = MemorySearch(repos.memories, None, clock)
    stored = await add(search, clock, "the cat sleeps")
    assert stored.embedder == ""
    found = await search.search("cat")
    assert contents(found) == ["the cat sleeps"]
    assert found.hits[0].cosine is None
    assert found.search_type == "text"
    assert "full text alone" in found.note


async def test_with_a_failing_embedder_words_are_searched_and_the_reason_reported(
    search: MemorySearch, embedder: WordEmbedder, clock: ManualClock
) -> None:
    await add(search, clock, "the cat sleeps")
    embedder.failing = True
    stored = await add(search, clock, "another cat")
    assert stored.embedder == ""
    found = await search.search("cat")
    assert set(contents(found)) == {"the cat sleeps", "another cat"}
    assert found.search_type == "text"
    assert "out of order" in found.note
    embedder.failing = False
    found = await search.search("feline", threshold=0)
    assert found.search_type == "hybrid"
    assert contents(found) == ["the cat sleeps"]


async def test_a_hanging_embedder_times_out(
    repos: Repositories, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(WordEmbedder):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            if query:
                await asyncio.Event().wait()
            return await super().embed(texts, query=query)

    monkeypatch.setattr(query_vector, "EMBED_WAIT_S", 0.01)
    search = MemorySearch(repos.memories, Hanging("cat"), clock)
    await add(search, clock, "the cat sleeps")
    found = await search.search("cat")
    assert found.search_type == "text"
    assert "no answer in time" in found.note
    assert contents(found) == ["the cat sleeps"]


async def test_stored_vectors_are_loaded_at_the_first_search(
    search: MemorySearch, repos: Repositories, embedder: WordEmbedder, clock: ManualClock
) -> None:
    for number in range(30):
        await add(search, clock, f"cat number {number}")
    embedder.asked.clear()
    other = MemorySearch(repos.memories, embedder, clock)
    found = await other.search("feline", threshold=0, limit=100)
    assert len(found.hits) == 30
    assert embedder.asked == ["feline"]


async def test_changes_are_followed_without_reloading(
    search: MemorySearch, repos: Repositories, clock: ManualClock
) -> None:
    memory = await add(search, clock, "the cat sleeps")
    await search.search("cat")
    await search.index(memory.model_copy(update={"content": "the car is red"}))
    assert contents(await search.search("feline", threshold=0)) == []
    assert contents(await search.search("voiture", threshold=0)) == ["the car is red"]
    await repos.memories.delete(memory.id)
    assert contents(await search.search("voiture", threshold=0)) == []


async def test_a_memory_deleted_from_the_database_is_skipped(
    search: MemorySearch, repos: Repositories, clock: ManualClock
) -> None:
    gone = [await add(search, clock, f"cat {number}") for number in range(40)]
    kept = await add(search, clock, "feline")
    await search.search("cat", threshold=0)
    for memory in gone:
        await repos.memories.delete(memory.id)
    found = await search.search("cat", threshold=0, limit=5)
    assert [hit.memory.id for hit in found.hits] == [kept.id]


async def test_filters_by_scope_type_and_tags(
    search: MemorySearch, repos: Repositories, workflow: Workflow, clock: ManualClock
) -> None:
    other = Workflow(name="Other")
    await repos.workflows.create(other)
    await add(search, clock, "cat general", tags=("pets", "home"))
    await add(search, clock, "cat mine", workflow_id=workflow.id, type=MemoryType.DECISION)
    await add(search, clock, "cat other", workflow_id=other.id)

    async def found(filters: MemoryFilter) -> list[str]:
        return sorted(contents(await search.search("cat", filters=filters, threshold=0)))

    assert await found(MemoryFilter(scope=None)) == ["cat general", "cat mine", "cat other"]
    assert await found(MemoryFilter(workflow_id=workflow.id)) == ["cat general", "cat mine"]
    assert await found(MemoryFilter(workflow_id=workflow.id, scope=MemoryScope.WORKFLOW)) == ["cat mine"]
    assert await found(MemoryFilter(workflow_id=workflow.id, scope=MemoryScope.GENERAL)) == ["cat general"]
    assert await found(MemoryFilter(scope=None, type=MemoryType.DECISION)) == ["cat mine"]
    assert await found(MemoryFilter(scope=None, tags=("home", "pets"))) == ["cat general"]
    assert await found(MemoryFilter(scope=None, tags=("home", "garden"))) == []


async def test_a_selective_filter_finds_low_ranked_memories(
    search: MemorySearch, repos: Repositories, workflow: Workflow, clock: ManualClock
) -> None:
    await search.index_many([Memory(type=MemoryType.KNOWLEDGE, content=f"cat {number}") for number in range(250)])
    await add(search, clock, "a cat with a car and a port", workflow_id=workflow.id)
    found = await search.search("feline", filters=MemoryFilter(workflow.id, MemoryScope.WORKFLOW), threshold=0)
    assert contents(found) == ["a cat with a car and a port"]


async def test_expired_memories_are_not_found(search: MemorySearch, clock: ManualClock) -> None:
    await add(search, clock, "the cat sleeps", expires_at=clock.now() + timedelta(days=7))
    assert len((await search.search("cat")).hits) == 1
    await clock.advance(7 * 86_400)
    assert (await search.search("cat")).hits == []


async def test_cleared_memories_are_not_found(
    search: MemorySearch, repos: Repositories, workflow: Workflow, clock: ManualClock
) -> None:
    await add(search, clock, "cat one", workflow_id=workflow.id)
    await add(search, clock, "cat two", workflow_id=workflow.id, type=MemoryType.DECISION)
    await add(search, clock, "cat three")
    assert await repos.memories.clear(MemoryType.KNOWLEDGE, workflow.id) == 1
    assert sorted(contents(await search.search("cat", threshold=0))) == ["cat three", "cat two"]
    assert await repos.memories.clear(MemoryType.KNOWLEDGE, None) == 1
    assert contents(await search.search("cat", threshold=0)) == ["cat two"]


async def test_a_new_embedder_re_embeds_while_the_old_one_searches(
    search: MemorySearch, repos: Repositories, clock: ManualClock
) -> None:
    await search.index_many([Memory(type=MemoryType.KNOWLEDGE, content=f"cat number {number}") for number in range(70)])
    search.change_to(WordEmbedder("cat kitten", id="newer:8"))
    assert await search.to_embed() == 70
    during: list[list[str]] = []

    class Late(WordEmbedder):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            if not query and len(during) < 2:
                during.append(contents(await search.search("feline", threshold=0, limit=100)))
                await search.index(
                    Memory(type=MemoryType.KNOWLEDGE, content=f"late cat {len(during)}", created_at=clock.now())
                )
            return await super().embed(texts, query=query)

    search.change_to(Late("cat kitten", id="newer:8"))
    seen: list[tuple[int, int]] = []
    assert await search.reembed(lambda done, total: seen.append((done, total))) == 72, (
        "what came meanwhile is embedded too"
    )
    assert [len(each) for each in during] == [70, 71]
    assert seen[0] == (64, 70)
    assert search.embedder is not None
    assert search.embedder.id == "newer:8"
    assert len((await search.search("kitten", threshold=0, limit=100)).hits) == 72
    ids, _ = await repos.memories.vectors("words:8")
    assert ids == []
    assert await search.reembed() == 0


async def test_a_search_during_re_embedding_reports_progress_and_loses_no_change(
    repos: Repositories, clock: ManualClock
) -> None:
    search = MemorySearch(repos.memories, None, clock)
    first = await add(search, clock, "the cat sleeps")

    class Slow(WordEmbedder):
        reached = asyncio.Event()
        go_on = asyncio.Event()

        async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            if "the cat sleeps" in texts:
                self.reached.set()
                await self.go_on.wait()
            return await super().embed(texts, query=query)

    search.change_to(Slow("cat kitten", "car auto", id="slow:8"))
    task = asyncio.create_task(search.reembed())
    await Slow.reached.wait()
    found = await search.search("cat", threshold=0)
    assert contents(found) == ["the cat sleeps"]
    assert "0 of 1" in found.note
    await search.index(first.model_copy(update={"content": "the car is red"}))
    Slow.go_on.set()
    await task
    found = await search.search("auto", threshold=0)
    assert contents(found) == ["the car is red"]
    assert found.hits[0].cosine is not None
    assert contents(await search.search("kitten", threshold=0)) == []


async def test_re_embedding_can_be_cancelled_and_continues_later(search: MemorySearch, clock: ManualClock) -> None:
    await search.index_many([Memory(type=MemoryType.KNOWLEDGE, content=f"cat number {number}") for number in range(70)])
    search.change_to(WordEmbedder("cat kitten", id="newer:8"))
    task: asyncio.Task[int]

    def stop(done: int, total: int) -> None:
        task.cancel()

    task = asyncio.create_task(search.reembed(stop))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len((await search.search("feline", threshold=0, limit=100)).hits) == 70
    assert await search.reembed() == 6
    assert len((await search.search("kitten", threshold=0, limit=100)).hits) == 70


async def test_a_search_does_not_wait_for_a_write(
    search: MemorySearch, repos: Repositories, clock: ManualClock
) -> None:
    memory = await add(search, clock, "the cat sleeps")
    await search.index_cache.loaded()
    async with repos.store.quiet():
        assert contents(await search.search("cat", threshold=0)) == ["the cat sleeps"]
        search.note_found([memory.id], "run")
    await search.settle()
    assert (await repos.memories.get(memory.id)).retrieved_by == ("run",)
    assert (await search.index_cache.loaded()).rows.column("uses").tolist() == [1]


async def test_re_embedding_reports_a_failing_embedder(
    search: MemorySearch, embedder: WordEmbedder, repos: Repositories, clock: ManualClock
) -> None:
    with pytest.raises(UsageError):
        await MemorySearch(repos.memories, None, clock).reembed()
    embedder.failing = True
    await add(search, clock, "the cat sleeps")
    with pytest.raises(ProviderError):
        await search.reembed()
    embedder.failing = False
    assert await search.reembed() == 1


async def test_bounds_are_checked(search: MemorySearch) -> None:
    for limit, threshold in ((0, 0.5), (101, 0.5), (10, -0.1), (10, 1.1)):
        with pytest.raises(UsageError):
            await search.search("x", limit=limit, threshold=threshold)


async def test_an_empty_store_and_a_query_without_words(
    search: MemorySearch, repos: Repositories, clock: ManualClock
) -> None:
    assert (await search.search("anything")).hits == []
    await add(search, clock, "the cat sleeps")
    assert (await MemorySearch(repos.memories, None, clock).search("?!", threshold=0)).hits == []


async def test_warming_up_loads_before_the_first_search(search: MemorySearch, clock: ManualClock) -> None:
    await add(search, clock, "the cat sleeps")
    await search.warm()
    assert len((await search.search("cat")).hits) == 1


async def test_warming_up_an_empty_store_builds_no_index_and_later_memories_are_found(
    search: MemorySearch, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[MemoryIndex] = []

    def make(*args: Any) -> MemoryIndex:
        made.append(MemoryIndex(*args))
        return made[-1]

    monkeypatch.setattr(memory_index_cache, "MemoryIndex", make)
    await search.warm()
    assert not made
    await add(search, clock, "the cat sleeps")
    assert len((await search.search("cat")).hits) == len(made) == 1
