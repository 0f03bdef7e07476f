"""Imported runs that were paused or waited for a step: they are paused by hand, and a person continues or ends them."""

from __future__ import annotations

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.run import PauseReason
from atelier_desk.domain.workflow import RunMode, RunStatus, WorkflowStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener
from tests.engine.runs.sample_runs import start
from tests.helpers.runs_without_driver import agent
from tests.helpers.scripted_teams import calculate

STEPS: list[Step] = [[calculate("c1", "1+1")], [calculate("c2", "2+2")], "Both are done."]


async def _paused(atelier: Atelier, reason: PauseReason) -> str:
    """Return a workflow whose run was paused for this reason."""
    mode = RunMode.STEPPING if reason is PauseReason.STEP else RunMode.AUTO
    most = 1 if reason is PauseReason.LIMIT else None
    workflow_id, run_id = await start(atelier, mode=mode, agent=agent(budget=Budget(max_tool_calls=most)))
    if reason is PauseReason.USER:
        await atelier.runs.steering.pause(run_id)
    elif reason is PauseReason.INTERRUPTED:
        await atelier.runs.live.interrupt(run_id, "command")
    await atelier.runs.wait(run_id)
    handle = atelier.runs.state_of(run_id)
    assert handle is not None
    assert handle.current.pause is reason
    return workflow_id


@pytest.mark.parametrize("reason", [each for each in PauseReason if each is not PauseReason.LOOP])
async def test_it_is_paused_by_hand_and_continues_or_ends(open_atelier: Opener, reason: PauseReason) -> None:
    async with open_atelier(ScriptedModel([*STEPS, *STEPS])) as atelier:
        exported = await atelier.workflows.export(await _paused(atelier, reason))
        copies = [(await atelier.workflows.import_(exported, "rename")).workflow for _ in range(2)]
        for each in copies:
            assert each.status is WorkflowStatus.PAUSED
            assert await atelier.stepping.waiting(each.id) == ()
            held = await atelier.stepping.held(each.id)
            assert held is not None, "the window offers to continue it"
        await atelier.workflows.stop(copies[0].id)
        assert (await atelier.workflows.get(copies[0].id)).status is WorkflowStatus.IDLE
        assert [run.status for run in await atelier.repos.runs.list(copies[0].id)] == [RunStatus.CANCELLED]
        run_id = await atelier.workflows.active(copies[1].id)
        assert run_id is not None
        await atelier.runs.steering.resume(run_id, finish=reason is PauseReason.LIMIT)
        await atelier.runs.wait(run_id)
        assert bool(await atelier.stepping.waiting(copies[1].id)) is (reason is PauseReason.STEP)
