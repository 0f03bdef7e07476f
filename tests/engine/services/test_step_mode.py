"""The pending step of a stepping run, as shown to people."""

from __future__ import annotations

from pathlib import Path

from atelier_desk.domain.approval import ApprovalSettings
from atelier_desk.domain.workflow import RunMode, WorkflowStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.step_mode import WaitingStep
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

SUM = tool_call("CalculatorTool", "c1", operation="eval", expression="6*7")


async def test_the_next_step_is_named_even_after_a_restart(tmp_path: Path) -> None:
    model = ScriptedModel([[SUM], "It is 42."])
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        made = await engine.workflows.create("First")
        run_id = await engine.runs.send(made.id, "hello", agent=agent(), mode=RunMode.STEPPING)
        await engine.runs.wait(run_id)
        assert await engine.stepping.waiting(made.id) == (WaitingStep(run_id, run_id, "Tester", 0),)
        await engine.runs.steering.step(run_id)
        await engine.runs.wait(run_id)
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        assert await engine.stepping.waiting(made.id) == (
            WaitingStep(run_id, run_id, "Tester", 0, ("CalculatorTool",), ("Calculator",)),
        )


async def test_a_workflow_whose_run_waits_for_a_step_is_paused(tmp_path: Path) -> None:
    """Also once its approvals are decided: only then does anything of it wait in the inbox."""
    other = SUM.model_copy(update={"id": "c2"})
    model = ScriptedModel([[SUM, other], "It is 42."])
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        await engine.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
        made = await engine.workflows.create("First")

        async def status() -> WorkflowStatus:
            return (await engine.workflows.get(made.id)).status

        run_id = await engine.runs.send(made.id, "hello", agent=agent(approval="manual"), mode=RunMode.STEPPING)
        await engine.runs.wait(run_id)
        assert await status() is WorkflowStatus.PAUSED
        await engine.runs.steering.step(run_id)
        await engine.runs.wait(run_id)
        await engine.runs.steering.step(run_id)
        await engine.runs.wait(run_id)
        first, second = await engine.approvals.pending(made.id)
        await engine.approvals.approve(first.id)
        await engine.runs.wait(run_id)
        assert await status() is WorkflowStatus.WAITING
        await engine.approvals.approve(second.id)
        await engine.runs.wait(run_id)
        assert await status() is WorkflowStatus.PAUSED
        assert len(await engine.stepping.waiting(made.id)) == 1


async def test_a_run_paused_while_its_approval_waits_says_so_until_that_is_decided(tmp_path: Path) -> None:
    """As the inbox, which lists the approval; afterwards nothing works until the run is continued."""
    model = ScriptedModel([[SUM], "It is 42."])
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        await engine.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
        made = await engine.workflows.create("First")

        async def status() -> WorkflowStatus:
            return (await engine.workflows.get(made.id)).status

        run_id = await engine.runs.send(made.id, "hello", agent=agent(approval="manual"))
        await engine.runs.wait(run_id)
        await engine.runs.steering.pause(run_id)
        assert await status() is WorkflowStatus.WAITING
        (asked,) = await engine.approvals.pending(made.id)
        await engine.approvals.approve(asked.id)
        await engine.runs.wait(run_id)
        assert await status() is WorkflowStatus.PAUSED
        await engine.runs.steering.resume(run_id)
        await engine.runs.wait(run_id)
        assert await status() is WorkflowStatus.COMPLETED


async def test_nothing_is_pending_in_an_idle_or_another_workflow(tmp_path: Path) -> None:
    model = ScriptedModel(["Hello."])
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        made, other = await engine.workflows.create("First"), await engine.workflows.create("Second")
        run_id = await engine.runs.send(made.id, "hello", agent=agent(), mode=RunMode.STEPPING)
        await engine.runs.wait(run_id)
        assert await engine.stepping.waiting(other.id) == ()
        assert await engine.stepping.from_pause(run_id) is False
        await engine.runs.steering.resume(run_id, mode=RunMode.AUTO)
        await engine.runs.wait(run_id)
        assert await engine.stepping.waiting(made.id) == ()


async def test_a_paused_run_can_be_stepped(tmp_path: Path) -> None:
    model = ScriptedModel([[SUM], "It is 42."])
    async with Atelier.open(tmp_path, model_factory=lambda _agent: model) as engine:
        made = await engine.workflows.create("First")
        run_id = await engine.runs.send(made.id, "hello", agent=agent())
        await engine.runs.steering.pause(run_id)
        await engine.runs.wait(run_id)
        assert await engine.stepping.waiting(made.id) == ()
        assert await engine.stepping.from_pause(run_id) is True
        await engine.runs.wait(run_id)
        waiting = await engine.stepping.waiting(made.id)
        assert [step.run_id for step in waiting] == [run_id]
