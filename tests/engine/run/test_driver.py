"""The driver as a person sees it: the effect of a message in the middle, a pause, a stop, a limit and a fault on
an active run.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import ApprovalKind, ApprovalRequest, ApprovalStatus
from atelier_desk.domain.errors import ProviderError, StorageError
from atelier_desk.domain.events.run import (
    ApprovalDecided,
    ApprovalRequested,
    CallStatus,
    ChildAnswered,
    LimitReached,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    RunFailed,
    RunPaused,
    RunResumed,
    ToolCallFinished,
    ToolCallStarted,
)
from atelier_desk.domain.model_messages import ChatRequest
from atelier_desk.domain.question import QuestionSpec, QuestionStatus, QuestionType, UserQuestion
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import Dispatch, RunStatus
from atelier_desk.engine.run.driver import CANCELLED, SUPERSEDED, closing_events
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.tools.base import Outcome, ToolContext
from tests.engine.conftest import Opener, Recorder, completed
from tests.engine.runs.commit_gate import Gate, bodies, ended, holds, turns
from tests.engine.runs.sample_runs import Blocking, agent, start
from tests.engine.team.conftest import Cast, ask_parent, ask_user, begin, call, spawn, team_rows
from tests.helpers.runs_without_driver import Script, reply, started
from tests.helpers.runs_without_driver import call as planned
from tests.helpers.scripted_teams import calculate
from tests.helpers.tool_calls import tool_call


async def test_a_redirected_run_keeps_its_slot(open_atelier: Opener) -> None:
    """Other runs wait for the slot until the run has ended, not only until its user redirects it."""
    gate = asyncio.Event()
    asked: list[str] = []

    def reply(request: ChatRequest) -> str:
        asked.append(str(request.messages[-1].content))
        return "a reply"

    async with open_atelier(ScriptedModel([reply] * 3, gate=gate)) as atelier:
        atelier.runs.live.slots.limit = 1
        seen = Recorder(atelier)
        workflow_id, first = await start(atelier, "one")
        await seen.until(ChunkType.TOKEN)
        _other, second = await start(atelier, "two")
        await atelier.runs.send(workflow_id, "one, but shorter", strategy=Dispatch.REDIRECT)
        gate.set()
        await completed(atelier, first)
        await completed(atelier, second)
    assert asked == ["one", "one, but shorter", "two"]


async def test_a_message_that_redirects_a_run_at_its_end_is_not_lost(open_atelier: Opener) -> None:
    model = ScriptedModel(["first", "second"])
    async with open_atelier(model) as atelier:
        gate = Gate(atelier, lambda event: event.body.type == "run_finished")
        workflow_id, run_id = await start(atelier)
        await gate.reached.wait()
        sending = asyncio.create_task(
            atelier.runs.send(workflow_id, "no, that", strategy=Dispatch.REDIRECT, agent=agent())
        )
        await turns()
        gate.open.set()
        other = await sending
        assert other != run_id
        assert (await ended(atelier, other)).status is RunStatus.COMPLETED
        assert [str(message.content) for message in model.requests[-1].messages[1:]] == ["hello", "first", "no, that"]


async def test_a_message_that_redirects_a_run_at_its_pause_resumes_it(open_atelier: Opener) -> None:
    answered = asyncio.Event()
    model = ScriptedModel([[calculate("c", "6*7")], "second"], gate=answered)
    async with open_atelier(model) as atelier:
        gate = Gate(atelier, holds(RunPaused))
        workflow_id, run_id = await start(atelier)
        await turns()
        await atelier.runs.steering.pause(run_id)
        answered.set()
        await gate.reached.wait()
        sending = asyncio.create_task(atelier.runs.send(workflow_id, "no, that", strategy=Dispatch.REDIRECT))
        live = atelier.runs.live.get(run_id)
        assert live is not None
        async with asyncio.timeout(20):
            while live.driver is None or live.driver.stop is None:
                await asyncio.sleep(0)
        gate.open.set()
        assert await sending == run_id
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        [cut] = [body for body in await bodies(atelier, run_id) if isinstance(body, ToolCallFinished)]
        assert (cut.status, cut.error) == (CallStatus.CANCELLED, SUPERSEDED)


async def test_a_redirect_that_cannot_be_stored_is_reported_and_can_be_repeated(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(["one", "two", "three"], gate=gate)
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await start(atelier)
        await seen.until(ChunkType.TOKEN)
        Gate(atelier, lambda event: event.seq > 2, StorageError("The disk is full.", code="disk_full"))
        [sent] = await asyncio.gather(
            atelier.runs.send(workflow_id, "no, that", strategy=Dispatch.REDIRECT, agent=agent()),
            return_exceptions=True,
        )
        gate.set()
        if sent == run_id:
            await ended(atelier, run_id)
        said = [str(message.content) for message in await atelier.repos.messages.page(workflow_id)]
        assert said.count("no, that") == (1 if sent == run_id else 0), (
            "what was taken is there, what was refused is not"
        )


class Slow(Blocking):
    """Cleans up when it is cancelled, which takes a while."""

    tidy = False

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        try:
            return await super().run(input, context)
        finally:
            for _turn in range(10):
                await asyncio.sleep(0)
            self.tidy = True


async def test_a_timed_out_call_is_ended_before_that_is_recorded(open_atelier: Opener, clock: Any) -> None:
    tool = Slow()
    async with open_atelier([[tool_call("blocking")], "done"], clock=clock) as atelier:
        atelier.registry.register(tool)
        gate = Gate(atelier, holds(LimitReached))
        _, run_id = await start(atelier, agent=agent(tools=("blocking",), budget=Budget(max_seconds=5)))
        await tool.running.wait()
        await clock.advance(4.9)
        assert not gate.reached.is_set()
        await clock.advance(0.1)
        await gate.reached.wait()
        assert tool.tidy
        gate.open.set()
        assert (await ended(atelier, run_id)).status is RunStatus.PAUSED
        kept = await bodies(atelier, run_id)
        [cut] = [body for body in kept if isinstance(body, ToolCallFinished)]
        [limit] = [body for body in kept if isinstance(body, LimitReached)]
        assert (cut.status, limit.cap) == (CallStatus.TIMEOUT, 5)
        assert limit.value >= limit.cap


async def test_a_fault_within_the_time_limit_is_a_fault(open_atelier: Opener) -> None:
    error = ProviderError("No key.", code="auth")
    async with open_atelier([error]) as atelier:
        _, run_id = await start(atelier, agent=agent(budget=Budget(max_seconds=500)))
        assert (await ended(atelier, run_id)).status is RunStatus.ERROR
        [failed] = [body for body in await bodies(atelier, run_id) if isinstance(body, RunFailed)]
        assert (failed.code, failed.message) == ("auth", "No key.")


@pytest.mark.parametrize(("control", "shown"), [("task_complete", "completed"), ("task_abandon", "error")])
async def test_a_workflow_whose_agent_gave_up_is_listed_as_failed(
    open_atelier: Opener, control: str, shown: str
) -> None:
    said = {"summary": "All done."} if control == "task_complete" else {"reason": "No such file."}
    async with open_atelier([[call(control, "x", **said)]]) as atelier:
        workflow_id, run_id = await start(atelier, agent=agent(tools=(control,)))
        assert (await ended(atelier, run_id)).status.final
        assert (await atelier.workflows.get(workflow_id)).status == shown


@pytest.mark.parametrize("count", [1, 2])
async def test_an_internal_fault_in_a_call_fails_the_run_visibly_and_a_retry_continues_it(
    open_atelier: Opener, count: int
) -> None:
    calls = [calculate(f"c{number}", "6*7") for number in range(count)]
    async with open_atelier([calls, "done"]) as atelier:
        Gate(atelier, holds(ToolCallFinished), ValueError("odd"))
        workflow_id, run_id = await start(atelier)
        assert (await ended(atelier, run_id)).status is RunStatus.ERROR
        [failed] = [body for body in await bodies(atelier, run_id) if isinstance(body, RunFailed)]
        assert (failed.code, failed.message, failed.detail) == ("internal_error", "ValueError: odd", "ValueError: odd")
        assert "Internal error" in failed.words
        await atelier.runs.steering.resume(run_id)
        assert (await ended(atelier, run_id)).status is RunStatus.COMPLETED
        assert atelier.runs.live.alive.get(workflow_id) is None


async def test_a_fault_in_a_sub_agent_ends_it_and_its_parent_is_informed(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], "So be it."], Helper=[ValueError("odd")])
    async with open_atelier(cast) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await completed(atelier, run_id)
        assert "odd" in (await seen.until(ChunkType.SUB_AGENT_ERROR)).data["error"]
        rows = await team_rows(atelier, workflow_id)
        assert (rows["Helper"].status, rows["Helper"].error) == (RunStatus.ERROR, "ValueError: odd")
        assert "ValueError: odd" in str(cast.result())


async def test_a_sub_agent_waiting_for_an_ended_parent_is_told_to_decide(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn(wait=False)], *["It asks."] * 5], Helper=[[ask_parent()], "I took the blue one."])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        rows = await team_rows(atelier, workflow_id)
        assert (rows["Lead"].status, rows["Helper"].status) == (RunStatus.COMPLETED, RunStatus.COMPLETED)
        [told] = [body for body in await bodies(atelier, run_id) if isinstance(body, ChildAnswered)]
        assert told.by == "engine"


async def test_a_run_that_finishes_stops_its_sub_agents(open_atelier: Opener) -> None:
    gate = asyncio.Event()
    cast = Cast(
        Lead=[[spawn(wait=False)], [call("task_complete", "t", summary="Enough.")]],
        Helper=ScriptedModel(["never"], gate=gate),
    )
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await completed(atelier, run_id)
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.CANCELLED


async def test_a_sub_agent_that_waits_for_its_parent_can_be_paused(open_atelier: Opener) -> None:
    """Then the answer alone does not resume it."""
    cast = Cast(Lead=[[spawn(wait=False)], [ask_user()]], Helper=[[ask_parent()]])
    async with open_atelier(cast) as atelier:
        workflow_id, _run_id = await begin(atelier)
        async with asyncio.timeout(20):
            while (rows := await team_rows(atelier, workflow_id)).get("Helper") is None or rows[
                "Helper"
            ].status is not RunStatus.AWAITING_PARENT:
                await asyncio.sleep(0)
        await atelier.runs.steering.pause(rows["Helper"].id)
        async with asyncio.timeout(20):
            while (await team_rows(atelier, workflow_id))["Helper"].status is not RunStatus.PAUSED:
                await asyncio.sleep(0)


def question(call_id: str = "a", id: str = "q") -> UserQuestion:
    spec = QuestionSpec(question="Which?", question_type=QuestionType.TEXT)
    return UserQuestion(id=id, workflow_id="w", run_id="r", call_id=call_id, spec=spec)


def asked(call_id: str = "b") -> ApprovalRequest:
    return ApprovalRequest(
        id="approval",
        workflow_id="w",
        run_id="r",
        root_run_id="r",
        call_id=call_id,
        tool="t",
        kind=ApprovalKind.SUB_AGENT,
    )


def test_open_calls_are_closed_with_the_meaning_of_the_stop() -> None:
    script = Script().add(reply("", *(planned(id) for id in "abcd")), started("a"), QuestionAsked(question=question()))
    script.add(started("c"), ApprovalRequested(approval=asked()))
    skipped, decided, *calls = closing_events(script.state, CallStatus.CANCELLED, CANCELLED)
    assert isinstance(skipped, QuestionAnswered)
    assert (skipped.question_id, skipped.call_id, skipped.status) == ("q", "a", QuestionStatus.SKIPPED)
    assert isinstance(decided, ApprovalDecided)
    assert (decided.approval_id, decided.call_id) == ("approval", "b")
    assert (decided.status, decided.note, decided.decided_by) == (ApprovalStatus.CANCELLED, CANCELLED, "stop")
    # A call that had not started is shown as started and ended.
    ids = []
    for body in calls:
        assert isinstance(body, (ToolCallStarted, ToolCallFinished))
        ids.append(body.call_id)
    assert ids == ["a", "b", "b", "c", "d", "d"]
    assert {body.status for body in calls if isinstance(body, ToolCallFinished)} == {CallStatus.CANCELLED}


def test_only_a_started_call_of_a_dead_process_has_an_unknown_effect() -> None:
    script = Script().add(reply("", *(planned(id) for id in "ab")), started("a"))
    ends = closing_events(script.state, CallStatus.CANCELLED, CANCELLED, lost=True)
    assert [body.status for body in ends if isinstance(body, ToolCallFinished)] == [
        CallStatus.UNKNOWN,
        CallStatus.CANCELLED,
    ]


def test_a_timeout_closes_only_started_calls() -> None:
    script = Script().add(reply("", *(planned(id) for id in "abc")), started("a"), QuestionAsked(question=question()))
    script.add(ApprovalRequested(approval=asked()), started("c"))
    [end] = closing_events(script.state, CallStatus.TIMEOUT, "over", only_started=True)
    assert isinstance(end, ToolCallFinished)
    assert end.call_id == "c"


def test_resuming_a_paused_run_keeps_its_question() -> None:
    script = Script().add(
        reply("", planned("a")), started("a"), QuestionAsked(question=question()), RunPaused(reason=PauseReason.USER)
    )
    script.add(RunResumed())
    assert script.state.status is RunStatus.AWAITING_USER
