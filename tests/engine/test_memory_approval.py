"""A general memory proposed by an agent waits for a person's approval, and applies only in its own workflow until
then.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.tools.base import ToolContext, ToolResult
from tests.engine.conftest import Opener, create_workflow
from tests.engine.memory_turn_steps import answered, regenerate, remember


async def test_it_applies_in_its_workflow_until_a_person_approves(open_atelier: Opener) -> None:
    async with open_atelier([remember("I like tea."), "Noted."]) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        turn = await answered(atelier, workflow_id)
        [memory] = await atelier.memories.of_turns([turn])
        assert (memory.proposed, memory.workflow_id, memory.turn_id) == (True, workflow_id, turn)
        assert await atelier.memories.list() == []
        assert [each.id for each in await atelier.memories.proposed()] == [memory.id]
        assert [each.id for each in await atelier.memories.proposed(workflow_id)] == [memory.id]
        [hit] = (await atelier.memories.search("tea", workflow_id)).hits
        assert hit.memory.id == memory.id
        await atelier.memory_search.index(memory.model_copy(update={"content": "Something else."}))
        with pytest.raises(ConflictError):
            await atelier.memories.accept(memory.id, content=memory.content)
        assert (await atelier.memories.get(memory.id)).proposed
        await atelier.memory_search.index(memory)
        kept = await atelier.memories.accept(memory.id, content=memory.content)
        assert (kept.proposed, kept.workflow_id) == (False, None)
        assert [each.id for each in await atelier.memories.list()] == [memory.id]
        assert await atelier.memories.proposed() == []
        assert await atelier.memories.written_in(memory.id) == (
            workflow_id,
            (await atelier.repos.messages.page(workflow_id))[-1].id,
        )
        back = await atelier.memories.propose_again(memory.id, workflow_id)
        assert (back.proposed, back.workflow_id) == (True, workflow_id)


async def test_the_list_over_all_workflows_leaves_out_expired_ones_and_those_in_the_bin(open_atelier: Opener) -> None:
    async with open_atelier([remember("I like tea."), "Noted."]) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        [memory] = await atelier.memories.of_turns([await answered(atelier, workflow_id)])
        await atelier.workflows.delete(workflow_id)
        assert await atelier.memories.proposed() == []
        await atelier.workflows.undo_delete(workflow_id)
        assert [each.id for each in await atelier.memories.proposed()] == [memory.id]
        past = datetime.now(UTC) - timedelta(days=1)
        await atelier.repos.memories.save(memory.model_copy(update={"expires_at": past}))
        assert await atelier.memories.proposed() == []


async def test_an_approved_memory_survives_its_workflow_and_is_found_by_its_meaning(open_atelier: Opener) -> None:
    async with open_atelier([remember("I like tea."), "Noted."]) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        [memory] = await atelier.memories.of_turns([await answered(atelier, workflow_id)])
        await atelier.memories.accept(memory.id)
        await atelier.workflows.delete(workflow_id)
        await atelier.workflows.purge(workflow_id)
        atelier.memory_search.index_cache.invalidate()
        found = await atelier.memories.search("tea")
        assert [(hit.memory.id, hit.cosine is not None) for hit in found.hits] == [(memory.id, True)]


async def test_a_regenerated_answer_proposes_the_same_and_nothing_already_stored(open_atelier: Opener) -> None:
    steps = [remember("I like tea."), "Noted.", remember("I like tea"), "Noted.", remember("I like tea"), "Noted."]
    async with open_atelier(steps) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        first = await answered(atelier, workflow_id)
        second = await regenerate(atelier, workflow_id, first)
        [memory] = await atelier.memories.proposed()
        assert memory.turn_id == second
        await atelier.memories.accept(memory.id)
        await regenerate(atelier, workflow_id, second)
        assert await atelier.memories.proposed() == []
        assert [each.id for each in await atelier.repos.memories.list(scope=None)] == [memory.id]


@pytest.mark.parametrize(("asks", "scope"), [(False, "general"), (True, "workflow")])
async def test_a_person_can_disable_the_approval(open_atelier: Opener, asks: bool, scope: str) -> None:
    model = ScriptedModel([remember("I like tea.", scope=scope), "Noted."])
    async with open_atelier(model) as atelier:
        await atelier.settings.update(memories_ask=asks)
        workflow_id = await create_workflow(atelier, "w")
        [memory] = await atelier.memories.of_turns([await answered(atelier, workflow_id)])
        assert (memory.proposed, memory.workflow_id) == (False, workflow_id if asks else None)


async def test_a_memory_written_by_a_person_has_no_outside_source(atelier: Atelier) -> None:
    memory = await atelier.memories.add("I like tea.")
    with pytest.raises(NotFoundError, match="No agent wrote"):
        await atelier.memories.written_in(memory.id)


async def test_general_memories_are_not_changed_or_deleted_behind_a_persons_back(atelier: Atelier) -> None:
    memory = await atelier.memories.add("Bills are paid after a call.")
    workflow_id = await create_workflow(atelier, "w")

    async def call(tainted: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
        context = ToolContext(workflow_id, "r", "c", tainted=tainted)
        result = await atelier.registry.execute("MemoryTool", arguments, context)
        assert isinstance(result, ToolResult)
        return result.data

    changed = await call(("evil.example",), operation="update", memory_id=memory.id, content="Bills are paid at once.")
    assert f"{memory.id} stays as it is" in changed["message"]
    assert [each.content for each in await atelier.memories.list()] == ["Bills are paid after a call."]
    [asked] = await atelier.memories.proposed(workflow_id)
    assert (asked.content, asked.tainted, asked.source) == ("Bills are paid at once.", ("evil.example",), "agent")
    assert (await call(operation="update", memory_id=memory.id, importance=0.2))["memory_id"] == memory.id
    for gone in (
        {"operation": "delete", "memory_id": memory.id},
        {"operation": "clear_by_type", "type": memory.type, "scope": "both"},
    ):
        assert (await call(("evil.example",), **gone))["code"] == "needs_user"
    assert len(await atelier.memories.list()) == 1
    assert (await call(operation="delete", memory_id=memory.id))["success"]


async def test_another_workflows_memories_are_separate(atelier: Atelier) -> None:
    """Nor is a workflow with memory disabled read from here, nor does a team that read outside content delete
    anything.
    """
    here, there = await atelier.workflows.create("here"), await atelier.workflows.create("there")
    memory = await atelier.memories.add("The vault is on the third floor.", "decision", there.id)
    state: dict[str, Any] = {}

    async def call(tainted: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
        context = ToolContext(here.id, "r", "c", tainted=tainted, state=state)
        result = await atelier.registry.execute("MemoryTool", arguments, context)
        assert isinstance(result, ToolResult)
        state.update(result.state or {})
        return result.data

    assert (await call(operation="activate_workflow", workflow_id=there.id))["success"]
    assert (await call(operation="get", memory_id=memory.id))["success"]
    outside = ("evil.example",)
    for harm in (
        {"operation": "delete", "memory_id": memory.id},
        {"operation": "update", "memory_id": memory.id, "content": "There is no vault."},
        {"operation": "clear_by_type", "type": "decision"},
    ):
        assert (await call(outside, **harm))["code"] == "needs_user"
    assert [each.content for each in await atelier.memories.list(there.id, "workflow")] == [memory.content]
    await atelier.memories.set_on(there.id, False)
    assert (await call(operation="search", query="vault", threshold=0.0))["code"] == "memory_off"
    assert (await call(operation="activate_general"))["success"]
    assert (await call(operation="activate_workflow", workflow_id=there.id))["code"] == "memory_off"
    assert (await call(operation="search", query="vault", threshold=0.0))["count"] == 0
