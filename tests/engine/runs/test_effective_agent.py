"""The agent and model chosen for a workflow answer every message, edited or regenerated, also after a restart,
until another is chosen.
"""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.domain.agent import Agent, AgentConfig, ApprovalMode, Budget, Choices, Thinking
from atelier_desk.domain.errors import LimitError, NotFoundError
from atelier_desk.domain.events.run import RunStarted
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, Recorder, create_workflow

BIG = Choices(provider="builtin", model="big")


async def made(atelier: Atelier, choices: Choices | None = None) -> tuple[str, Agent]:
    provider = (await atelier.providers.list())[0].name
    agent = await atelier.agents.save(
        AgentConfig(name="Ada", provider=provider, model="small", system_prompt="Be kind.")
    )
    picked = choices.model_copy(update={"provider": provider}) if choices is not None and choices.model else choices
    return await create_workflow(atelier, agent_id=agent.id, choices=picked), agent


async def answered(atelier: Atelier, run_id: str) -> str:
    async with asyncio.timeout(20):
        return (await atelier.runs.wait(run_id)).id


async def test_a_chosen_model_is_used_for_messages_edits_and_after_a_restart(open_atelier: Opener) -> None:
    model = ScriptedModel(["a", "b", "c", "d"])
    async with open_atelier(model) as atelier:
        workflow_id, _agent = await made(atelier, BIG)
        first = await answered(atelier, await atelier.runs.send(workflow_id, "one"))
        await answered(atelier, await atelier.runs.send(workflow_id, "two"))
        await answered(atelier, await atelier.runs.edit_and_resend(workflow_id, first, "one, edited"))
        await answered(atelier, await atelier.runs.regenerate(workflow_id, first))
        provider = (await atelier.workflows.get(workflow_id)).choices.provider
    assert [request.model for request in model.requests] == ["big"] * 4
    again = ScriptedModel(["e", "f"])
    async with open_atelier(again) as atelier:
        await answered(atelier, await atelier.runs.send(workflow_id, "three"))
        await atelier.workflows.choose(workflow_id, Choices(provider=provider, model="other", thinking=Thinking.OFF))
        await answered(atelier, await atelier.runs.send(workflow_id, "four"))
    assert [request.model for request in again.requests] == ["big", "other"]
    assert again.requests[1].enable_thinking is False


async def test_a_queued_message_is_answered_by_the_agent_chosen_meanwhile(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["a", "b"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, _agent = await made(atelier)
        run_id = await atelier.runs.send(workflow_id, "one")
        await seen.until(ChunkType.TOKEN)
        provider = (await atelier.providers.list())[0].name
        await atelier.workflows.choose(workflow_id, Choices(provider=provider, model="big"))
        assert await atelier.runs.send(workflow_id, "two") == run_id
        gate.set()
        await answered(atelier, run_id)
    assert [request.model for request in model.requests] == ["small", "big"]


async def test_limits_approvals_and_instructions_of_the_workflow_apply(open_atelier: Opener) -> None:
    model = ScriptedModel(["a"])
    choices = Choices(
        thinking=Thinking.HIGH, approval=ApprovalMode.MANUAL, budget=Budget(max_cost=0.5), instructions="In French."
    )
    async with open_atelier(model) as atelier:
        workflow_id, _agent = await made(atelier, choices)
        run_id = await answered(atelier, await atelier.runs.send(workflow_id, "one"))
        started = (await run_events(atelier.repos, run_id))[0].body
    assert isinstance(started, RunStarted)
    assert (started.agent.budget.max_cost, started.agent.approval, started.approvals.mode) == (0.5, "manual", "manual")
    assert started.agent.system_prompt == "Be kind.\n\nIn French."
    assert model.requests[0].effort == "high"


async def test_another_agent_comes_with_its_own_model(open_atelier: Opener) -> None:
    model = ScriptedModel(["a"])
    async with open_atelier(model) as atelier:
        workflow_id, agent = await made(atelier, BIG)
        bob = await atelier.agents.save(agent.config.model_copy(update={"name": "Bob", "model": "tiny"}))
        await answered(atelier, await atelier.runs.send(workflow_id, "one", agent_id=bob.id))
        assert (await atelier.workflows.get(workflow_id)).agent_id == agent.id
    assert [request.model for request in model.requests] == ["tiny"]


async def test_an_invalid_choice_is_refused_with_the_reason(open_atelier: Opener) -> None:
    async with open_atelier([]) as atelier:
        workflow_id, agent = await made(atelier)
        with pytest.raises(NotFoundError):
            await atelier.workflows.choose(workflow_id, Choices(provider="nowhere", model="x"))
        with pytest.raises(NotFoundError):
            await atelier.workflows.choose(workflow_id, Choices(), agent_id="nobody")
        await atelier.agents.save(agent.config.model_copy(update={"system_prompt": "x" * 99_000}), agent.id)
        with pytest.raises(LimitError):
            await atelier.workflows.choose(workflow_id, Choices(instructions="y" * 2_000))
