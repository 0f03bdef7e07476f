"""A regenerated turn does not store again what its first answer stored."""

from __future__ import annotations

from atelier_desk.domain.memory import Memory
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, create_workflow
from tests.engine.memory_turn_steps import answered, regenerate, remember


async def memories(atelier: Atelier) -> list[Memory]:
    return sorted(await atelier.repos.memories.list(scope=None), key=lambda memory: memory.created_at)


async def test_the_new_answer_takes_over_the_same_memory(open_atelier: Opener) -> None:
    steps: list[Step] = [remember("I like tea.", tags=["a"]), "Noted.", remember("i like  tea", tags=["b"]), "Noted."]
    async with open_atelier(steps) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        first = await answered(atelier, workflow_id)
        [before] = await memories(atelier)
        second = await regenerate(atelier, workflow_id, first)
        [after] = await memories(atelier)
        assert (after.id, after.run_id, after.content, after.tags) == (before.id, second, "i like  tea", ("b",))
        assert after.created_at == before.created_at


async def test_other_words_another_type_and_a_later_turn_give_other_memories(open_atelier: Opener) -> None:
    steps: list[Step] = []
    for words, fields in (
        ("I like tea", {}),
        ("I like green tea", {}),
        ("I like tea", {"type": "knowledge"}),
        ("I like tea", {}),
    ):
        steps += [remember(words, **fields), "Noted."]
    async with open_atelier(steps) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        run_id = await answered(atelier, workflow_id)
        await answered(atelier, workflow_id)
        second = await answered(atelier, workflow_id)
        await answered(atelier, workflow_id)
        assert [memory.content for memory in await memories(atelier)] == [
            "I like tea",
            "I like green tea",
            "I like tea",
            "I like tea",
        ]
        assert len({run_id, second}) == 2


async def test_a_memory_changed_by_a_person_is_unchanged(open_atelier: Opener) -> None:
    model = ScriptedModel([remember("I like tea"), "Noted.", remember("I like tea"), "Noted."])
    async with open_atelier(model) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        first = await answered(atelier, workflow_id)
        [memory] = await memories(atelier)
        edited = await atelier.memories.update(memory.id, content="I like green tea")
        await regenerate(atelier, workflow_id, first)
        assert await memories(atelier) == [edited]
        assert "the user changed it to: I like green tea" in model.requests[-1].messages[-1].content


async def test_a_turn_on_an_abandoned_branch_counts_too(open_atelier: Opener) -> None:
    steps: list[Step] = ["Hello.", remember("I like tea"), "Noted.", "Hello again.", remember("I like tea"), "Noted."]
    async with open_atelier(steps) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        first = await answered(atelier, workflow_id, "Hello")
        await answered(atelier, workflow_id)
        await regenerate(atelier, workflow_id, first)
        last = await answered(atelier, workflow_id)
        [memory] = await memories(atelier)
        assert memory.run_id == last


async def test_another_workflows_memory_is_separate(open_atelier: Opener) -> None:
    async with open_atelier([remember("I like tea"), "Noted.", remember("I like tea"), "Noted."]) as atelier:
        for name in "ab":
            await answered(atelier, await create_workflow(atelier, name))
        assert len(await memories(atelier)) == 2
