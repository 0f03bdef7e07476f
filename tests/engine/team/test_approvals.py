"""Approvals before calls run: every decision reaches the model, and has exactly its stated scope."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from atelier_desk.domain.agent import ApprovalMode, ToolMode
from atelier_desk.domain.approval import ApprovalFlags, ApprovalScope, ApprovalSettings, ApprovalStatus
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import ApprovalRequested, ToolCallStarted
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus, WorkflowStatus
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, Recorder, completed
from tests.engine.team.conftest import (
    Cast,
    batch,
    begin,
    bodies,
    calculate,
    call,
    delegate,
    lead,
    spawn,
    team_rows,
    worker,
)

ALL = ApprovalSettings(auto_approve_low=False, flags=ApprovalFlags(tools=True))
"""Every call needs approval."""


async def asked(atelier: Atelier, name: str = "Lead") -> Any:
    """The oldest pending request of an agent, once there is one."""
    async with asyncio.timeout(20):
        while True:
            found = [request for request in await atelier.approvals.pending() if request.agent_name == name]
            if found:
                return found[0]
            await asyncio.sleep(0)


async def test_the_request_names_call_agent_and_reason(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn(prompt="Rhyme on tea.", tools=["CalculatorTool"])], "done"], Helper=["Tea."])
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier, approval="selective")
        event = await seen.until(ChunkType.VALIDATION_REQUIRED)
        row = await atelier.runs.wait(run_id)
        assert row.status is RunStatus.AWAITING_APPROVAL
        assert set(await team_rows(atelier, workflow_id)) == {"Lead"}
        assert {key: event.data[key] for key in ("type", "tool", "operation", "risk_level", "reason", "call_id",
        "pending", "round")} == {
            "type": "sub_agent", "tool": "SpawnAgentTool", "operation": "spawn", "risk_level": "medium",
            "reason": "selective",
            "call_id": "s", "pending": 1, "round": 1,
        }  # fmt: skip
        assert event.data["arguments"]["prompt"] == "Rhyme on tea."
        assert event.data["details"]["prompt_preview"] == "Rhyme on tea."
        assert event.data["details"]["tools"] == ["CalculatorTool"]
        stored = await atelier.repos.workflows.get(workflow_id)
        assert (stored.status, stored.pending_approvals) == (WorkflowStatus.WAITING, 1)
        await atelier.approvals.approve(event.data["validation_id"])
        await completed(atelier, run_id)
        response = await seen.until(ChunkType.VALIDATION_RESPONSE)
        assert (response.data["status"], response.data["decided_by"], response.data["edited"]) == (
            "approved",
            "user",
            False,
        )
        assert (await atelier.repos.workflows.get(workflow_id)).pending_approvals == 0
        with pytest.raises(ConflictError):
            await atelier.approvals.approve(event.data["validation_id"])
    assert cast.result()["report"] == "Tea."


async def test_the_request_names_agents_that_the_model_called_by_their_ids(open_atelier: Opener) -> None:
    script: list[Step] = []
    async with open_atelier(Cast(Lead=script)) as atelier:
        stored = await atelier.agents.save(worker("Archivist"))
        await atelier.agents.save(worker("Porter"))
    cast = Cast(Lead=[[delegate("d", stored.id), batch("b", (stored.id, "Dust the shelves."), ("Porter", "Sleep."))]])
    async with open_atelier(cast) as atelier:
        _workflow, run_id = await begin(atelier, approval="selective")
        await atelier.runs.wait(run_id)
        one, many = await atelier.approvals.pending()
        assert (one.details["target_agent_id"], one.details["target_agent_name"]) == (stored.id, "Archivist")
        assert [(task["agent_id"], task["agent_name"]) for task in many.details["tasks"]] == [
            (stored.id, "Archivist"),
            ("Porter", "Porter"),
        ]


@pytest.mark.parametrize("mode", ApprovalMode)
async def test_sub_agents_work_under_every_mode(open_atelier: Opener, mode: ApprovalMode) -> None:
    """In ``selective`` a sub-agent's start needs approval and its sums do not; in ``manual`` both; in ``auto`` and
    ``plan`` nothing.
    """
    cast = Cast(Lead=[[spawn()], "done"], Helper=[[calculate()], "It is 42."])
    expected = {
        ApprovalMode.AUTO: [],
        ApprovalMode.SELECTIVE: ["SpawnAgentTool"],
        ApprovalMode.MANUAL: ["SpawnAgentTool", "CalculatorTool"],
        ApprovalMode.EDIT: ["SpawnAgentTool"],
        ApprovalMode.PLAN: [],
    }
    async with open_atelier(cast) as atelier:
        await atelier.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
        workflow_id, run_id = await begin(atelier, approval=mode)
        for tool in expected[mode]:
            request = await asked(atelier, "Lead" if tool == "SpawnAgentTool" else "Helper")
            assert (request.tool, request.root_run_id) == (tool, run_id)
            assert [ancestor.agent_name for ancestor in request.lineage] == (
                [] if request.agent_name == "Lead" else ["Lead"]
            )
            await atelier.approvals.approve(request.id)
        await completed(atelier, run_id)
        assert [request.tool for request in await atelier.approvals.list(workflow_id)] == expected[mode]
    assert cast.result()["report"] == "It is 42."


@pytest.mark.parametrize(
    ("own", "parents", "asks"), [("auto", "manual", True), ("manual", "auto", True), ("auto", "auto", False)]
)
async def test_a_delegated_agents_mode_is_the_stricter_one(
    open_atelier: Opener, own: str, parents: str, asks: bool
) -> None:
    cast = Cast(Lead=[[delegate("d", "Poet")], "done"], Poet=[[calculate()], "42"])
    async with open_atelier(cast) as atelier:
        await atelier.settings.update(approvals=ALL)
        await atelier.agents.save(worker("Poet", approval=own))
        _, run_id = await begin(atelier, approval=parents)
        if parents == "manual":
            await atelier.approvals.approve((await asked(atelier)).id)
        if asks:
            await atelier.approvals.approve((await asked(atelier, "Poet")).id)
        await completed(atelier, run_id)
        assert await atelier.approvals.pending() == []
    cast.complete()


async def test_a_sub_agent_gets_an_edited_prompt_and_its_parent_is_informed(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn(prompt="Say yes.")], "done"], Helper=["No."])
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, approval="manual")
        request = await asked(atelier)
        await atelier.approvals.approve(request.id, arguments={**request.arguments, "prompt": "Say no."})
        await atelier.runs.wait(run_id)
    assert cast.last("Helper") == "Say no."
    assert cast.result()["report"] == "No."
    assert cast.result()["arguments_used"]["prompt"] == "Say no."
    assert "user changed the arguments" in cast.result()["note"]


async def test_a_call_through_invoke_tool_is_edited_inside_it(open_atelier: Opener) -> None:
    inner = {"tool_name": "CalculatorTool", "arguments": {"operation": "eval", "expression": "1+1"}}
    cast = Cast(Lead=[[call("invoke_tool", "i", **inner)], "done"])
    async with open_atelier(cast) as atelier:
        await atelier.settings.update(approvals=ALL)
        _, run_id = await begin(atelier, approval="manual", tool_mode=ToolMode.INVOKE)
        request = await asked(atelier)
        assert (request.tool, request.arguments) == ("CalculatorTool", inner["arguments"])
        await atelier.approvals.approve(request.id, arguments={"operation": "eval", "expression": "2+2"})
        await atelier.runs.wait(run_id)
    assert cast.result()["result"] == 4


async def test_a_refusal_reaches_the_model_with_its_reason_and_nothing_ran(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn("one"), calculate("two")], "I do without."], Helper=["never"])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, approval="selective")
        await atelier.approvals.reject((await asked(atelier)).id, "Too expensive.")
        await completed(atelier, run_id)
        assert set(await team_rows(atelier, workflow_id)) == {"Lead"}
        execution = {e.call_id: e.status for e in await atelier.repos.executions.for_runs([run_id])}
        assert execution == {"one": "error", "two": "ok"}
    refused, summed = cast.results()
    assert (refused["success"], refused["code"]) == (False, "rejected")
    assert "Too expensive." in refused["error"]
    assert summed["result"] == 42


async def test_calls_before_the_pending_one_run_and_those_after_it_wait(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[calculate("a", "1+1"), spawn("b"), calculate("c", "2+2")], "done"], Helper=["r"])
    async with open_atelier(cast) as atelier:
        _, run_id = await begin(atelier, approval="selective")
        await atelier.runs.wait(run_id)
        assert [body.call_id for body in await bodies(atelier, run_id, ToolCallStarted)] == ["a"]
        await atelier.approvals.approve((await asked(atelier)).id)
        await atelier.runs.wait(run_id)
        assert [body.call_id for body in await bodies(atelier, run_id, ToolCallStarted)] == ["a", "b", "c"]


async def test_an_approval_for_the_run_covers_later_calls_and_sub_agents_and_no_other_run(
    open_atelier: Opener,
) -> None:
    cast = Cast(
        Lead=[[calculate("a")], [calculate("b")], [spawn()], "done", [calculate("d")], "again"],
        Helper=[[calculate("c")], "r"],
    )
    async with open_atelier(cast) as atelier:
        await atelier.settings.update(approvals=ALL)
        workflow_id, run_id = await begin(atelier, approval="manual")
        await atelier.approvals.approve((await asked(atelier)).id, scope=ApprovalScope.RUN)
        request = await asked(atelier)
        assert request.tool == "SpawnAgentTool"
        await atelier.approvals.approve(request.id)
        await completed(atelier, run_id)
        second = await atelier.runs.send(workflow_id, "More.", agent=lead(approval="manual"))
        request = await asked(atelier)
        assert (request.run_id, request.tool) == (second, "CalculatorTool")
        await atelier.runs.cancel(second)


async def test_an_approval_for_the_run_covers_the_calls_waiting_next_to_it(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn("s1", "One"), spawn("s2", "Two")], "done"], One=["1"], Two=["2"])
    async with open_atelier(cast) as atelier:
        _workflow, run_id = await begin(atelier, approval="selective")
        await atelier.runs.wait(run_id)
        first, second = await atelier.approvals.pending()
        await atelier.approvals.approve(first.id, scope=ApprovalScope.RUN)
        await completed(atelier, run_id)
        assert (await atelier.approvals.get(second.id)).status is ApprovalStatus.APPROVED
    assert [result["report"] for result in cast.results()] == ["1", "2"]


async def test_an_approval_in_a_sub_agent_does_not_cover_its_parent(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], [calculate("mine")], "done"], Helper=[[calculate()], "r"])
    async with open_atelier(cast) as atelier:
        await atelier.settings.update(approvals=ALL)
        _, run_id = await begin(atelier, approval="manual")
        await atelier.approvals.approve((await asked(atelier)).id)
        await atelier.approvals.approve((await asked(atelier, "Helper")).id, scope=ApprovalScope.RUN)
        assert (await asked(atelier)).call_id == "mine"
        await atelier.runs.cancel(run_id)


async def test_a_reused_call_id_inherits_nothing(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[calculate("same", "1+1")], [calculate("same", "2+2")], "done"])
    async with open_atelier(cast) as atelier:
        await atelier.settings.update(approvals=ALL)
        _, run_id = await begin(atelier, approval="manual")
        first = await asked(atelier)
        await atelier.approvals.approve(first.id)
        second = await asked(atelier)
        assert second.id != first.id
        assert second.arguments["expression"] == "2+2"
        await atelier.approvals.reject(second.id)
        await atelier.runs.wait(run_id)
    assert [result["success"] for result in cast.results()] == [True, False]


async def test_a_request_waits_across_a_restart_and_is_decided_once(open_atelier: Opener) -> None:
    async with open_atelier(Cast(Lead=[[spawn()]])) as atelier:
        workflow_id, run_id = await begin(atelier, approval="manual")
        await atelier.runs.wait(run_id)
    again = Cast(Lead=["done"], Helper=["r"])
    async with open_atelier(again) as atelier:
        assert await atelier.runs.recovery.resume_all() == []
        (request,) = await atelier.approvals.pending(workflow_id)
        await atelier.approvals.approve(request.id)
        with pytest.raises(ConflictError):
            await atelier.approvals.reject(request.id)
        await completed(atelier, run_id)
    assert again.result()["report"] == "r"


async def test_an_approval_given_before_a_restart_still_applies(open_atelier: Opener) -> None:
    """The program ends between the decision and the call."""
    reached = asyncio.Event()

    def fault(point: str) -> None:
        if point == "after_commit:approval_decided":
            reached.set()

    async with open_atelier(Cast(Lead=[[spawn()]], Helper=["r"]), fault=fault) as atelier:
        workflow_id, run_id = await begin(atelier, approval="manual")
        request = await asked(atelier)
        deciding = asyncio.create_task(atelier.approvals.approve(request.id))
        await reached.wait()
        await atelier.runs.close()
        await asyncio.gather(deciding, return_exceptions=True)
    again = Cast(Lead=["done"], Helper=["r"])
    async with open_atelier(again) as atelier:
        await atelier.runs.recovery.resume_all()
        await completed(atelier, run_id)
        assert await atelier.approvals.pending(workflow_id) == []


async def test_an_impossible_call_needs_no_approval(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn(prompt=" ")], [call("MemoryTool", "m", operation="list")], [call("nothing", "n")], "done"])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, approval="manual")
        await completed(atelier, run_id)
        assert await atelier.approvals.list(workflow_id) == []
    assert [result["success"] for result in cast.results()] == [False, False, False]


async def test_reading_waiting_and_talking_never_need_approval(open_atelier: Opener) -> None:
    def end(request: Any) -> Step:
        return [call("task_complete", "t", summary="done")]

    cast = Cast(
        Lead=[
            [
                call("SpawnAgentTool", "l", operation="list_children"),
                call("DelegateTaskTool", "a", operation="list_agents"),
            ],
            end,
        ],
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier, approval="manual")
        await completed(atelier, run_id)
        assert await atelier.approvals.list(workflow_id) == []


async def test_one_sub_agent_that_waits_for_approval_does_not_block_the_others(open_atelier: Opener) -> None:
    def by_prompt(request: Any) -> Step:
        results = [json.loads(m.content) for m in request.messages if m.role.value == "tool"]
        if request.messages[1].content == "Ask." and not results:
            return [spawn("deep", "Deep")]
        return "r"

    tasks = [{"agent_id": "Poet", "prompt": text} for text in ("Ask.", "Go.", "Go.")]
    cast = Cast(
        Lead=[[call("ParallelTasksTool", "b", operation="execute_batch", tasks=tasks)], "done"],
        Poet=ScriptedModel([by_prompt] * 4),
        Deep=["deep"],
    )
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        await atelier.agents.save(worker("Poet", tools=("SpawnAgentTool",), approval="manual"))
        workflow_id, run_id = await begin(atelier, approval="auto")
        request = await asked(atelier, "Poet")
        async with asyncio.timeout(20):
            while sum(row.status is RunStatus.COMPLETED for row in await atelier.repos.runs.list(workflow_id)) < 2:
                await asyncio.sleep(0)
        # A workflow that waits for nobody continues in parallel.
        cast.models["Lead"]._steps.insert(0, "other")
        _, other = await begin(atelier, "Else.", approval="auto")
        await completed(atelier, other)
        await atelier.approvals.approve(request.id)
        await completed(atelier, run_id)
        assert len([e for e in seen.events if e.chunk_type is ChunkType.VALIDATION_REQUIRED]) == 1
    assert cast.result()["completed"] == 3


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (delegate("d", "Nobody"), "unknown_agent"),
        (batch("b", ("Ada", "One."), ("Nobody", "Two.")), "unknown_agent"),
        (spawn(tools=["Hammer"]), "unknown_tool"),
    ],
)
async def test_nobody_is_asked_about_sub_agents_that_cannot_be_started(
    open_atelier: Opener, wrong: Any, code: str
) -> None:
    cast = Cast(Lead=[[wrong], "Then not."])
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Ada"))
        _, run_id = await begin(atelier, approval="selective")
        await completed(atelier, run_id)
        assert await bodies(atelier, run_id, ApprovalRequested) == []
        [started] = await bodies(atelier, run_id, ToolCallStarted)
    assert cast.result()["code"] == code
    # It was not allowed either: after a kill it is not run again.
    assert not started.idempotent
