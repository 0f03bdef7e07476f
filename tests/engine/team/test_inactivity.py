"""Sub-agents that never end: only their own activity keeps them alive, looking at them does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from atelier_desk import tool
from atelier_desk.domain import limits
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.model_messages import ChatDelta, ChatReply, ChatRequest, ReplyDone, RetryDelta, TextDelta
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream.payloads import ChunkType, SubAgentProgress
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, Recorder, completed, wait_for_event
from tests.engine.team.conftest import TOOLS, Cast, Stuck, ask_user, begin, call, lead, spawn, team_rows
from tests.helpers.manual_clock import ManualClock

TIMEOUT, CHECK = limits.INACTIVITY_S, limits.CHILD_CHECK_S


class Dripping:
    """Sends a word on request, and ends on request."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str] = asyncio.Queue()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        text = ""
        while word := await self.words.get():
            text += word
            yield TextDelta(content=word)
        yield ReplyDone(reply=ChatReply(content=text))


async def pass_time(clock: ManualClock, seconds: float, done: asyncio.Task[Any] | None = None) -> None:
    """Move time in steps, and let everybody work in between."""
    left = seconds
    while left > 0 and not (done is not None and done.done()):
        await clock.advance(min(left, CHECK))
        left -= CHECK
        await clock.settle(60)


async def test_an_inactive_sub_agent_is_ended_with_its_partial_work(open_atelier: Opener) -> None:
    clock, stuck = ManualClock(), Stuck()
    cast = Cast(Lead=[[spawn()], "Without it."], Helper=stuck)
    async with open_atelier(cast, clock=clock) as atelier:
        workflow_id, run_id = await begin(atelier)
        await wait_for_event(stuck.begun)
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        await pass_time(clock, TIMEOUT - CHECK)
        assert stuck.open == 1
        await pass_time(clock, 3 * CHECK, waiting)
        async with asyncio.timeout(20):
            assert (await waiting).status is RunStatus.COMPLETED
        child = (await team_rows(atelier, workflow_id))["Helper"]
        assert child.status is RunStatus.ERROR
        assert "did nothing for 300 seconds" in child.error
        assert atelier.runs.teams.alive == {}
    assert stuck.open == 0
    result = cast.result()
    assert (result["success"], result["code"]) == (False, "timeout")
    assert "Half a report" in result["report"]


async def test_looking_at_it_does_not_keep_it_alive(open_atelier: Opener) -> None:
    clock, stuck = ManualClock(), Stuck()
    cast = Cast(Lead=[[spawn()], "Without it."], Helper=stuck)
    async with open_atelier(cast, clock=clock) as atelier:
        workflow_id, run_id = await begin(atelier)
        await wait_for_event(stuck.begun)
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        for _ in range(TIMEOUT // CHECK + 2):
            await pass_time(clock, CHECK, waiting)
            # The watch itself, a screen and a script look at it.
            await atelier.runs._watch.check()
            await atelier.teams.tree(workflow_id)
            state = atelier.runs.state_of(run_id)
            assert state is not None
            atelier.journal.publish(state.current, SubAgentProgress(sub_agent_id="x"))
        async with asyncio.timeout(20):
            assert (await waiting).status is RunStatus.COMPLETED
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.ERROR


async def test_an_occasional_word_keeps_it_alive(open_atelier: Opener) -> None:
    clock, slow = ManualClock(), Dripping()
    cast = Cast(Lead=[[spawn()], "done"], Helper=slow)
    async with open_atelier(cast, clock=clock) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.SUB_AGENT_START)
        for number in range(5):
            slow.words.put_nowait(f"word {number} ")
            await seen.until(ChunkType.TOKEN, content=f"word {number} ")
            await pass_time(clock, TIMEOUT - 2 * CHECK)
        slow.words.put_nowait("")
        async with asyncio.timeout(20):
            await completed(atelier, run_id)
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.COMPLETED
    assert cast.result()["report"].startswith("word 0 word 1")


async def test_waiting_for_a_person_or_for_others_is_not_inactivity(open_atelier: Opener) -> None:
    clock = ManualClock()
    cast = Cast(Lead=[[spawn("s", "Middle")], "done"], Middle=[[spawn("t", "Deep")], "m"], Deep=[[ask_user()], "d"])
    async with open_atelier(cast, clock=clock) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.USER_QUESTION_START)
        await pass_time(clock, 2 * TIMEOUT)
        rows = await team_rows(atelier, workflow_id)
        assert {name: row.status.value for name, row in rows.items()} == {
            "Lead": "awaiting_children",
            "Middle": "awaiting_children",
            "Deep": "awaiting_user",
        }
        (question,) = await atelier.questions.pending()
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="blue")
        async with asyncio.timeout(20):
            await completed(atelier, run_id)


async def test_a_delay_requested_by_the_server_is_not_inactivity(open_atelier: Opener) -> None:
    clock = ManualClock()

    class Waiting:
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            yield RetryDelta(attempt=2, delay_s=2 * TIMEOUT, reason="rate_limited")
            await clock.sleep(2 * TIMEOUT)
            yield ReplyDone(reply=ChatReply(content="There."))

    cast = Cast(Lead=[[spawn()], "done"], Helper=Waiting())
    async with open_atelier(cast, clock=clock) as atelier:
        seen = Recorder(atelier)
        _, run_id = await begin(atelier)
        await seen.until(ChunkType.RETRY)
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        # No further: what follows is written in real time, which is no inactivity either.
        await pass_time(clock, 2 * TIMEOUT, waiting)
        async with asyncio.timeout(20):
            assert (await waiting).status is RunStatus.COMPLETED
    assert cast.result()["report"] == "There."


async def test_waiting_for_a_silent_tool_is_not_inactivity(open_atelier: Opener) -> None:
    clock, go_on = ManualClock(), asyncio.Event()

    @tool(name="brood", category="agent", section="core_ops", effect="read", risk="low")
    async def brood() -> str:
        """Thinks for long."""
        await go_on.wait()
        return "An egg."

    cast = Cast(Lead=[[spawn()], "done"], Helper=[[call("brood")], "Hatched."])
    async with open_atelier(cast, clock=clock) as atelier:
        atelier.registry.register(brood)
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier, tools=(*TOOLS, "brood"))
        await seen.until(ChunkType.TOOL_START, tool="brood")
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        await pass_time(clock, TIMEOUT + 3 * CHECK, waiting)
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.PROCESSING
        go_on.set()
        async with asyncio.timeout(20):
            assert (await waiting).status is RunStatus.COMPLETED
    assert cast.result()["report"] == "Hatched."


async def test_waiting_for_a_slot_is_not_inactivity(open_atelier: Opener) -> None:
    """A team releases its slot while none of it works; another takes it, and an answer then has to wait for its
    turn.
    """
    clock, stuck = ManualClock(), Stuck()
    cast = Cast(Lead=[[spawn()], "done"], Helper=[[ask_user()], "blue it is"], Busy=stuck)

    async def one_slot(atelier: Atelier) -> None:
        # The busy team's own silence does not matter here.
        await atelier.settings.update(workflows_running=1, inactivity_s=10 * TIMEOUT)

    async with open_atelier(cast, clock=clock) as atelier:
        await one_slot(atelier)
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.USER_QUESTION_START)
        await atelier.runs.wait(run_id)
        other = await atelier.workflows.create()
        busy = await atelier.runs.send(other.id, "Go.", agent=lead(name="Busy"))
        await wait_for_event(stuck.begun)
        (question,) = await atelier.questions.pending()
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, text="blue")
        await pass_time(clock, 2 * TIMEOUT)
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.PROCESSING
        await atelier.runs.cancel(busy)
        async with asyncio.timeout(20):
            await completed(atelier, run_id)
    assert cast.result()["report"] == "blue it is"


async def test_a_hanging_sub_agent_ends_with_all_its_descendants(open_atelier: Opener) -> None:
    clock, top, deep = ManualClock(), Stuck(("Mid",)), Dripping()
    turns: list[Any] = [ScriptedModel([[spawn("t", "Deep", wait=False)]]), top]

    class Middle:
        def stream(self, request: Any) -> Any:
            return turns.pop(0).stream(request)

    cast = Cast(Lead=[[spawn("s", "Middle")], "done"], Middle=Middle(), Deep=deep)
    async with open_atelier(cast, clock=clock) as atelier:
        workflow_id, run_id = await begin(atelier)
        await wait_for_event(top.begun)
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        for _ in range(TIMEOUT // CHECK + 2):
            deep.words.put_nowait("alive ")
            await pass_time(clock, CHECK, waiting)
        async with asyncio.timeout(20):
            assert (await waiting).status is RunStatus.COMPLETED
        rows = await team_rows(atelier, workflow_id)
        assert (rows["Middle"].status, rows["Deep"].status) == (RunStatus.ERROR, RunStatus.CANCELLED)


async def test_one_that_cannot_be_ended_now_is_ended_later(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, stuck = ManualClock(), Stuck()
    cast = Cast(Lead=[[spawn()], "Without it."], Helper=stuck)
    async with open_atelier(cast, clock=clock) as atelier:
        workflow_id, run_id = await begin(atelier)
        await wait_for_event(stuck.begun)
        cancel, refused = LiveRuns.cancel, 0

        async def full(runs: LiveRuns, *given: Any) -> None:
            nonlocal refused
            refused += 1
            if refused == 1:
                raise StorageError("The disk is full.", code="disk_full")
            await cancel(runs, *given)

        monkeypatch.setattr(LiveRuns, "cancel", full)
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        await pass_time(clock, TIMEOUT + 3 * CHECK, waiting)
        async with asyncio.timeout(20):
            assert (await waiting).status is RunStatus.COMPLETED
        assert refused == 2
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.ERROR
