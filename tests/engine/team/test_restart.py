"""The program ends in the middle and restarts: every sub-agent ends exactly once, and no report is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.domain.events.run import (
    ChildFinished,
    ChildStarted,
    LimitKind,
    PauseReason,
    ReplyCutOff,
    RunFinished,
    RunResumed,
)
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, Recorder, stored_status, wait_for_event
from tests.engine.team.conftest import (
    Cast,
    Stuck,
    answering,
    ask_parent,
    ask_user,
    batch,
    begin,
    bodies,
    calculate,
    plan,
    spawn,
    team_rows,
    worker,
)
from tests.helpers.manual_clock import ManualClock


async def ends_once(atelier: Atelier, workflow_id: str) -> None:
    """Check that every run of the workflow has ended once, and that its parent knows it once."""
    rows = await atelier.repos.runs.list(workflow_id)
    for row in rows:
        assert row.status.final, f"{row.agent_name} is {row.status}"
        assert len(await bodies(atelier, row.id, RunFinished)) == 1
        started = {body.child_id for body in await bodies(atelier, row.id, ChildStarted)}
        ended = [body.child_id for body in await bodies(atelier, row.id, ChildFinished)]
        assert sorted(ended) == sorted(set(ended))
        assert started == {child.id for child in rows if child.parent_run_id == row.id}
        assert started <= set(ended)
    assert atelier.runs.teams.alive == {}


async def finish(atelier: Atelier, workflow_id: str) -> None:
    await atelier.runs.recovery.resume_all()
    head = (await atelier.repos.workflows.get(workflow_id)).head_run_id or ""
    async with asyncio.timeout(20):
        await atelier.runs.wait(head)
    await ends_once(atelier, workflow_id)


async def test_an_interrupted_batch_continues_where_it_was(open_atelier: Opener) -> None:
    poet, painter = Stuck(("Half a verse",)), Stuck(("Half a picture",))
    cast = Cast(
        Lead=[[batch("b", ("Poet", "One."), ("Painter", "Two."), ("Quick", "Three."))]],
        Poet=poet,
        Painter=painter,
        Quick=["fast"],
    )
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        for name in ("Poet", "Painter", "Quick"):
            await atelier.agents.save(worker(name))
        workflow_id, _ = await begin(atelier)
        await seen.until(ChunkType.SUB_AGENT_COMPLETE)
        await asyncio.gather(poet.begun.wait(), painter.begun.wait())
    assert (poet.open, painter.open) == (0, 0)
    again = Cast(Lead=["done"], Poet=["A verse."], Painter=["A picture."])
    async with open_atelier(again) as atelier:
        assert (await team_rows(atelier, workflow_id))["Quick"].status is RunStatus.COMPLETED
        await finish(atelier, workflow_id)
    again.complete()
    assert [(entry["name"], entry["report"]) for entry in again.result()["results"]] == [
        ("Poet", "A verse."),
        ("Painter", "A picture."),
        ("Quick", "fast"),
    ]
    assert "**Completed**: 3 / 3" in again.result()["aggregated_report"]


WAITS: dict[str, tuple[list[Step], list[Step]]] = {
    "user": ([[ask_user()]], ["Blue it is."]),
    "parent": ([[ask_parent()]], ["Blue it is."]),
    "approval": ([[spawn("t", "Deep")]], ["Blue it is."]),
    "children": ([[spawn("t", "Deep")]], ["Blue it is."]),
}


@pytest.mark.parametrize("waits", WAITS)
async def test_every_kind_of_wait_survives(open_atelier: Opener, waits: str) -> None:
    before, after = WAITS[waits]
    deep = Stuck(("Half",))
    cast = Cast(Lead=[[spawn()], Stuck(())] if waits != "parent" else [[spawn()]], Helper=before, Deep=deep)
    reached: dict[str, Callable[[Recorder], Any]] = {
        "user": lambda seen: seen.until(ChunkType.USER_QUESTION_START),
        "parent": lambda seen: seen.until(ChunkType.SUB_AGENT_QUESTION),
        "children": lambda seen: deep.begun.wait(),
    }
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, _run_id = await begin(atelier, approval="manual" if waits == "approval" else "auto")
        if waits == "approval":
            await seen.until(ChunkType.VALIDATION_REQUIRED)
            await atelier.approvals.approve((await atelier.approvals.pending())[0].id)
            async with asyncio.timeout(10):
                while not [r for r in await atelier.approvals.pending() if r.agent_name == "Helper"]:
                    await asyncio.sleep(0)
        else:
            await reached[waits](seen)
    again = Cast(
        Lead=[answering("Blue."), "done"] if waits == "parent" else ["done"], Helper=after, Deep=["deep report"]
    )
    async with open_atelier(again) as atelier:
        await atelier.runs.recovery.resume_all()
        if waits == "user":
            (question,) = await atelier.questions.pending()
            assert question.agent_name == "Helper"
            await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="blue")
        elif waits == "approval":
            (request,) = await atelier.approvals.pending()
            assert [ancestor.agent_name for ancestor in request.lineage] == ["Lead"]
            await atelier.approvals.approve(request.id)
        await finish(atelier, workflow_id)
    if waits in ("user", "parent"):
        del again.models["Deep"]
    again.complete()
    assert "Blue it is." in str(again.results())


async def test_a_plan_continues_with_its_current_stage(open_atelier: Opener) -> None:
    second = Stuck(())
    actions = [{"description": text} for text in ("One", "Two", "Three")]
    cast = Cast(Lead=[[plan("p", *actions, strategy="sequential")]], Action_1=["first"], Action_2=second)
    async with open_atelier(cast) as atelier:
        workflow_id, _ = await begin(atelier)
        await wait_for_event(second.begun)
    again = Cast(Lead=["done"], Action_2=["second"], Action_3=["third"])
    async with open_atelier(again) as atelier:
        await finish(atelier, workflow_id)
    again.complete()
    assert [entry["result"] for entry in again.result()["results"]] == ["first", "second", "third"]


async def test_partial_text_is_stored_and_the_time_in_between_is_not_working_time(
    open_atelier: Opener,
) -> None:
    clock = ManualClock()
    stuck = Stuck(("Half ", "a verse"))
    cast = Cast(Lead=[[spawn(budget={"max_seconds": 100})]], Helper=stuck)
    async with open_atelier(cast, clock=clock) as atelier:
        workflow_id, _ = await begin(atelier)
        await wait_for_event(stuck.begun)
        child = (await team_rows(atelier, workflow_id))["Helper"]
        await atelier.repos.journal.save_partial(child.id, workflow_id, "m", content="Half a verse", reasoning="")
    await clock.advance(3600)
    again = Cast(Lead=["done"], Helper=["A whole one."])
    async with open_atelier(again, clock=clock) as atelier:
        await finish(atelier, workflow_id)
        cut, resumed = await bodies(atelier, child.id, RunResumed, ReplyCutOff)
        assert isinstance(resumed, RunResumed)
        assert isinstance(cut, ReplyCutOff)
        assert cut.content == "Half a verse"
        assert (await atelier.repos.runs.get(child.id)).elapsed_ms < 1000
    assert again.result()["report"] == "A whole one."


async def test_an_individually_paused_run_stays_paused_and_the_others_continue(open_atelier: Opener) -> None:
    free = Stuck(("b",))
    cast = Cast(Lead=[[batch("b", ("Held", "x"), ("Free", "y"))]], Held=[[calculate()], "no"], Free=free)
    cast.models["Held"].gate = gate = asyncio.Event()
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        for name in ("Held", "Free"):
            await atelier.agents.save(worker(name))
        workflow_id, run_id = await begin(atelier)
        await wait_for_event(free.begun)
        child = (await team_rows(atelier, workflow_id))["Held"]
        await atelier.runs.steering.pause(child.id)
        gate.set()
        await seen.until(ChunkType.RUN_STATUS, status="paused")
    again = Cast(Lead=["done"], Held=["held"], Free=["free"])
    async with open_atelier(again) as atelier:
        await atelier.runs.recovery.resume_all()
        async with asyncio.timeout(20):
            await atelier.runs.wait(run_id)
        rows = await team_rows(atelier, workflow_id)
        assert {name: row.status.value for name, row in rows.items()} == {
            "Lead": "awaiting_children",
            "Held": "paused",
            "Free": "completed",
        }
        await atelier.runs.steering.resume(child.id)
        await finish(atelier, workflow_id)
    again.complete()


async def test_a_paused_team_stays_paused(open_atelier: Opener) -> None:
    """The pause of a sub-agent in the middle of a step had not been stored when the program ended."""
    stuck = Stuck(("a",))
    cast = Cast(Lead=[[spawn()]], Helper=stuck)
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await wait_for_event(stuck.begun)
        await atelier.runs.steering.pause(run_id)
        assert (await team_rows(atelier, workflow_id))["Lead"].status is RunStatus.PAUSED
    again = Cast(Lead=["done"], Helper=["report"])
    async with open_atelier(again) as atelier:
        assert await atelier.runs.recovery.resume_all() == []
        assert again.models["Helper"].requests == []
        await atelier.runs.steering.resume(run_id)
        await finish(atelier, workflow_id)
    again.complete()


async def test_a_limit_of_a_sub_agent_still_waits_for_its_owner(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn(budget={"max_tool_calls": 1})]], Helper=[[calculate("a", "1+1")], [calculate("b", "2+2")]])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        child = (await team_rows(atelier, workflow_id))["Helper"]
        assert child.status is RunStatus.PAUSED
    again = Cast(Lead=["done"], Helper=["report"])
    async with open_atelier(again) as atelier:
        await atelier.runs.recovery.resume_all()
        assert await stored_status(atelier, child.id) is RunStatus.PAUSED
        live = await atelier.runs.live.load(child.id)
        assert live.handle.current.pause is PauseReason.LIMIT
        await atelier.runs.steering.resume(child.id, raise_limits={LimitKind.TOOL_CALLS: 1})
        await finish(atelier, workflow_id)
    again.complete()


@pytest.mark.parametrize("point", ["children_planned", "child_asked", "children_joined", "child_finished"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_restart_at_every_commit_of_a_team(open_atelier: Opener, when: str, point: str) -> None:
    reached = asyncio.Event()

    def fault(at: str) -> None:
        if at == f"{when}_commit:{point}":
            reached.set()

    def script(request: Any) -> Step:
        results = [m for m in request.messages if m.role.value == "tool"]
        if not results:
            return [ask_parent()]
        return "A report."

    def leader(request: Any) -> Step:
        text = request.messages[-1].content
        if '"waiting_for_you"' in text:
            return answering("Yes.")(request)
        return "done" if any(m.role.value == "tool" for m in request.messages) else [spawn()]

    cast = Cast(Lead=[leader] * 9, Helper=[script] * 9)
    async with open_atelier(cast, fault=fault) as atelier:
        workflow_id, _ = await begin(atelier)
        await wait_for_event(reached)
    again = Cast(Lead=[leader] * 9, Helper=[script] * 9)
    async with open_atelier(again) as atelier:
        await finish(atelier, workflow_id)
        rows = await team_rows(atelier, workflow_id)
        assert {row.status for row in rows.values()} == {RunStatus.COMPLETED}
        assert len(rows) == 2
    model: ScriptedModel = again.models["Lead"]
    if model.requests:
        assert "A report." in str(again.results())
