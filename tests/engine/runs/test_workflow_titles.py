"""Generated titles: requested once, counted, never blocking, and never replacing a person's title."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.errors import ProviderError, UsageError
from atelier_desk.domain.events.run import TitleGenerated
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.domain.workflow import RunStatus, Workflow
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal import conversation_snapshots
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.runs.workflow_titles import title_of
from atelier_desk.engine.services.common.workflow_names import NAME_LENGTH
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, create_workflow, send_and_wait
from tests.helpers.runs_without_driver import agent as agent_of

TITLE = ChatReply(content='"Isolating the tools."', usage=Usage(tokens_input=40, tokens_output=6))
ASKED = "Could you isolate how tools are run? Add a test."
WORDS = "Could you isolate how tools are run?"


def agent(**changes: Any) -> AgentConfig:
    return agent_of(**{"tools": (), **changes})


async def turn(atelier: Atelier, workflow_id: str = "", text: str = ASKED, **changes: Any) -> Workflow:
    """One turn, and all requests to the model after it."""
    workflow_id = workflow_id or await create_workflow(atelier)
    run_id = await atelier.runs.send(workflow_id, text, agent=agent(**changes))
    run = await atelier.runs.wait(run_id)
    assert run.status is RunStatus.COMPLETED
    await asyncio.gather(*atelier.runs.titles._asking)
    return await atelier.workflows.get(workflow_id)


async def test_a_workflow_is_titled_once_after_its_first_answer(open_atelier: Opener) -> None:
    model = ScriptedModel(["Done.", TITLE, "Again."])
    async with open_atelier(model) as atelier:
        atelier.runs.titles.watch()
        row = await turn(atelier)
        assert (row.name, row.named_by) == ("Isolating the tools", "model")
        asked = model.requests[1]
        assert not asked.tools
        assert ASKED in asked.messages[1].content
        assert "Done." in asked.messages[1].content
        again = await turn(atelier, row.id, "And now?")
        assert again.name == "Isolating the tools"
        model.assert_complete()


async def test_it_is_counted_like_any_request_and_survives_a_restart(open_atelier: Opener) -> None:
    async with open_atelier(
        [ChatReply(content="Done.", usage=Usage(tokens_input=10, tokens_output=2)), TITLE]
    ) as atelier:
        atelier.runs.titles.watch()
        row = await turn(atelier)
        assert (row.usage.tokens_input, row.usage.tokens_output) == (50, 8)
        assert row.head_run_id is not None
        run = await atelier.repos.runs.get(row.head_run_id)
        assert run.usage.tokens_input == 50
        written = [
            event.body for event in await run_events(atelier.repos, run.id) if isinstance(event.body, TitleGenerated)
        ]
        assert [each.title for each in written] == ["Isolating the tools"]
        copy = await atelier.workflows.import_(await atelier.workflows.export(row.id))
        assert (copy.workflow.name, copy.workflow.named_by, copy.workflow.usage) == (
            "Isolating the tools (2)",
            "model",
            row.usage,
        )
    async with open_atelier(["More."]) as atelier:
        assert (await atelier.workflows.get(row.id)).usage.tokens_input == 50
        assert (await turn(atelier, row.id, "Continue")).usage.tokens_input > 50


async def test_after_a_title_a_long_conversation_still_gets_a_snapshot(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_snapshots, "LEAST", 2)
    async with open_atelier(["Done.", TITLE, "Again.", "And again."]) as atelier:
        atelier.runs.titles.watch()
        row = await turn(atelier)
        for text in ("More", "Still more"):
            await turn(atelier, row.id, text)
        await atelier.runs.live.conversations.close()
        assert await atelier.repos.snapshots.read(row.id)


@pytest.mark.parametrize("bad", ["", "Two\nlines", "x" * 61, "{}", ProviderError("no", code="offline")])
async def test_a_poor_or_failed_title_leaves_the_first_words(open_atelier: Opener, bad: Any) -> None:
    async with open_atelier(["Done.", bad]) as atelier:
        atelier.runs.titles.watch()
        row = await turn(atelier)
        assert (row.name, row.named_by) == (WORDS, "words")


async def test_a_title_given_by_a_person_stays_even_when_given_meanwhile(open_atelier: Opener) -> None:
    model = ScriptedModel(["Done.", TITLE])
    async with open_atelier(model) as atelier:
        atelier.runs.titles.watch()
        named = await atelier.workflows.create("Mine")
        assert (await turn(atelier, named.id)).name == "Mine"
        assert len(model.requests) == 1
        model._steps.insert(0, "Done.")
        gate = model.gate = asyncio.Event()
        other = await atelier.workflows.create()
        run_id = await atelier.runs.send(other.id, ASKED, agent=agent())
        gate.set()
        await atelier.runs.wait(run_id)
        gate.clear()
        while len(model.requests) < 3:
            await asyncio.sleep(0)
        await atelier.workflows.rename(other.id, WORDS)  # the same words, but now a person's
        gate.set()
        await asyncio.gather(*atelier.runs.titles._asking)
        row = await atelier.workflows.get(other.id)
        assert (row.name, row.named_by) == (WORDS, "person")
        model.assert_complete()


async def test_no_title_is_requested_when_disabled_or_a_limit_is_reached(open_atelier: Opener) -> None:
    model = ScriptedModel(["Done.", ChatReply(content="Done.", usage=Usage(tokens_input=3000, tokens_output=900))])
    async with open_atelier(model) as atelier:
        atelier.runs.titles.watch()
        await atelier.settings.update(name_by_model=False)
        assert (await turn(atelier)).named_by == "words"
        await atelier.settings.update(name_by_model=True)
        assert (await turn(atelier, budget=Budget(max_tokens=4000))).named_by == "words"
        model.assert_complete()


async def test_several_at_once_stay_within_the_limit_of_the_run(open_atelier: Opener) -> None:
    used = ChatReply(content="Isolating the tools", usage=Usage(tokens_input=600, tokens_output=100))
    async with open_atelier(
        [ChatReply(content="Done.", usage=Usage(tokens_input=100, tokens_output=20)), *[used] * 9]
    ) as atelier:
        row = await turn(atelier, budget=Budget(max_tokens=4000))
        asked = await asyncio.gather(*(atelier.runs.titles.suggest(row.id) for _ in range(9)), return_exceptions=True)
        refused = [each for each in asked if isinstance(each, UsageError)]
        assert 0 < len(refused) < 9
        usage = (await atelier.workflows.get(row.id)).usage
        assert usage.tokens_input + usage.tokens_output <= 4000 + 700, (
            "one at a time: only what the server adds to the last one is above"
        )


async def test_the_end_of_the_program_does_not_wait_for_a_title(open_atelier: Opener) -> None:
    model = ScriptedModel(["Done.", TITLE])
    async with open_atelier(model) as atelier:
        atelier.runs.titles.watch()
        workflow = await atelier.workflows.create()
        await send_and_wait(atelier, workflow.id, ASKED, agent=agent())
        model.gate = asyncio.Event()
        while len(model.requests) < 2:
            await asyncio.sleep(0)
    async with open_atelier([]) as atelier:
        assert (await atelier.workflows.get(workflow.id)).name == WORDS


async def test_a_person_requests_a_title_and_keeps_it(open_atelier: Opener) -> None:
    async with open_atelier(["Done.", TITLE, "Two\nlines"]) as atelier:
        workflow = await atelier.workflows.create("Old")
        with pytest.raises(UsageError, match="no messages yet"):
            await atelier.runs.titles.suggest(workflow.id)
        await turn(atelier, workflow.id)
        taken = await atelier.runs.titles.suggest(workflow.id)
        assert (taken.name, taken.named_by) == ("Isolating the tools", "person")
        poor = await atelier.runs.titles.suggest(workflow.id)
        assert poor.name == WORDS


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ("Titre : Réglages du thème", "Réglages du thème"),
        ("**Planning a trip to Lyon.**", "Planning a trip to Lyon"),
        ("«\u00a0L’été à Lyon\u00a0»", "L’été à Lyon"),
        ('He said "no" to it', ""),
        ("…", ""),
    ],
)
def test_decorations_around_a_title_are_removed(reply: str, title: str) -> None:
    assert title_of(reply) == title


@given(st.text(max_size=200))
def test_a_title_is_one_short_line_or_nothing(reply: str) -> None:
    title = title_of(reply)
    assert len(title) <= NAME_LENGTH
    assert not set(title) & set('\n"«»`')
