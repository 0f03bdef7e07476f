"""Memories as a person sees them."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.memory import MemoryScope, MemoryType
from atelier_desk.engine import Atelier
from tests.engine.conftest import Opener
from tests.engine.services.other_embedder import OtherEmbedder
from tests.helpers.manual_clock import ManualClock


async def test_an_added_memory_is_found_with_the_parts_of_its_score(atelier: Atelier) -> None:
    memory = await atelier.memories.add("The server is called heron", tags=[" infra ", "infra", ""])
    assert (memory.source, memory.tags, memory.importance) == ("user", ("infra",), 0.6)
    await atelier.memories.add("Lunch is at noon")
    found = await atelier.memories.search("what is the server called", limit=1)
    assert found.search_type == "hybrid"
    [hit] = found.hits
    assert hit.memory.id == memory.id
    assert hit.cosine is not None
    assert 0 < hit.relevance <= 1


async def test_types_and_scopes_decide_where_a_memory_lives(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    preference = await atelier.memories.add("short answers", "user_pref", workflow.id)
    decision = await atelier.memories.add("we chose blue", MemoryType.DECISION, workflow.id)
    asked_for = await atelier.memories.add("general decision", "decision", workflow.id, "general")
    assert (preference.workflow_id, decision.workflow_id, asked_for.workflow_id) == (None, workflow.id, None)
    context = await atelier.memories.add("today only", "context", workflow.id)
    assert context.expires_at is not None
    own = await atelier.memories.list(workflow.id, MemoryScope.WORKFLOW)
    assert {memory.id for memory in own} == {decision.id, context.id}
    assert len(await atelier.memories.list(workflow.id)) == 4
    assert len(await atelier.memories.list()) == 2
    described = await atelier.memories.describe(workflow.id)
    assert (described["total"], described["by_type"]["decision"]) == (4, 2)


async def test_editing_and_deleting_with_undo(atelier: Atelier) -> None:
    memory = await atelier.memories.add("The server is called heron")
    changed = await atelier.memories.update(
        memory.id, content="The server is called egret", tags=["infra"], importance=1.0
    )
    assert (changed.content, changed.tags, changed.importance) == ("The server is called egret", ("infra",), 1.0)
    assert [hit.memory.content for hit in (await atelier.memories.search("egret")).hits] == [
        "The server is called egret"
    ]
    await atelier.memories.delete(memory.id)
    assert (await atelier.memories.search("egret")).hits == []
    assert (await atelier.memories.undo_delete(memory.id)).content == "The server is called egret"
    assert len((await atelier.memories.search("egret")).hits) == 1
    with pytest.raises(NotFoundError):
        await atelier.memories.undo_delete(memory.id)


async def test_a_deleted_memory_is_restorable_after_a_restart_until_it_expires(
    open_atelier: Opener, clock: ManualClock
) -> None:
    async with open_atelier(clock=clock) as atelier:
        workflow = await atelier.workflows.create("x")
        first = await atelier.memories.add("The server is called heron", tags=["infra"])
        await clock.advance(1)
        others = [await atelier.memories.add(f"Fact {n}", "decision", workflow.id) for n in range(2)]
        await atelier.memories.delete(first.id)
        await clock.advance(1)
        # As an agent does: all of a type at once.
        assert await atelier.repos.memories.clear(MemoryType.DECISION, workflow.id) == 2
        assert [each.id for each in await atelier.memories.deleted()][2] == first.id
    async with open_atelier(clock=clock) as atelier:
        assert {each.id for each in await atelier.memories.deleted()} == {first.id, *(each.id for each in others)}
        again = await atelier.memories.undo_delete(first.id)
        assert (again.content, again.tags, again.created_at) == (first.content, first.tags, first.created_at)
        assert [hit.memory.id for hit in (await atelier.memories.search("heron")).hits] == [first.id]
        await atelier.memories.undo_delete(others[0].id)
        assert [each.id for each in await atelier.memories.list(workflow.id, MemoryScope.WORKFLOW)] == [others[0].id]
        await atelier.memories.purge(others[1].id)
        assert await atelier.memories.deleted() == []
        with pytest.raises(NotFoundError):
            await atelier.memories.undo_delete(others[1].id)
        await atelier.memories.delete(first.id)
        await atelier.memories.delete(others[0].id)
        await atelier.workflows.delete(workflow.id)
        assert [each.id for each in await atelier.memories.deleted()] == [first.id], "the workflow's come back with it"
        await clock.advance(limits.DELETED_DAYS * 86_400 + 1)
        assert await atelier.memories.purge_expired() == 2
        assert await atelier.memories.deleted() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": " "},
        {"content": "x" * 50_001},
        {"content": "x", "type": "opinion"},
        {"content": "x", "scope": "galaxy"},
        {"content": "x", "scope": "workflow"},
        {"content": "x", "importance": 2.0},
        {"content": "x", "tags": ["t" * 65]},
        {"content": "x", "tags": [str(n) for n in range(21)]},
        {"content": "x", "type": "decision", "workflow_id": "missing"},
    ],
)
async def test_invalid_memories_are_refused(wrong: dict[str, Any], atelier: Atelier) -> None:
    with pytest.raises(UsageError):
        await atelier.memories.add(**wrong)
    assert await atelier.memories.list() == []


async def test_invalid_searches_are_refused(atelier: Atelier) -> None:
    for wrong in (
        {"query": " "},
        {"query": "x", "limit": 101},
        {"query": "x", "limit": 0},
        {"query": "x", "threshold": 1.5},
    ):
        with pytest.raises(UsageError):
            await atelier.memories.search(**wrong)
    with pytest.raises(UsageError):
        await atelier.memories.update("missing", workflow_id="x")


async def test_an_imported_memory_replaces_none_of_another_workflow(atelier: Atelier) -> None:
    one, two = await atelier.workflows.create("one"), await atelier.workflows.create("two")
    memory = await atelier.memories.add("decided", "decision", one.id)
    text = (await atelier.memories.export()).replace(one.id, two.id)
    assert await atelier.memories.import_(text, "overwrite") == {"added": 1, "overwritten": 0, "skipped": 0}
    assert await atelier.memories.get(memory.id) == memory
    assert [each.content for each in await atelier.memories.list(two.id, "workflow")] == ["decided"]
    with pytest.raises(UsageError, match="24 or 32 hexadecimal digits"):
        await atelier.memories.import_(text.replace(memory.id, ".."), "overwrite")


async def test_a_tag_is_found_at_the_threshold_of_agents(atelier: Atelier) -> None:
    """Its vector contains nothing of the tag, and most of the score comes from there."""
    wanted = await atelier.memories.add("My dentist is Dr. Moreau in Lyon", tags=["health"])
    for number in range(8):
        await atelier.memories.add(f"The train number {number} to Paris leaves at seven")
    found = await atelier.memories.search("health", threshold=0.7)
    assert found.hits[0].memory.id == wanted.id


async def test_an_unapproved_memory_does_not_become_general_by_an_import(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("gone here")
    memory = await atelier.memories.add("decided", "decision", workflow.id)
    await atelier.memories.propose_again(memory.id, workflow.id)
    text = await atelier.memories.export()
    await atelier.workflows.purge(workflow.id)
    assert await atelier.memories.import_(text) == {"added": 0, "overwritten": 0, "skipped": 1}
    assert await atelier.memories.list() == []


@pytest.mark.parametrize(("rule", "counts"), [("skip", (0, 0, 2)), ("overwrite", (0, 2, 0)), ("rename", (2, 0, 0))])
async def test_export_and_import(rule: str, counts: tuple[int, int, int], atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    await atelier.memories.add("général : étude")
    await atelier.memories.add("decided", "decision", workflow.id)
    text = await atelier.memories.export()
    assert len(json.loads(text)["memories"]) == 2
    assert len(json.loads(await atelier.memories.export(workflow.id))["memories"]) == 1
    done = await atelier.memories.import_(text, rule)
    assert (done["added"], done["overwritten"], done["skipped"]) == counts
    await atelier.workflows.purge(workflow.id)
    assert (await atelier.memories.import_(text))["added"] == 1
    assert "decided" in [memory.content for memory in await atelier.memories.list()]
    for wrong in ("", "{}x", '{"format": "atelier-workflow"}'):
        with pytest.raises(UsageError):
            await atelier.memories.import_(wrong)


async def test_another_type_sets_its_own_expiry(open_atelier: Opener, clock: ManualClock) -> None:
    async with open_atelier(clock=clock) as atelier:
        workflow = await atelier.workflows.create("x")
        memory = await atelier.memories.add("The server is called heron", "context", workflow.id)
        assert (await atelier.memories.update(memory.id, type="knowledge")).expires_at is None
        assert (await atelier.memories.update(memory.id, type="context")).expires_at == clock.now() + timedelta(days=7)
        month = clock.now() + timedelta(days=30)
        assert (await atelier.memories.update(memory.id, type="decision", expires_at=month)).expires_at == month
        assert (await atelier.memories.update(memory.id, type="knowledge")).expires_at == month, "a person chose it"
        await atelier.memories.pin(memory.id)
        assert (await atelier.memories.update(memory.id, type="context")).expires_at is None


async def test_a_new_embedder_recomputes_the_vectors(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async def made(*_given: Any) -> OtherEmbedder:
        return OtherEmbedder()

    monkeypatch.setattr("atelier_desk.knowledge.embedder_factory.create_embedder", made)
    async with open_atelier() as atelier:
        for number in range(5):
            await atelier.memories.add(f"fact number {number}")
        finished = asyncio.Event()
        heard: list[tuple[int, int] | None] = []

        def listen(topic: str, id: str) -> None:
            if (topic, id) == ("memory", "reembed"):
                heard.append(atelier.memories.reembedding)
                if atelier.memories.reembedding is None:
                    finished.set()

        atelier.bus.on_changed(listen)
        await atelier.settings.update(embedder={"kind": "builtin", "model": "other"})
        await asyncio.wait_for(finished.wait(), 10)
        assert heard[-1] is None
        assert (5, 5) in heard
        ids, matrix = await atelier.repos.memories.vectors(OtherEmbedder.id)
        assert (len(ids), matrix.shape[1]) == (5, 32)
        assert (await atelier.memories.search("fact number 3")).hits[0].memory.content == "fact number 3"


async def test_without_an_embedder_there_is_nothing_to_compute(atelier: Atelier) -> None:
    await atelier.memories.add("a fact")
    await atelier.settings.update(embedder={"kind": "none"})
    assert (await atelier.memories.search("fact")).search_type == "text"
    with pytest.raises(UsageError):
        await atelier.memories.reembed()
