"""Clean-up of memories by a person."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.memory import Memory
from atelier_desk.engine import Atelier
from tests.engine.conftest import Opener, WordEmbedder, create_workflow
from tests.engine.services.other_embedder import OtherEmbedder
from tests.helpers.manual_clock import ManualClock


async def test_duplicates_are_merged_and_separated_again(atelier: Atelier) -> None:
    one = await atelier.memories.add("The staging server is called heron", tags=["infra"], importance=0.2)
    other = await atelier.memories.add("the staging server is called Heron.", tags=["names"], importance=0.9)
    await atelier.memories.add("Lunch is at noon")
    [pair] = await atelier.memories.pairs()
    assert (pair.kind, pair.first.id, pair.second.id) == ("same", one.id, other.id)
    merged = await atelier.memories.merge(one.id, other.id)
    assert (merged.tags, merged.importance, merged.content) == (("infra", "names"), 0.9, one.content)
    assert await atelier.memories.pairs() == []
    with pytest.raises(UsageError):
        await atelier.memories.merge(one.id, one.id)
    await atelier.memories.undo_delete(other.id)
    assert (await atelier.memories.get(one.id)).tags == ("infra",)
    assert (await atelier.memories.get(other.id)).content == other.content
    assert len(await atelier.memories.pairs()) == 1
    with pytest.raises(NotFoundError):
        await atelier.memories.undo_delete(other.id)


async def test_merging_loses_no_pin_and_no_later_text(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    one = await atelier.memories.add("The staging server is called heron", "context", workflow.id)
    other = await atelier.memories.add("the staging server is called Heron.", "context", workflow.id)
    await atelier.memories.pin(other.id)
    assert one.expires_at is not None
    assert (await atelier.memories.merge(one.id, other.id)).expires_at is None
    assert await atelier.memories.pinned() == [one.id]
    await atelier.memories.undo_delete(other.id)
    assert await atelier.memories.pinned() == [other.id]
    assert (await atelier.memories.get(one.id)).expires_at == one.expires_at
    await atelier.memories.merge(one.id, other.id)
    await atelier.memories.update(one.id, content="The staging server is called heron, port 8443")
    await atelier.memories.undo_delete(other.id)
    assert "8443" in (await atelier.memories.get(one.id)).content
    assert (await atelier.memories.get(other.id)).content == other.content


async def test_two_merges_at_once_leave_one_memory(atelier: Atelier) -> None:
    """For example one in the window and one on the command line: each deleted the memory that the other kept."""
    one = await atelier.memories.add("The staging server is called heron")
    other = await atelier.memories.add("the staging server is called Heron.")
    merging = (atelier.memories.merge(one.id, other.id), atelier.memories.merge(other.id, one.id))
    done = await asyncio.gather(*merging, return_exceptions=True)
    assert [type(each) for each in done] == [Memory, NotFoundError]
    assert [each.id for each in await atelier.memories.list()] == [one.id]


async def test_undoing_a_merge_loses_no_later_change(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    one = await atelier.memories.add("The staging server is called heron", "context", workflow.id, tags=["a"])
    other = await atelier.memories.add("the staging server is called Heron.", "context", workflow.id, tags=["b"])
    await atelier.memories.merge(one.id, other.id)
    await atelier.memories.accept(one.id)
    await atelier.memories.update(one.id, importance=0.9)
    await atelier.memories.pin(one.id)
    await atelier.memories.undo_delete(other.id)
    now = await atelier.memories.get(one.id)
    assert (now.workflow_id, now.importance, now.tags, now.expires_at) == (None, 0.9, ("a",), None)


async def test_an_interrupted_undo_of_a_merge_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch, atelier: Atelier
) -> None:
    one = await atelier.memories.add("The staging server is called heron", tags=["a"])
    other = await atelier.memories.add("the staging server is called Heron.", tags=["b"])
    await atelier.memories.pin(other.id)
    await atelier.memories.merge(one.id, other.id)
    with monkeypatch.context() as broken:
        broken.setattr(atelier.memories, "_move_pin", _cut_off)
        with pytest.raises(OSError, match="cut off"):
            await atelier.memories.undo_delete(other.id)
    await atelier.memories.undo_delete(other.id)
    assert (await atelier.memories.get(one.id)).tags == ("a",)
    assert await atelier.memories.pinned() == [other.id]


async def test_a_memory_that_expired_while_deleted_is_restored_permanently(
    open_atelier: Opener, clock: ManualClock
) -> None:
    async with open_atelier(clock=clock) as atelier:
        workflow = await atelier.workflows.create("x")
        memory = await atelier.memories.add("today only", "context", workflow.id)
        await clock.advance(6 * 86_400)
        await atelier.memories.delete(memory.id)
        await clock.advance(3 * 86_400)
        await atelier.memories.undo_delete(memory.id)
        assert [each.id for each in await atelier.memories.list(workflow.id)] == [memory.id]


async def _cut_off(*_about: object) -> bool:
    raise OSError("cut off")


async def test_changes_reported_together_are_all_stored(atelier: Atelier) -> None:
    ids = [(await atelier.memories.add(f"fact number {number}")).id for number in range(4)]
    workflows = [await create_workflow(atelier, name) for name in ("one", "other")]
    await asyncio.gather(
        *(atelier.memories.pin(each) for each in ids),
        *(atelier.memories.set_on(each, False) for each in workflows),
        atelier.memories.keep_both(ids[0], ids[1]),
        atelier.memories.keep_both(ids[2], ids[3]),
    )
    assert set(await atelier.memories.pinned()) == set(ids)
    settings = await atelier.settings.get()
    assert (set(settings.memories_off), len(settings.memories_apart)) == (set(workflows), 2)


async def test_many_pairs_of_another_workflow_hide_none(atelier: Atelier) -> None:
    full, mine = await atelier.workflows.create("full"), await atelier.workflows.create("mine")
    for _time in range(5):
        await atelier.memories.add("The staging server is called heron", "decision", full.id)
    one = await atelier.memories.add("Invoices are paid after thirty days", "decision", mine.id)
    other = await atelier.memories.add("Our invoices are paid after sixty days", "decision", mine.id)
    [pair] = await atelier.memories.pairs(mine.id, limit=1)
    assert (pair.first.id, pair.second.id) == (one.id, other.id)


async def test_accepted_pairs_hide_no_other(atelier: Atelier) -> None:
    same = [(await atelier.memories.add("The staging server is called heron")).id for _time in range(4)]
    for first, second in itertools.combinations(same, 2):
        await atelier.memories.keep_both(first, second)
    await atelier.memories.add("Invoices are paid after thirty days")
    await atelier.memories.add("Our invoices are paid after sixty days")
    assert [pair.kind for pair in await atelier.memories.pairs(limit=1)] == ["against"]


async def test_a_contradiction_is_shown_until_somebody_accepts_it(atelier: Atelier) -> None:
    old = await atelier.memories.add("The staging server listens on port 8443")
    new = await atelier.memories.add("The staging server listens on port 9000")
    [pair] = await atelier.memories.pairs()
    assert (pair.kind, pair.first.id, pair.second.id) == ("against", old.id, new.id)
    await atelier.memories.keep_both(new.id, old.id)
    assert await atelier.memories.pairs() == []
    await atelier.memories.keep_both(old.id, new.id, False)
    assert await atelier.memories.pairs() == [pair]


async def test_a_pair_is_found_behind_many_closer_ones_that_do_not_count(open_atelier: Opener) -> None:
    """Those of other workflows, accepted pairs, and those without common words."""

    class Alike(WordEmbedder):
        async def embed(self, texts: Any, *, query: bool = False) -> Any:
            made = np.zeros((len(texts), self.dimension), dtype=np.float32)
            made[:, 0] = 1.0
            for row, text in enumerate(texts):
                made[row, 1 if "now" in text else 2] = 0.5 if "port" in text else 0.0
            return made / np.linalg.norm(made, axis=1, keepdims=True)

    async with open_atelier(embedder=Alike()) as atelier:
        other = await atelier.workflows.create("other")
        for number in range(12):
            await atelier.memories.add(f"word{number}")
            await atelier.memories.add(f"The same of another workflow, {number}", "decision", other.id)
        one = await atelier.memories.add("The staging server listens on port 8443")
        two = await atelier.memories.add("The staging server listens on port 8443 now")
        [pair] = await atelier.memories.pairs(limit=2)
        assert {pair.first.id, pair.second.id} == {one.id, two.id}


async def test_a_pinned_memory_does_not_expire(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    memory = await atelier.memories.add("today only", "context", workflow.id)
    assert (await atelier.memories.pin(memory.id)).expires_at is None
    assert await atelier.memories.pinned() == [memory.id]
    assert (await atelier.memories.pin(memory.id, False)).expires_at is not None
    assert await atelier.memories.pinned() == []


async def test_a_workflow_can_disable_memory(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    assert await atelier.memories.is_on(workflow.id)
    await atelier.memories.set_on(workflow.id, False)
    assert not await atelier.memories.is_on(workflow.id)
    assert atelier.tool_services.memory_off is not None
    assert await atelier.tool_services.memory_off(workflow.id)
    await atelier.memories.set_on(workflow.id, True)
    assert not await atelier.tool_services.memory_off(workflow.id)


class Slow(OtherEmbedder):
    """Waits until it may go on."""

    def __init__(self) -> None:
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Any, *, query: bool = False) -> Any:
        self.reached.set()
        await self.go_on.wait()
        return await super().embed(texts, query=query)

    async def aclose(self) -> None: ...


async def test_a_change_of_embedder_can_be_paused_and_searches_use_the_old_one(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()

    async def made(settings: Any, *_given: Any) -> Any:
        return slow

    monkeypatch.setattr("atelier_desk.knowledge.embedder_factory.create_embedder", made)
    async with open_atelier() as atelier:
        await atelier.memories.add("The staging server is called heron")
        old = atelier.memory_search.embedder
        await atelier.settings.update(embedder={"kind": "builtin", "model": "other"})
        await asyncio.wait_for(slow.reached.wait(), 10)
        assert (await atelier.memories.reembed_state())["state"] == "running"
        await atelier.memories.pause_reembed()
        state = await atelier.memories.reembed_state()
        assert (state["state"], state["left"], state["embedder"]) == ("paused", 1, Slow.id)
        assert old is not None
        assert state["searched"] == old.id
        assert (await atelier.memories.search("staging server")).search_type == "hybrid"
        settings = await atelier.settings.get()
        assert settings.embedder_paused
        assert settings.embedder_before is not None
        slow.go_on.set()
        await atelier.memories.reembed()
        assert (await atelier.memories.reembed_state())["state"] == "whole"
        assert (await atelier.settings.get()).embedder_before is None
        assert atelier.memory_search.embedder is atelier.embedder


async def test_an_interrupted_change_of_embedder_continues_at_the_next_start(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()

    class First(WordEmbedder):
        async def aclose(self) -> None: ...

    async def made(settings: Any, *_given: Any) -> Any:
        return slow if settings.model == "other" else First()

    monkeypatch.setattr("atelier_desk.knowledge.embedder_factory.create_embedder", made)
    async with open_atelier(embedder=None) as atelier:
        await atelier.memories.add("The staging server is called heron")
        await atelier.settings.update(embedder={"kind": "builtin", "model": "other"})
        await asyncio.wait_for(slow.reached.wait(), 10)
    async with open_atelier(embedder=None) as atelier:
        state = await atelier.memories.reembed_state()
        assert (state["left"], state["embedder"], state["searched"]) == (1, Slow.id, First.id)
        assert (await atelier.memories.search("staging server")).search_type == "hybrid"
        finished = asyncio.Event()

        def listen(topic: str, id: str) -> None:
            if (topic, id) == ("memory", "reembed") and atelier.memories.reembedding is None:
                finished.set()

        atelier.bus.on_changed(listen)
        slow.go_on.set()
        await atelier.resume_pending()
        await asyncio.wait_for(finished.wait(), 10)
        assert (await atelier.memories.reembed_state())["searched"] == Slow.id
        assert (await atelier.settings.get()).embedder_before is None
