"""Memories that the model extracts from a turn: requested once, counted, proposed and never stored silently."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.errors import AtelierError, ProviderError, UsageError
from atelier_desk.domain.events.run import MemoryExtractionDone
from atelier_desk.domain.memory import MemoryType
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.runs.memory_extraction import (
    ANSWER,
    ASKED,
    EACH,
    INSTRUCTIONS,
    KNOWN,
    KNOWN_EACH,
    MOST,
    facts_of,
    is_self_description,
)
from atelier_desk.llm import secrets
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.token_and_cost_estimates import estimate
from tests.engine.conftest import Opener, create_workflow, send_and_wait
from tests.engine.memory_turn_steps import remember
from tests.helpers.runs_without_driver import agent as agent_of
from tests.helpers.scripted_teams import spawn
from tests.helpers.tool_calls import tool_call

TOLD = "I live in Lyon. Which trams go to the airport?"
FACT = {"type": "knowledge", "content": "The user lives in Lyon."}


def facts(*given: Any, usage: Usage | None = None) -> ChatReply:
    return ChatReply(content=json.dumps(given or [FACT]), usage=usage or Usage(tokens_input=90, tokens_output=20))


def agent(**changes: Any) -> AgentConfig:
    return agent_of(**{"tools": (), **changes})


async def turn(atelier: Atelier, text: str = TOLD, workflow_id: str = "", **changes: Any) -> tuple[str, str]:
    """The workflow and the run of a turn, when all requests to the model after it are answered."""
    workflow_id = workflow_id or await create_workflow(atelier, "w")
    run_id = await send_and_wait(atelier, workflow_id, text, agent=agent(**changes))
    await settled(atelier)
    return workflow_id, run_id


async def settled(atelier: Atelier) -> None:
    await asyncio.gather(*atelier.runs.remembering._tasks.values(), return_exceptions=True)
    await asyncio.sleep(0)


async def begun(model: ScriptedModel, requests: int) -> None:
    while len(model.requests) < requests:
        await asyncio.sleep(0)


async def test_extracted_memories_wait_for_approval_on_the_turns_card(open_atelier: Opener) -> None:
    model = ScriptedModel(["The T3.", facts()])
    async with open_atelier(model) as atelier:
        atelier.runs.remembering.watch()
        workflow_id, run_id = await turn(atelier, name="Ada")
        [memory] = await atelier.memories.of_turns([run_id])
        assert (memory.content, memory.type, memory.proposed) == ("The user lives in Lyon.", MemoryType.KNOWLEDGE, True)
        assert (memory.workflow_id, memory.source, memory.agent_source) == (workflow_id, "agent", "Ada")
        assert await atelier.memories.list() == [], "nothing holds for all workflows before a yes"
        assert (await atelier.memories.accept(memory.id, content=memory.content)).workflow_id is None
        asked = model.requests[1]
        assert not asked.tools
        assert TOLD in asked.messages[1].content
        assert "The T3." in asked.messages[1].content
        model.assert_complete()


async def test_they_wait_even_when_agents_store_memories_without_approval(open_atelier: Opener) -> None:
    async with open_atelier(["The T3.", facts()]) as atelier:
        atelier.runs.remembering.watch()
        await atelier.settings.update(memories_ask=False)
        _workflow_id, run_id = await turn(atelier)
        assert [each.proposed for each in await atelier.memories.of_turns([run_id])] == [True]


@pytest.mark.parametrize(
    ("when", "said", "asked"),
    [
        ("told", TOLD, True),
        ("told", "Quels trams ? J’habite à Lyon.", True),
        ("told", "List the trams of Lyon.", False),
        ("always", "List the trams of Lyon.", True),
        ("off", TOLD, False),
    ],
)
async def test_the_owner_chooses_when_memories_are_extracted(
    open_atelier: Opener, when: str, said: str, asked: bool
) -> None:
    model = ScriptedModel(["The T3.", facts()])
    async with open_atelier(model) as atelier:
        atelier.runs.remembering.watch()
        await atelier.settings.set("memories_at_end", when)
        await turn(atelier, said)
        assert len(model.requests) == 1 + asked


async def test_by_default_extraction_happens_when_the_user_said_something_personal(atelier: Atelier) -> None:
    assert (await atelier.settings.get()).memories_at_end == "told"
    with pytest.raises(UsageError, match="memories_at_end"):
        await atelier.settings.set("memories_at_end", "sometimes")


async def test_without_memory_in_a_sub_agent_or_a_stopped_run_nothing_is_extracted(
    open_atelier: Opener,
) -> None:
    start = [spawn("s", "Bo", "I like tea. Say hello.")]
    model = ScriptedModel(["The T3.", start, "Hello.", "It said hello.", "Later"])
    async with open_atelier(model) as atelier:
        atelier.runs.remembering.watch()
        workflow_id = await create_workflow(atelier, "w")
        await atelier.memories.set_on(workflow_id, False)
        await turn(atelier, workflow_id=workflow_id)
        assert len(model.requests) == 1
        await turn(atelier, "Have Bo say hello.", tools=("SpawnAgentTool",), approval="auto")
        assert len(model.requests) == 4, "the words of the sub-agent's task are not the person's"
        model.gate = asyncio.Event()
        run_id = await atelier.runs.send(await create_workflow(atelier), TOLD, agent=agent())
        await begun(model, 5)
        await atelier.runs.cancel(run_id)
        await settled(atelier)
        assert len(model.requests) == 5


async def test_it_is_counted_like_any_request_and_survives_a_restart(open_atelier: Opener) -> None:
    async with open_atelier(
        [ChatReply(content="The T3.", usage=Usage(tokens_input=10, tokens_output=2)), facts()]
    ) as atelier:
        atelier.runs.remembering.watch()
        workflow_id, run_id = await turn(atelier)
        row = await atelier.workflows.get(workflow_id)
        assert (row.usage.tokens_input, row.usage.tokens_output) == (100, 22)
        assert sum(each.total.usage.tokens_input for each in await atelier.usage.rows()) == 100
        [sought] = [
            event.body
            for event in await run_events(atelier.repos, run_id)
            if isinstance(event.body, MemoryExtractionDone)
        ]
        assert sought.count == 1
    async with open_atelier() as atelier:
        assert (await atelier.workflows.get(workflow_id)).usage.tokens_input == 100
        assert len(await atelier.memories.proposed(workflow_id)) == 1


async def test_it_respects_a_reached_limit_and_the_title_request(open_atelier: Opener) -> None:
    spent = ChatReply(content="The T3.", usage=Usage(tokens_input=3000, tokens_output=900))
    model = ScriptedModel([spent])
    async with open_atelier(model) as atelier:
        atelier.runs.titles.watch()
        atelier.runs.remembering.watch()
        workflow_id, _run_id = await turn(atelier, budget=Budget(max_tokens=4000))
        await asyncio.gather(*atelier.runs.titles._asking)
        assert len(model.requests) == 1
        with pytest.raises(UsageError, match="do not allow"):
            await atelier.runs.remembering.ask(workflow_id)


async def test_the_request_has_a_limited_length(open_atelier: Opener) -> None:
    long = "I said: " + "many words " * 5_000
    model = ScriptedModel([long, facts()])
    async with open_atelier(model) as atelier:
        atelier.runs.remembering.watch()
        for number in range(30):
            await atelier.memories.add(f"The user said many words, {number}. " * 100)
        await turn(atelier, long)
        asked = model.requests[1]
        most = ASKED * EACH + ANSWER + KNOWN * KNOWN_EACH + 200
        assert EACH < len(asked.messages[1].content) <= most
        assert asked.max_tokens is not None
        assert estimate(INSTRUCTIONS) + asked.max_tokens < 800


async def test_known_or_deleted_memories_are_not_proposed(open_atelier: Opener) -> None:
    told = [
        FACT,
        {"type": "user_pref", "content": "The user likes tea."},
        {"type": "decision", "content": "Releases are on Fridays."},
    ]
    model = ScriptedModel(
        [
            "The T3.",
            facts(*told),
            "Yes.",
            facts(*told),
            remember("The user has a green bicycle."),
            "Noted.",
            facts({"content": "The user has a bicycle."}),
        ]
    )
    async with open_atelier(model) as atelier:
        atelier.runs.remembering.watch()
        known = await atelier.memories.add("The user lives in Lyon, near the river.")
        workflow_id, run_id = await turn(atelier)
        assert known.content in model.requests[1].messages[1].content
        proposed = {each.content: each for each in await atelier.memories.of_turns([run_id])}
        assert set(proposed) == {"The user likes tea.", "Releases are on Fridays."}
        await atelier.memories.delete(proposed["The user likes tea."].id)
        await atelier.memories.accept(proposed["Releases are on Fridays."].id, everywhere=False)
        _same, again = await turn(atelier, "And my bicycle?", workflow_id)
        assert await atelier.memories.of_turns([again]) == []
        _same, third = await turn(atelier, "My bicycle is green.", workflow_id, tools=("MemoryTool",))
        assert [each.content for each in await atelier.memories.of_turns([third])] == ["The user has a green bicycle."]
        model.assert_complete()


async def test_a_regenerated_answer_takes_over_its_proposal(open_atelier: Opener) -> None:
    async with open_atelier(["The T3.", facts(), "The tram T3.", facts()]) as atelier:
        atelier.runs.remembering.watch()
        workflow_id, first = await turn(atelier)
        [before] = await atelier.memories.proposed()
        second = await atelier.runs.regenerate(workflow_id, first)
        await atelier.runs.wait(second)
        await settled(atelier)
        assert [(each.id, each.turn_id) for each in await atelier.memories.proposed()] == [(before.id, second)]


async def test_outside_content_read_before_marks_the_proposal(open_atelier: Opener) -> None:
    listed = [tool_call("MemoryTool", "m", operation="list")]
    async with open_atelier([listed, "The T3.", facts()]) as atelier:
        atelier.runs.remembering.watch()
        memory = await atelier.memories.add("Trams of Lyon are red.")
        await atelier.memory_search.index(memory.model_copy(update={"tainted": ("evil.example",)}))
        _workflow_id, run_id = await turn(atelier, tools=("MemoryTool",))
        assert [each.tainted for each in await atelier.memories.of_turns([run_id])] == [("evil.example",)]


async def test_stop_and_the_end_of_the_program_cancel_it(open_atelier: Opener) -> None:
    model = ScriptedModel(["The T3.", facts(), "The T3.", facts()])
    async with open_atelier(model) as atelier:
        atelier.runs.remembering.watch()
        for stop in (atelier.runs.cancel, atelier.runs.remembering.stop):
            told: list[str] = []

            def tell(topic: str, id: str, told: list[str] = told) -> None:
                if topic == "memory":
                    told.append(id)

            unsubscribe = atelier.bus.on_changed(tell)
            model.gate = None
            requests = len(model.requests)
            workflow_id = await create_workflow(atelier, "w")
            run_id = await atelier.runs.send(workflow_id, TOLD, agent=agent())
            await begun(model, requests + 1)
            model.gate = asyncio.Event()
            await begun(model, requests + 2)
            assert [each.turn_id for each in await atelier.runs.remembering.pending_turns([run_id])] == [run_id]
            await stop(run_id)
            await asyncio.sleep(0)
            assert await atelier.runs.remembering.pending_turns([run_id]) == []
            assert told == [run_id, run_id], "the screen is told when it begins and when it ends"
            assert await atelier.memories.proposed() == []
            unsubscribe()


async def test_a_failure_is_reported_quietly_and_does_not_affect_the_answer(open_atelier: Opener) -> None:
    async with open_atelier(["The T3.", ProviderError("The server is away.", code="offline"), facts()]) as atelier:
        atelier.runs.remembering.watch()
        workflow_id, run_id = await turn(atelier)
        [said] = await atelier.runs.remembering.pending_turns([run_id])
        assert said.error == "The server is away."
        assert [each.kind for each in await atelier.repos.messages.page(workflow_id)] == ["queue", "reply"]
        assert len(await atelier.runs.remembering.ask(workflow_id)) == 1
        assert await atelier.runs.remembering.pending_turns([run_id]) == []


async def test_a_person_requests_it(open_atelier: Opener) -> None:
    async with open_atelier(["The T3.", facts(), "No list here"]) as atelier:
        workflow_id = await create_workflow(atelier, "w")
        with pytest.raises(UsageError, match="no finished answer"):
            await atelier.runs.remembering.ask(workflow_id)
        await turn(atelier, "List the trams.", workflow_id)
        assert [each.content for each in await atelier.runs.remembering.ask(workflow_id)] == ["The user lives in Lyon."]
        assert await atelier.runs.remembering.ask(workflow_id) == []
        await atelier.memories.set_on(workflow_id, False)
        with pytest.raises(AtelierError, match="turned off"):
            await atelier.runs.remembering.ask(workflow_id)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('```json\n[{"type": "decision", "content": " Ship  on Fridays. "}]\n```', ["Ship on Fridays."]),
        (
            (
                'I see [one]: [{"content": "A"}, {"content": "a."}, {"content": ""}, {"content": "B", "type": '
                '"context"}, 7]'
            ),
            ["A"],
        ),
        ('[{"content": "…"}]', []),
        ('{"content": "A"}', []),
        ("[" * 5000, []),
        (json.dumps([{"content": f"Fact {n}"} for n in range(9)]), ["Fact 0", "Fact 1", "Fact 2"]),
        (json.dumps([{"content": "x" * 501}]), []),
    ],
)
def test_the_usable_part_of_a_reply(reply: str, found: list[str]) -> None:
    assert [each.content for each in facts_of(reply)] == found


def test_a_key_is_never_extracted() -> None:
    secrets.remember("sk-abcdefgh-123")
    assert (
        facts_of('[{"content": "The key is sk-abcdefgh-123."}, {"content": "The user has a key."}]')[0].content
        == "The user has a key."
    )


@given(st.text(max_size=300))
def test_any_reply_gives_a_few_memories_or_none(reply: str) -> None:
    assert len(facts_of(f"[{reply}]")) <= MOST


@pytest.mark.parametrize(
    "text",
    ["My dog is called Rex", "réponds toujours en français", "C’est à nous de voir", "I’m in Lyon", "je vis à Lyon"],
)
def test_messages_about_the_person_are_recognised(text: str) -> None:
    assert is_self_description(text)


@pytest.mark.parametrize(
    "text", ["Fix the failing test in src/main.py", "Traduis ce texte en anglais", "Images/marie.png", ""]
)
def test_other_messages_are_not(text: str) -> None:
    assert not is_self_description(text)
