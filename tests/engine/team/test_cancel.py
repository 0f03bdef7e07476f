"""Stopping reaches all descendants: every stream is closed, every run has ended, and their work and usage are
stored.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atelier_desk.domain.events.run import ChildFinished, RunFinished
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch, RunMode, RunStatus, WorkflowStatus
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, Recorder, completed, wait_for_event
from tests.engine.runs.sample_runs import Blocking
from tests.engine.team.conftest import (
    TOOLS,
    Cast,
    Stuck,
    ask_parent,
    ask_user,
    begin,
    bodies,
    calculate,
    call,
    lead,
    spawn,
    team_rows,
)


async def until_begun(*models: Stuck) -> None:
    async with asyncio.timeout(20):
        await asyncio.gather(*(model.begun.wait() for model in models))


def deep_team() -> tuple[Cast, list[Stuck]]:
    """A root with 3 sub-agents that each have 4: 15 descendants, the 12 lowest in the middle of a reply."""
    bottom = {f"Leaf_{n}_{m}": Stuck(("So ", "far")) for n in range(3) for m in range(4)}
    middle: dict[str, list[Step]] = {
        f"Middle_{n}": [[spawn(f"m{m}", f"Leaf {n} {m}", wait=False) for m in range(4)], [calculate()], "no"]
        for n in range(3)
    }
    stuck = {f"Middle_{n}": Stuck(("Mid",)) for n in range(3)}

    class Turns:
        def __init__(self, name: str) -> None:
            self._models: list[ScriptedModel | Stuck] = [ScriptedModel(middle[name][:1]), stuck[name]]

        def stream(self, request: Any) -> Any:
            return self._models.pop(0).stream(request)

    root = [[spawn(f"s{n}", f"Middle {n}") for n in range(3)], "no"]
    return Cast(Lead=root, **bottom, **{name: Turns(name) for name in middle}), [*bottom.values(), *stuck.values()]


async def test_cancelling_the_root_closes_every_stream_at_every_depth(open_atelier: Opener) -> None:
    cast, models = deep_team()
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await until_begun(*models)
        rows = await team_rows(atelier, workflow_id)
        assert (len(rows), max(row.depth for row in rows.values())) == (16, 2)
        await atelier.runs.cancel(run_id)
        rows = await team_rows(atelier, workflow_id)
        assert {row.status for row in rows.values()} == {RunStatus.CANCELLED}
        assert [model.open for model in models] == [0] * 15
        assert (await atelier.repos.workflows.get(workflow_id)).status is WorkflowStatus.IDLE
        assert atelier.runs.live.alive.get(workflow_id) is None
        assert atelier.runs.teams.alive == {}
        for row in rows.values():
            assert len(await bodies(atelier, row.id, RunFinished)) == 1
        # Everybody learned of the ends below, each with its text until then.
        ends = [end for row in rows.values() for end in await bodies(atelier, row.id, ChildFinished)]
        assert len(ends) == 15
        assert sorted(end.report for end in ends) == ["Mid"] * 3 + ["So far"] * 12
        messages = await atelier.repos.messages.page(workflow_id)
        assert sum(message.kind == "cut_off" for message in messages) == 15


async def test_a_tool_of_a_sub_agent_is_stopped_with_its_root(open_atelier: Opener) -> None:
    tool = Blocking()
    cast = Cast(Lead=[[spawn()], "no"], Helper=[[call("blocking", "h")], "no"])
    async with open_atelier(cast) as atelier:
        atelier.registry.register(tool)
        workflow_id, run_id = await begin(atelier, tools=(*TOOLS, "blocking"))
        await wait_for_event(tool.running)
        await atelier.runs.cancel(run_id)
        rows = await team_rows(atelier, workflow_id)
        assert tool.cancelled
        (execution,) = await atelier.repos.executions.for_runs([rows["Helper"].id])
        assert execution.status == "cancelled"


async def test_usage_of_descendants_counts_for_the_stopped_run(open_atelier: Opener) -> None:
    """A grandchild that is stopped together with its parent: its usage is in what the root is told about its
    child.
    """
    stuck = Stuck()

    class Deep:
        def __init__(self) -> None:
            self._models: list[ScriptedModel | Stuck] = [ScriptedModel([[calculate()]]), stuck]

        def stream(self, request: Any) -> Any:
            return self._models.pop(0).stream(request)

    cast = Cast(Lead=[[spawn("s", "Middle")], "told"], Middle=[[spawn("t", "Deep")], "no"], Deep=Deep())
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await until_begun(stuck)
        await atelier.runs.cancel((await team_rows(atelier, workflow_id))["Middle"].id)
        await completed(atelier, run_id)
        (end,) = await bodies(atelier, run_id, ChildFinished)
        assert end.spent.tool_calls == 2
        assert end.spent.usage.tokens_output == 16
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.current.total.usage.tokens_output == 16 + 16


@pytest.mark.parametrize("waits", ["user", "parent", "approval", "paused"])
async def test_a_waiting_sub_agent_is_stopped_like_an_active_one(open_atelier: Opener, waits: str) -> None:
    asked = {
        "user": [ask_user()],
        "parent": [ask_parent()],
        "approval": [spawn("deep", "Deep")],
        "paused": [calculate()],
    }[waits]
    cast = Cast(Lead=[[spawn()], "no"], Helper=[asked, "no"])
    mode = {"approval": "manual"}.get(waits, "auto")
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        config = lead(approval=mode) if waits != "paused" else lead()
        workflow = await atelier.workflows.create()
        run_id = await atelier.runs.send(
            workflow.id, "Work.", agent=config, mode=RunMode.STEPPING if waits == "paused" else RunMode.AUTO
        )
        if waits == "approval":
            await seen.until(ChunkType.VALIDATION_REQUIRED)
            await atelier.approvals.approve((await atelier.approvals.pending())[0].id)
            await seen.until(ChunkType.VALIDATION_REQUIRED, pending=1, operation="spawn")
            await seen.until(ChunkType.SUB_AGENT_START)
            async with asyncio.timeout(10):
                while not any(r.agent_name == "Helper" for r in await atelier.approvals.pending()):
                    await asyncio.sleep(0)
        elif waits == "paused":
            await atelier.runs.wait(run_id)
            for _ in range(2):
                await atelier.runs.steering.step(run_id)
                await atelier.runs.wait(run_id)
        else:
            await seen.until(ChunkType.RUN_STATUS, status=f"awaiting_{waits}")
            cast.models["Lead"].gate = asyncio.Event()
        row = (await team_rows(atelier, workflow.id))["Helper"]
        assert not row.status.final
        await atelier.runs.cancel(run_id)
        rows = await team_rows(atelier, workflow.id)
        assert {row.status for row in rows.values()} == {RunStatus.CANCELLED}
        stored = await atelier.repos.workflows.get(workflow.id)
        assert (stored.status, stored.pending_questions, stored.pending_approvals) == (WorkflowStatus.IDLE, 0, 0)
        assert await atelier.questions.pending() == []
        assert await atelier.approvals.pending() == []


async def test_a_stopped_sub_agents_question_is_closed_and_its_parent_continues(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], "Without it, then."], Helper=[[ask_user()], "no"])
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.USER_QUESTION_START)
        await atelier.runs.cancel((await team_rows(atelier, workflow_id))["Helper"].id)
        await completed(atelier, run_id)
        stored = await atelier.repos.workflows.get(workflow_id)
        assert (stored.status, stored.pending_questions) == (WorkflowStatus.COMPLETED, 0)
    assert (cast.result()["success"], cast.result()["code"]) == (False, "cancelled")


async def test_a_message_that_ends_the_turn_ends_the_team(open_atelier: Opener) -> None:
    stuck = Stuck()
    cast = Cast(Lead=[[spawn()], "Something new."], Helper=stuck)
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await until_begun(stuck)
        second = await atelier.runs.send(workflow_id, "Forget it.", agent=lead(), strategy=Dispatch.TERMINATE)
        assert second != run_id
        await completed(atelier, second)
        rows = await atelier.repos.runs.list(workflow_id)
        assert [row.status.value for row in rows] == ["cancelled", "cancelled", "completed"]
    assert stuck.open == 0


async def test_finishing_stops_all_background_work_in_parallel(open_atelier: Opener) -> None:
    """Each stream takes its time to close, here until the other one closes too: none keeps working until it is its
    turn to be stopped.
    """
    both = asyncio.Barrier(2)

    class Lingering(Stuck):
        async def stream(self, request: Any) -> Any:
            try:
                async for delta in super().stream(request):
                    yield delta
            finally:
                await both.wait()

    first, second = Lingering(), Lingering()
    both_begin = [spawn("a", "One", wait=False), spawn("b", "Two", wait=False)]
    cast = Cast(Lead=[both_begin, "Wait.", [call("task_complete", "t", summary="Enough.")]], One=first, Two=second)
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await until_begun(first, second)
        await atelier.runs.steering.message(run_id, "Enough now.")
        async with asyncio.timeout(10):
            await completed(atelier, run_id)
        rows = await team_rows(atelier, workflow_id)
        assert (rows["One"].status, rows["Two"].status) == (RunStatus.CANCELLED, RunStatus.CANCELLED)


async def test_a_sub_agent_that_ends_while_being_stopped_is_reported_to_its_parent(
    open_atelier: Opener,
) -> None:
    """Its end is being committed when the stop arrives: the end is valid, and its parent continues."""
    cast = Cast(Lead=[[spawn()], "done"], Helper=["report"])
    caught: list[asyncio.Task[None]] = []
    atelier: Atelier

    def fault(point: str) -> None:
        if point == "before_commit:child_finished" and not caught:
            run_id = next(
                row for row in atelier.runs.live._runs.values() if row.handle.current.depth == 1
            ).handle.run_id
            caught.append(asyncio.ensure_future(atelier.runs.cancel(run_id)))

    async with open_atelier(cast, fault=fault) as atelier:
        workflow_id, run_id = await begin(atelier)
        async with asyncio.timeout(20):
            await completed(atelier, run_id)
            await caught[0]
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.COMPLETED
        assert atelier.runs.teams.alive == {}
    assert cast.result()["report"] == "report"


async def test_a_failed_sub_agents_own_background_work_is_stopped(open_atelier: Opener) -> None:
    stuck = Stuck()
    cast = Cast(
        Lead=[[spawn("s", "Middle")], "done"],
        Middle=[[spawn("t", "Deep", wait=False)], RuntimeError("it fell over")],
        Deep=stuck,
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        async with asyncio.timeout(20):
            await completed(atelier, run_id)
        rows = await team_rows(atelier, workflow_id)
        assert (rows["Middle"].status, rows["Deep"].status) == (RunStatus.ERROR, RunStatus.CANCELLED)
        assert len(await bodies(atelier, rows["Deep"].id, RunFinished)) == 1
        assert atelier.runs.teams.alive == {}
    assert stuck.open == 0
    assert "it fell over" in cast.result()["error"]


async def test_a_sub_agent_that_starts_while_all_are_stopped_is_stopped_too(open_atelier: Opener) -> None:
    """Three generations down a start is being committed when the root is stopped, so nobody knows of it yet."""
    stuck = Stuck()
    cast = Cast(
        Lead=[[spawn("s", "Middle")], "no"],
        Middle=[[spawn("t", "Deep")], "no"],
        Deep=[[spawn("u", "Leaf")], "no"],
        Leaf=stuck,
    )
    stopping: list[asyncio.Task[None]] = []
    atelier: Atelier

    def fault(point: str) -> None:
        root = (
            next((run for run in atelier.runs.live._runs.values() if run.handle.current.depth == 0), None)
            if starts
            else None
        )
        if point == "before_commit:user_message":
            starts.append(point)
            if len(starts) == 4 and root is not None:
                stopping.append(asyncio.ensure_future(atelier.runs.cancel(root.handle.run_id)))

    starts: list[str] = []
    async with open_atelier(cast, fault=fault) as atelier:
        workflow_id, run_id = await begin(atelier)
        async with asyncio.timeout(20):
            await atelier.runs.wait(run_id)
            await stopping[0]
        rows = await team_rows(atelier, workflow_id)
        assert {name: row.status.value for name, row in rows.items()} == dict.fromkeys(
            ("Lead", "Middle", "Deep", "Leaf"), "cancelled"
        )
        assert atelier.runs.teams.alive == {}
    assert stuck.open == 0
