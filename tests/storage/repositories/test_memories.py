"""Memories: scopes, vectors, and notices to an index."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import numpy as np
import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.memory import Memory, MemoryScope, MemoryType
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from tests.helpers.manual_clock import ManualClock


def fact(content: str, workflow: Workflow | None = None, **fields: object) -> Memory:
    return Memory.model_validate(
        {"type": MemoryType.KNOWLEDGE, "content": content, "workflow_id": workflow.id if workflow else None, **fields}
    )


async def test_scopes_types_and_tags(repos: Repositories, workflow: Workflow) -> None:
    other = await repos.workflows.create(Workflow(name="other"))
    await repos.memories.save(fact("general", tags=("a", "b")))
    await repos.memories.save(fact("mine", workflow, type=MemoryType.DECISION))
    await repos.memories.save(fact("theirs", other, tags=("a",)))

    async def listed(**wanted: object) -> set[str]:
        return {each.content for each in await repos.memories.list(**wanted)}  # type: ignore[arg-type]

    assert await listed() == {"general"}
    assert await listed(workflow_id=workflow.id) == {"general", "mine"}
    assert await listed(workflow_id=workflow.id, scope=MemoryScope.WORKFLOW) == {"mine"}
    assert await listed(workflow_id=workflow.id, scope=MemoryScope.GENERAL) == {"general"}
    assert await listed(scope=None) == {"general", "mine", "theirs"}
    assert await listed(scope=None, type=MemoryType.DECISION) == {"mine"}
    assert await listed(scope=None, tags=("a",)) == {"general", "theirs"}
    assert await listed(scope=None, tags=("a", "b")) == {"general"}


async def test_the_latest_change_comes_first_in_pages(repos: Repositories, clock: ManualClock) -> None:
    for number in range(5):
        await repos.memories.save(fact(f"{number} " + "x" * 400, updated_at=clock.now() + timedelta(seconds=number)))
    assert [each.content[0] for each in await repos.memories.list(limit=2, offset=1)] == ["3", "2"]


async def test_expired_memories_are_hidden_and_can_be_deleted(repos: Repositories, clock: ManualClock) -> None:
    await repos.memories.save(fact("short lived", expires_at=clock.now() + timedelta(days=7)))
    await repos.memories.save(fact("long lived"))
    assert len(await repos.memories.list()) == 2
    await clock.advance(7 * 86_400)
    assert [each.content for each in await repos.memories.list()] == ["long lived"]
    assert (await repos.memories.describe())["total"] == 1
    assert await repos.memories.count() == 2
    assert await repos.memories.delete_expired() == 1
    assert await repos.memories.count() == 1


async def test_expired_memories_among_thousands_are_deleted_quickly(repos: Repositories, clock: ManualClock) -> None:
    """This happens at every start and blocks other writes. With a query for each vector it took half a minute."""
    vector = np.ones(4, dtype=np.float32)
    made = [fact(f"m{number}", embedder="e") for number in range(1_500)]
    made[7] = made[7].model_copy(update={"expires_at": clock.now() + timedelta(days=1)})
    await repos.memories.save_many([(each, vector) for each in made])
    await clock.advance(2 * 86_400)
    async with asyncio.timeout(5):
        assert await repos.memories.delete_expired() == 1
    ids, _matrix = await repos.memories.vectors("e", limit=1_500)
    assert set(ids) == {each.id for each in made} - {made[7].id}


# Vectors


async def test_vectors_are_read_exactly_page_by_page(repos: Repositories) -> None:
    random = np.random.default_rng(1)
    expected = {}
    for number in range(12):
        vector = random.standard_normal(8).astype(np.float32)
        expected[(await repos.memories.save(fact(f"m{number}", embedder="e"), vector)).id] = vector
    await repos.memories.save(fact("none"))
    read: dict[str, np.ndarray] = {}
    after = ""
    while True:
        ids, matrix = await repos.memories.vectors("e", after=after, limit=5)
        if not ids:
            break
        assert matrix.dtype == np.float32
        assert matrix.shape == (len(ids), 8)
        read.update(zip(ids, matrix, strict=True))
        after = ids[-1]
    assert read.keys() == expected.keys()
    assert all(np.array_equal(read[each], expected[each]) for each in expected)


async def test_changed_content_loses_its_vectors_and_unchanged_keeps_them(repos: Repositories) -> None:
    memory = await repos.memories.save(fact("one", embedder="e"), np.ones(2))
    tagged = await repos.memories.save(memory.model_copy(update={"tags": ("t",)}))
    assert tagged.embedder == "e"
    assert (await repos.memories.vectors("e"))[0] == [memory.id]
    rewritten = await repos.memories.save(tagged.model_copy(update={"content": "two", "embedder": "e"}), np.zeros(2))
    assert (await repos.memories.vectors("e"))[1].tolist() == [[0.0, 0.0]]
    bare = await repos.memories.save(rewritten.model_copy(update={"content": "three"}))
    assert bare.embedder == ""
    assert (await repos.memories.vectors("e"))[0] == []
    with pytest.raises(ValueError, match="embedder"):
        await repos.memories.save(fact("x"), np.ones(2))


async def test_a_new_embedder_takes_over_step_by_step(repos: Repositories) -> None:
    memories = [
        await repos.memories.save(fact(f"m{number}", embedder="old"), np.full(2, number)) for number in range(5)
    ]
    todo = await repos.memories.without_vector("new", 3)
    assert len(todo) == 3
    await repos.memories.set_vectors("new", [(memory, np.ones(4)) for memory in todo])
    assert await repos.memories.count_without("new") == 2
    assert len((await repos.memories.vectors("old"))[0]) == 5, "searches go on with the old vectors meanwhile"
    rest = await repos.memories.without_vector("new")
    assert {each.id for each in [*todo, *rest]} == {each.id for each in memories}
    changed = await repos.memories.save(rest[0].model_copy(update={"content": "changed meanwhile"}))
    await repos.memories.set_vectors("new", [(memory, np.ones(4)) for memory in (*rest, fact("missing"))])
    assert [each.id for each in await repos.memories.without_vector("new")] == [changed.id]
    await repos.memories.set_vectors("new", [(changed, np.ones(4))])
    await repos.memories.drop_vectors("new")
    assert (await repos.memories.vectors("old"))[0] == []
    assert (await repos.memories.vectors("new"))[1].shape == (5, 4)
    assert await repos.memories.without_vector("new") == []


async def test_deleting_a_memory_deletes_its_vectors(repos: Repositories, workflow: Workflow) -> None:
    one = await repos.memories.save(fact("one", embedder="e"), np.ones(2))
    await repos.memories.save(fact("two", workflow, type=MemoryType.DECISION, embedder="e"), np.ones(2))
    await repos.memories.save(fact("three", workflow))
    await repos.memories.delete(one.id)
    assert await repos.memories.clear(MemoryType.DECISION, workflow.id) == 1
    counts = await repos.store.counts()
    assert (counts["memory"], counts["memory_vector"]) == (1, 0)
    assert await repos.memories.clear(MemoryType.KNOWLEDGE, None) == 0
    with pytest.raises(NotFoundError):
        await repos.memories.delete(one.id)


# Other properties


async def test_the_last_fifty_runs_that_found_a_memory_are_stored_oldest_first(repos: Repositories) -> None:
    memory = await repos.memories.save(fact("one"))
    for number in range(60):
        await repos.memories.mark_retrieved({f"r{number}": [memory.id, "missing"]})
    await repos.memories.mark_retrieved({"r30": [memory.id]})
    await repos.memories.mark_retrieved({"never": []})
    seen = (await repos.memories.get(memory.id)).retrieved_by
    assert seen == (*(f"r{number}" for number in range(10, 60) if number != 30), "r30")
    assert await repos.memories.count() == 1


async def test_describe_counts(repos: Repositories, workflow: Workflow) -> None:
    await repos.memories.save(fact("a", tags=("x", "y")))
    await repos.memories.save(fact("b", workflow, type=MemoryType.DECISION, tags=("x",)))
    assert await repos.memories.describe(workflow.id) == {
        "total": 2,
        "workflow": 1,
        "general": 1,
        "by_type": {"user_pref": 0, "context": 0, "knowledge": 1, "decision": 1},
        "tags": {"x": 2, "y": 1},
    }
    assert (await repos.memories.describe())["total"] == 1


async def test_get_many_keeps_the_order_and_skips_missing_ids(repos: Repositories) -> None:
    one, two = await repos.memories.save(fact("one")), await repos.memories.save(fact("two"))
    assert await repos.memories.get_many([two.id, "missing", one.id]) == [two, one]
