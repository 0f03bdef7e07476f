"""Runs in step mode: neither a message nor the end of another pause takes the step that they wait for."""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.domain.workflow import Dispatch, RunMode, RunStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, completed, status_after
from tests.engine.runs.sample_runs import start
from tests.helpers.runs_without_driver import agent
from tests.helpers.scripted_teams import calculate


async def _waits(atelier: Atelier, workflow_id: str, run_id: str) -> tuple[str, ...]:
    """Return the tools of the step the run waits for, and fail if it waits for none."""
    assert await status_after(atelier, run_id) is RunStatus.PAUSED
    (step,) = await atelier.stepping.waiting(workflow_id)
    return step.tools


@pytest.mark.parametrize("strategy", [Dispatch.QUEUE, Dispatch.REDIRECT, Dispatch.SILENT])
async def test_a_message_does_not_take_the_next_step(open_atelier: Opener, strategy: Dispatch) -> None:
    model = ScriptedModel(["one", "two"])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, mode=RunMode.STEPPING)
        assert await _waits(atelier, workflow_id, run_id) == ()
        assert await atelier.runs.send(workflow_id, "second", strategy=strategy) == run_id
        assert await _waits(atelier, workflow_id, run_id) == ()
        assert model.requests == []
        await atelier.runs.steering.step(run_id)
        await atelier.runs.wait(run_id)
        assert len(model.requests) == 1


async def test_a_queued_message_sent_now_replaces_the_step_without_taking_it(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate("c", "1+1")], "two"])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, mode=RunMode.STEPPING)
        await atelier.runs.wait(run_id)
        await atelier.runs.steering.step(run_id)
        assert await _waits(atelier, workflow_id, run_id) == ("CalculatorTool",)
        await atelier.runs.send(workflow_id, "second")
        assert await _waits(atelier, workflow_id, run_id) == ("CalculatorTool",)
        await atelier.runs.send_queued(workflow_id)
        assert await _waits(atelier, workflow_id, run_id) == ()
        assert len(model.requests) == 1
        await atelier.runs.steering.step(run_id)
        await atelier.runs.wait(run_id)
        assert "second" in str(model.requests[1].messages[-1].content)


async def test_a_message_after_another_pause_leaves_the_run_in_step_mode(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate(f"c{number}", "1+1")] for number in range(5)])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, mode=RunMode.STEPPING)
        await atelier.runs.wait(run_id)
        while await atelier.stepping.waiting(workflow_id):
            await atelier.runs.steering.step(run_id)
            await atelier.runs.wait(run_id)
        # It repeats itself, so it was paused.
        asked = len(model.requests)
        await atelier.runs.send(workflow_id, "Try something else.")
        assert await _waits(atelier, workflow_id, run_id) == ()
        assert len(model.requests) == asked


async def test_raising_a_limit_leaves_the_run_in_step_mode(open_atelier: Opener) -> None:
    model = ScriptedModel([[calculate("c1", "1+1")], [calculate("c2", "2+2")], "done"])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, mode=RunMode.STEPPING, agent=agent(budget=Budget(max_tool_calls=1)))
        await atelier.runs.wait(run_id)
        while await atelier.stepping.waiting(workflow_id):
            await atelier.runs.steering.step(run_id)
            await atelier.runs.wait(run_id)
        assert len(model.requests) == 2
        await atelier.runs.steering.resume(run_id, raise_limits={LimitKind.TOOL_CALLS: 5})
        assert await _waits(atelier, workflow_id, run_id) == ()
        assert len(model.requests) == 2, "the call that was allowed ran, and nothing after it"
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)


async def test_a_retry_after_an_error_leaves_the_run_in_step_mode(open_atelier: Opener) -> None:
    model = ScriptedModel([ProviderError("Refused.", code="auth"), [calculate("c1", "1+1")]])
    async with open_atelier(model) as atelier:
        workflow_id, run_id = await start(atelier, mode=RunMode.STEPPING)
        await atelier.runs.wait(run_id)
        await atelier.runs.steering.step(run_id)
        assert await status_after(atelier, run_id) is RunStatus.ERROR
        await atelier.runs.steering.resume(run_id)
        assert await _waits(atelier, workflow_id, run_id) == ("CalculatorTool",)


async def test_a_pause_by_hand_leaves_the_run_in_step_mode(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    async with open_atelier(ScriptedModel([[calculate("c1", "1+1")]], gate=gate)) as atelier:
        workflow_id, run_id = await start(atelier, mode=RunMode.STEPPING)
        await atelier.runs.wait(run_id)
        await atelier.runs.steering.step(run_id)
        await atelier.runs.steering.pause(run_id)
        gate.set()
        await atelier.runs.wait(run_id)
        assert await atelier.stepping.waiting(workflow_id) == ()
        await atelier.runs.steering.resume(run_id)
        assert await _waits(atelier, workflow_id, run_id) == ("CalculatorTool",)
