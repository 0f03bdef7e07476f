"""Interrupted runs: by Ctrl-C in a command, by the end of the program, by a kill."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import PauseReason, ReplyCutOff, RunPaused, RunResumed
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch, RunMode, RunStatus, WorkflowStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import RunHandle, run_events
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.runs.turn_stream import standing
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import (
    Opener,
    Recorder,
    completed,
    create_workflow,
    exported_workflow,
    send_and_wait,
    stored_status,
    wait_for_event,
)
from tests.engine.team.conftest import Cast, Stuck, batch, begin, bodies, calculate, team_rows, worker
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import agent


async def at_work(atelier: Atelier, **options: Any) -> tuple[str, str, Recorder]:
    """A run in the middle of its answer."""
    seen = Recorder(atelier)
    workflow_id = await create_workflow(atelier, "w")
    run_id = await atelier.runs.send(workflow_id, "go", agent=agent(), **options)
    await seen.until(ChunkType.TOKEN)
    return workflow_id, run_id, seen


def stuck() -> ScriptedModel:
    return ScriptedModel(["an answer that never ends"], gate=asyncio.Event())


async def killed(atelier: Atelier) -> None:
    """Closing writes nothing about runs, as after a kill."""

    async def nothing(*given: object) -> None:
        return None

    atelier.runs.live.mark_interrupted = nothing  # type: ignore[assignment]


async def ended_by(atelier: Atelier, run_id: str) -> list[str | None]:
    return [body.ended for body in await bodies(atelier, run_id, RunPaused)]


async def test_an_interrupted_run_keeps_the_partial_answer_and_continues(open_atelier: Opener) -> None:
    model = ScriptedModel(["an answer that never ends", "Done."], gate=asyncio.Event())
    async with open_atelier(model) as atelier:
        workflow_id, run_id, seen = await at_work(atelier)
        await atelier.runs.live.interrupt(run_id)
        row = await atelier.repos.runs.get(run_id)
        assert row.status is RunStatus.INTERRUPTED
        assert not row.status.final
        assert (await atelier.workflows.get(workflow_id)).status is WorkflowStatus.INTERRUPTED
        assert atelier.runs.live.alive.get(workflow_id) == run_id
        assert seen.events[-1].data == {"status": "interrupted", "ended": "command"}
        assert (await standing(atelier, run_id)).data == {"status": "interrupted"}
        [cut] = await bodies(atelier, run_id, ReplyCutOff)
        assert "an answer".startswith(cut.content[:9])
        [told] = [
            entry.message
            for entry in await atelier.workflows.transcript(workflow_id)
            if entry.message.kind == "run_interrupted"
        ]
        assert told.details == {"ended": "command"}
        assert model.gate is not None
        model.gate.set()
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)
        assert (await atelier.workflows.get(workflow_id)).status is WorkflowStatus.COMPLETED


async def test_the_end_of_the_program_is_recorded_and_the_next_start_continues(open_atelier: Opener) -> None:
    async with open_atelier(stuck()) as atelier:
        _, run_id, _ = await at_work(atelier)
    async with open_atelier(["here"]) as atelier:
        assert await ended_by(atelier, run_id) == ["program"]
        assert await stored_status(atelier, run_id) is RunStatus.INTERRUPTED
        assert await atelier.runs.recovery.resume_all() == [run_id]
        await completed(atelier, run_id)


@pytest.mark.parametrize("how", ["program", "killed", "command", "next_start"])
async def test_opening_the_window_continues_only_what_its_person_chose(open_atelier: Opener, how: str) -> None:
    """A run costs money: earlier, the next start continued every run that the program's end had interrupted."""
    async with open_atelier(stuck()) as atelier:
        _, run_id, _ = await at_work(atelier)
        assert await atelier.runs.at_work() == {run_id: "w"}
        if how == "next_start":
            await atelier.runs.continue_at_start()
        elif how == "killed":
            await killed(atelier)
        elif how == "command":
            await atelier.runs.live.interrupt(run_id, "command")
    model = ScriptedModel(["here"])
    async with open_atelier(model) as atelier:
        await atelier.resume_pending()
        assert await ended_by(atelier, run_id) == [how]
        if how == "next_start":
            await completed(atelier, run_id)
        else:
            assert await stored_status(atelier, run_id) is RunStatus.INTERRUPTED
            assert await atelier.runs.at_work() == {}
            assert model.requests == []


KILLED_AT = (
    "model_replied",
    "children_planned",
    "child_started",
    "tool_call_started",
    "tool_call_finished",
    "run_finished",
    "child_finished",
)


@pytest.mark.parametrize("at", KILLED_AT)
async def test_wherever_a_team_is_killed_opening_the_window_costs_nothing(
    open_atelier: Opener, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the plan of its sub-agents and their start a run waited for nobody: earlier, the next start
    continued it.
    """
    cast = Cast(Lead=[[batch("b", ("Poet", "One."))], "Done."], Poet=[[calculate("k")], "A verse."])
    async with open_atelier(cast) as atelier:
        await atelier.agents.save(worker("Poet", tools=("CalculatorTool",)))
        over, inner = asyncio.Event(), atelier.repos.journal.commit

        async def commit(given: Any, *more: Any, **named: Any) -> Any:
            if over.is_set() or any(event.body.type == at for event in given.events):
                over.set()
                raise StorageError("killed", code="query")
            return await inner(given, *more, **named)

        monkeypatch.setattr(atelier.repos.journal, "commit", commit)
        workflow_id, run_id = await begin(atelier)
        await wait_for_event(over)
        await killed(atelier)
    again = Cast(Lead=[[batch("b2", ("Poet", "One."))], "Done."], Poet=["A verse.", "Another."])
    async with open_atelier(again) as atelier:
        await atelier.resume_pending()
        assert await atelier.runs.at_work() == {}
        assert [model.requests for model in again.models.values()] == [[], []]
        assert {row.status for row in (await team_rows(atelier, workflow_id)).values()} <= {
            RunStatus.INTERRUPTED,
            RunStatus.COMPLETED,
        }
        await atelier.runs.recovery.resume_all()
        await completed(atelier, run_id)


async def test_a_run_interrupted_by_its_person_waits_for_a_resume(open_atelier: Opener) -> None:
    async with open_atelier(stuck()) as atelier:
        _, run_id, _ = await at_work(atelier)
        await atelier.runs.live.interrupt(run_id, "command")
    async with open_atelier(["here"]) as atelier:
        assert await atelier.runs.recovery.resume_all() == []
        assert await ended_by(atelier, run_id) == ["command"]
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)


async def test_after_a_kill_the_next_process_marks_it_once_and_counts_no_time(open_atelier: Opener) -> None:
    clock = ManualClock()
    async with open_atelier(stuck(), clock=clock) as atelier:
        workflow_id, run_id, _ = await at_work(atelier)
        await atelier.repos.journal.save_partial(run_id, workflow_id, "m", content="an ans", reasoning="")
        await killed(atelier)
    await clock.advance(3600)
    for _start in range(2):
        async with open_atelier(clock=clock) as atelier:
            row = await atelier.repos.runs.get(run_id)
            assert (row.status, row.elapsed_ms) == (RunStatus.INTERRUPTED, 0)
            assert await ended_by(atelier, run_id) == ["killed"]
            assert [cut.content for cut in await bodies(atelier, run_id, ReplyCutOff)] == ["an ans"]


@pytest.mark.parametrize(
    ("strategy", "requests"),
    [
        (Dispatch.REDIRECT, [["go", "an ans\n\n[This reply was interrupted here.]", "shorter"]]),
        # A queued message waits for the answer, which is requested again.
        (Dispatch.QUEUE, [["go"], ["go", "Done.", "shorter"]]),
    ],
)
async def test_a_message_after_a_kill_follows_what_the_reply_had_said(
    strategy: Dispatch, requests: list[list[str]], open_atelier: Opener
) -> None:
    async with open_atelier(stuck()) as atelier:
        workflow_id, run_id, _ = await at_work(atelier)
        await atelier.repos.journal.save_partial(run_id, workflow_id, "m", content="an ans", reasoning="")
        await killed(atelier)
    model = ScriptedModel(["Done.", "Shorter."])
    async with open_atelier(model) as atelier:
        await atelier.runs.send(workflow_id, "shorter", agent=agent(), strategy=strategy)
        await completed(atelier, run_id)
    assert [[each.content for each in request.messages[1:]] for request in model.requests] == requests


async def test_a_listing_shows_a_killed_run_as_interrupted_and_starts_nothing(open_atelier: Opener) -> None:
    async with open_atelier(stuck()) as atelier:
        workflow_id, run_id, _ = await at_work(atelier)
        await killed(atelier)
    for started in (True, False):
        async with open_atelier(start=False) as atelier:
            assert [row.status for row in await atelier.workflows.list()] == [WorkflowStatus.INTERRUPTED]
            told = [
                entry.message
                for entry in await atelier.workflows.transcript(workflow_id)
                if entry.message.kind == "run_interrupted"
            ]
            assert [message.details for message in told] == [{"ended": "killed"}]
            assert ("runs" in vars(atelier)) is started
    async with open_atelier() as atelier:
        assert await ended_by(atelier, run_id) == ["killed"]


@pytest.mark.parametrize("how", ["closed", "killed"])
async def test_a_team_is_interrupted_as_one_and_resumed_from_its_root(open_atelier: Opener, how: str) -> None:
    poet, painter = Stuck(("a",)), Stuck(("b",))
    cast = Cast(Lead=[[batch("b", ("Poet", "One."), ("Painter", "Two."))]], Poet=poet, Painter=painter)
    async with open_atelier(cast) as atelier:
        for name in ("Poet", "Painter"):
            await atelier.agents.save(worker(name))
        workflow_id, run_id = await begin(atelier)
        async with asyncio.timeout(20):
            await asyncio.gather(poet.begun.wait(), painter.begun.wait())
        if how == "killed":
            await killed(atelier)
    async with open_atelier(Cast(Lead=["both"], Poet=["verse"], Painter=["picture"])) as atelier:
        rows = await team_rows(atelier, workflow_id)
        assert {name: row.status.value for name, row in rows.items()} == dict.fromkeys(rows, "interrupted")
        assert len(rows) == 3
        assert (await atelier.workflows.get(workflow_id)).status is WorkflowStatus.INTERRUPTED
        await atelier.runs.steering.resume(run_id)
        async with asyncio.timeout(20):
            await completed(atelier, run_id)
        assert {row.status for row in await atelier.repos.runs.list(workflow_id)} == {RunStatus.COMPLETED}


async def test_a_message_resumes_it(open_atelier: Opener) -> None:
    model = ScriptedModel(["an answer that never ends", "First.", "Second."], gate=asyncio.Event())
    async with open_atelier(model) as atelier:
        workflow_id, run_id, _ = await at_work(atelier)
        await atelier.runs.live.interrupt(run_id)
        assert model.gate is not None
        model.gate.set()
        assert await atelier.runs.send(workflow_id, "and then?") == run_id
        await completed(atelier, run_id)
    assert model.requests[-1].messages[-1].content == "and then?"


async def test_a_stepping_run_still_waits_for_its_person_at_each_step(open_atelier: Opener) -> None:
    model = ScriptedModel(["an answer that never ends"], gate=asyncio.Event())
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id = await create_workflow(atelier, "w")
        run_id = await atelier.runs.send(workflow_id, "go", agent=agent(), mode=RunMode.STEPPING)
        await seen.until(ChunkType.RUN_STATUS, status="paused")
        await atelier.runs.steering.step(run_id)
        await seen.until(ChunkType.TOKEN)
        await atelier.runs.live.interrupt(run_id)
        await atelier.runs.steering.resume(run_id)
        resumed = (await bodies(atelier, run_id, RunResumed))[-1]
        assert resumed.steps == 1


async def test_a_repeated_message_is_sent_once_whoever_repeats_it(open_atelier: Opener) -> None:
    """What a command checks before it sends a message a second time."""
    async with open_atelier(["here"]) as atelier:
        workflow = await atelier.workflows.create("w", id="0" * 32)
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=agent(), message_id="0" * 32)
    async with open_atelier() as atelier:
        assert (await atelier.workflows.get("0" * 32)).name == "w"
        assert (await atelier.repos.messages.get("0" * 32)).run_id == run_id


async def test_the_state_is_derived_from_the_journal(open_atelier: Opener) -> None:
    async with open_atelier(stuck()) as atelier:
        workflow_id, run_id, _ = await at_work(atelier)
        await atelier.runs.live.interrupt(run_id)
        events = await run_events(atelier.repos, run_id)
        state = fold(events)
        assert state is not None
        assert (state.status, state.pause, state.ended) == (RunStatus.INTERRUPTED, PauseReason.INTERRUPTED, "command")
        handle = RunHandle(
            run_id=run_id, workflow_id=workflow_id, state=state, row=await atelier.repos.runs.get(run_id)
        )
        resumed = await atelier.journal.append(handle, RunResumed())
        assert (resumed.status, resumed.pause, resumed.ended) == (RunStatus.PROCESSING, None, None)


@pytest.mark.parametrize("how", ["import", "duplicate", "fork", "lie"])
async def test_no_start_resumes_a_copy_of_an_interrupted_run(open_atelier: Opener, how: str) -> None:
    """The file may come from an untrusted source, and its agent with it; "lie": the run's row says that it waits,
    its journal that it works.
    """
    async with open_atelier(stuck()) as atelier:
        workflow_id, run_id, _ = await at_work(atelier)
    async with open_atelier() as atelier:
        assert await stored_status(atelier, run_id) is RunStatus.INTERRUPTED
        if how == "duplicate":
            copy_id = (await atelier.workflows.duplicate(workflow_id)).id
        elif how == "fork":
            copy_id = (await atelier.runs.fork(workflow_id, (await atelier.workflows.get(workflow_id)).stream_seq)).id
        else:
            file = await exported_workflow(atelier, workflow_id)
            if how == "lie":
                file["runs"][0]["status"] = "awaiting_children"
            copy_id = (await atelier.workflows.import_(json.dumps(file), "rename")).workflow.id
        await atelier.workflows.purge(workflow_id)
    model = ScriptedModel(["here"])
    async with open_atelier(model) as atelier:
        await atelier.resume_pending()
        [row] = await atelier.repos.runs.list(copy_id)
        assert row.status is RunStatus.PAUSED
        assert (await atelier.workflows.get(copy_id)).status is WorkflowStatus.PAUSED
        assert model.requests == []
        await atelier.runs.steering.resume(row.id)
        await completed(atelier, row.id)
