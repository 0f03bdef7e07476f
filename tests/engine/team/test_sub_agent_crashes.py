"""Crashing sub-agents: what is retried, what is not, when an agent is blocked for a while, and who is blamed."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ProviderError, StorageError
from atelier_desk.domain.events.run import ModelRetried
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.llm.network.retry import RUN, run_delay
from atelier_desk.llm.scripted_model import Step
from atelier_desk.policy.circuit_breaker import BreakerState
from atelier_desk.support import logs
from atelier_desk.tools.base import Outcome, ToolContext
from tests.engine.conftest import Opener, Recorder, completed, send_and_wait, wait_for_event
from tests.engine.runs.sample_runs import Blocking
from tests.engine.team.conftest import (
    TOOLS,
    Cast,
    Stuck,
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
from tests.helpers.manual_clock import ManualClock


def busy(recoverable: bool = True) -> ProviderError:
    return ProviderError("The server is busy.", code="overloaded" if recoverable else "auth", recoverable=recoverable)


class Crash(Blocking):
    """Fails in an unexpected way."""

    name = "crash"

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        raise ZeroDivisionError("inside the tool")


async def in_time(clock: ManualClock, work: asyncio.Task[Any]) -> Any:
    """Let time pass as long as something sleeps."""
    async with asyncio.timeout(20):
        while not work.done():
            if clock.sleepers:
                await clock.advance(0.25)
            await asyncio.sleep(0)
        return await work


async def test_a_crashing_tool_is_an_error_only_for_its_agent(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], "done"], Helper=[[call("crash")], "I noticed."])
    async with open_atelier(cast) as atelier:
        atelier.registry.register(Crash())
        _, run_id = await begin(atelier, tools=(*TOOLS, "crash"))
        await completed(atelier, run_id)
    assert cast.result("Helper")["code"] == "internal_error"
    assert cast.result()["report"] == "I noticed."


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_repeatable_request_is_retried(open_atelier: Opener, failures: int) -> None:
    clock = ManualClock()
    cast = Cast(Lead=[[spawn()], "done"], Helper=[[calculate()], *[busy()] * failures, "There."])
    async with open_atelier(cast, clock=clock) as atelier:
        workflow_id, run_id = await begin(atelier)
        await in_time(clock, asyncio.create_task(atelier.runs.wait(run_id)))
        child = (await team_rows(atelier, workflow_id))["Helper"]
        assert child.status is RunStatus.COMPLETED
        retried = await bodies(atelier, child.id, ModelRetried)
        assert [body.attempt for body in retried] == list(range(2, failures + 2))
        assert all(body.again for body in retried)
        for number, body in enumerate(retried):
            assert 0.75 * min(2.0, 0.5 * 2**number) <= body.delay_s <= min(2.0, 0.5 * 2**number)
        # The earlier sum was not calculated again.
        assert child.tool_calls == 1
    assert cast.result()["report"] == "There."
    cast.complete()


async def test_there_are_at_most_three_attempts(open_atelier: Opener) -> None:
    clock = ManualClock()
    cast = Cast(Lead=[[spawn()], "done"], Helper=[busy()] * limits.REPLY_ATTEMPTS)
    async with open_atelier(cast, clock=clock) as atelier:
        workflow_id, run_id = await begin(atelier)
        await in_time(clock, asyncio.create_task(atelier.runs.wait(run_id)))
        assert (await team_rows(atelier, workflow_id))["Helper"].status is RunStatus.ERROR
    assert (cast.result()["success"], cast.result()["code"]) == (False, "retries_exhausted")
    assert "3 attempts" in cast.result()["error"]
    cast.complete()


async def test_a_permanent_error_is_not_retried(open_atelier: Opener) -> None:
    cast = Cast(Lead=[[spawn()], "done"], Helper=[busy(recoverable=False)])
    async with open_atelier(cast) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        child = (await team_rows(atelier, workflow_id))["Helper"]
        assert await bodies(atelier, child.id, ModelRetried) == []
    assert cast.result()["code"] == "child_failed"
    cast.complete()


async def test_a_success_in_between_resets_the_count(open_atelier: Opener) -> None:
    clock = ManualClock()
    cast = Cast(Lead=[[spawn()], "done"], Helper=[busy(), busy(), [calculate()], busy(), busy(), "There."])
    async with open_atelier(cast, clock=clock) as atelier:
        _, run_id = await begin(atelier)
        await in_time(clock, asyncio.create_task(atelier.runs.wait(run_id)))
    assert cast.result()["report"] == "There."
    cast.complete()


async def test_stopping_while_waiting_for_the_next_attempt(open_atelier: Opener) -> None:
    clock = ManualClock()
    cast = Cast(Lead=[[spawn()], "done"], Helper=[busy()])
    async with open_atelier(cast, clock=clock) as atelier:
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier)
        await seen.until(ChunkType.RETRY)
        await atelier.runs.cancel(run_id)
        rows = await team_rows(atelier, workflow_id)
        assert {row.status for row in rows.values()} == {RunStatus.CANCELLED}


def test_delays_double_up_to_two_seconds_and_are_never_zero() -> None:
    def pause(attempt: int, chance: float, retry_after_s: float | None = None) -> float | None:
        error = ProviderError("busy", code="overloaded", recoverable=True, retry_after_s=retry_after_s)
        return run_delay(error, attempt, child=True, begun=False, rng=lambda: chance)

    assert [pause(attempt, 0.0) for attempt in (2, 3, 4)] == [0.5, 1.0, None]
    assert [pause(attempt, 1.0) for attempt in (2, 3)] == [0.375, 0.75]
    assert RUN.wait(busy(), 9, lambda: 0.0) == limits.CHILD_RETRY_S[1]
    assert pause(2, 0.2) != pause(2, 0.8)
    assert [pause(2, 0.0, retry_after_s=asked) for asked in (0.1, 7.0, 900.0)] == [0.5, 7.0, limits.CHILD_WAIT_S]


def test_which_runs_retry_which_errors() -> None:
    """Temporary errors; for a root run only those its provider does not retry: an interrupted reply, and silence;
    never a loading model.
    """

    def tries(code: str, *, child: bool, begun: bool, recoverable: bool = True, status: int | None = None) -> bool:
        error = ProviderError("no", code=code, recoverable=recoverable, status=status)
        return run_delay(error, 2, child=child, begun=begun, rng=lambda: 0.0) is not None

    assert all(
        tries(code, child=True, begun=begun)
        for code in ("overloaded", "timeout", "truncated")
        for begun in (True, False)
    )
    assert [tries(code, child=False, begun=True) for code in ("truncated", "unreachable", "timeout", "loading")] == [
        True,
        True,
        True,
        False,
    ]
    assert tries("timeout", child=False, begun=False)
    assert not tries("timeout", child=False, begun=False, status=504)  # its provider retried that
    assert not tries("truncated", child=False, begun=False)
    assert not tries("loading", child=True, begun=True)
    assert not tries("auth", child=True, begun=False, recoverable=False)


async def test_after_three_failures_an_agent_is_blocked_for_a_minute(open_atelier: Opener) -> None:
    """Closed, open after three, half open after a minute with one trial: a failure opens it again, a success
    closes it.
    """
    clock = ManualClock()
    answers: list[Step] = [*[ValueError("down")] * 4, *["It works."] * 2]
    steps: list[Step] = []
    for number in range(9):
        steps += [[delegate(f"d{number}", "Poet")], "noted"]
    cast = Cast(Lead=steps, Poet=answers)
    async with open_atelier(cast, clock=clock) as atelier:
        poet = await atelier.agents.save(worker("Poet"))
        workflow = await atelier.workflows.create()
        breakers = atelier.runs.teams.breakers

        async def ask() -> tuple[str, BreakerState]:
            await send_and_wait(atelier, workflow.id, "Go.", agent=lead())
            return str(cast.result().get("code", "ok")), breakers._breakers[poet.id].state

        closed, open_ = BreakerState.CLOSED, BreakerState.OPEN
        assert [await ask() for _ in range(3)] == [
            ("child_failed", closed),
            ("child_failed", closed),
            ("child_failed", open_),
        ]
        assert await ask() == ("circuit_open", open_)
        assert "60 seconds" in cast.result()["error"]
        assert "Poet" in cast.result()["error"]
        await clock.advance(59.5)
        assert await ask() == ("circuit_open", open_)
        await clock.advance(0.5)
        assert breakers._breakers[poet.id].state is BreakerState.HALF_OPEN
        assert await ask() == ("child_failed", open_)
        await clock.advance(60)
        assert await ask() == ("ok", closed)
        assert await ask() == ("ok", closed)
    cast.models["Poet"].assert_complete()


async def test_failures_of_one_agent_do_not_block_another(open_atelier: Opener) -> None:
    cast = Cast(
        Lead=[
            [delegate(f"d{n}", "Poet") for n in range(3)],
            [delegate("e", "Painter")],
            [spawn("f", "Helper")],
            "done",
        ],
        Poet=[ValueError("down")] * 3,
        Painter=["fine"],
        Helper=["fine"],
    )
    async with open_atelier(cast) as atelier:
        poet = await atelier.agents.save(worker("Poet"))
        await atelier.agents.save(worker("Painter"))
        _, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        assert atelier.runs.teams.breakers._breakers[poet.id].state is BreakerState.OPEN
    assert [result["success"] for result in cast.results()] == [False, False, False, True, True]


async def test_a_stopped_agent_counts_neither_as_failure_nor_as_success(open_atelier: Opener) -> None:
    stuck = Stuck()
    cast = Cast(Lead=[[delegate("d", "Poet")], "done"] * 3, Poet=stuck)
    async with open_atelier(cast) as atelier:
        poet = await atelier.agents.save(worker("Poet"))
        for _ in range(3):
            workflow_id, run_id = await begin(atelier)
            await wait_for_event(stuck.begun)
            stuck.begun.clear()
            await atelier.runs.cancel((await team_rows(atelier, workflow_id))["Poet"].id)
            await atelier.runs.wait(run_id)
        assert atelier.runs.teams.breakers._breakers[poet.id].failures == 0


async def test_a_start_that_could_not_be_stored_does_not_use_up_the_trial(open_atelier: Opener) -> None:
    """Half open allows one start; when it fails on the disk, the next one is allowed."""
    clock = ManualClock()
    broken = False

    def fault(point: str) -> None:
        if broken and point == "before_commit:user_message":
            raise StorageError("disk_full", code="disk_full")

    cast = Cast(Lead=[[delegate("d", "Poet")], "done"], Poet=["fine"])
    async with open_atelier(cast, clock=clock, fault=fault) as atelier:
        poet = await atelier.agents.save(worker("Poet"))
        breaker = atelier.runs.teams.breakers._of(poet.id, poet.config)
        for _ in range(3):
            breaker.failure()
        await clock.advance(60)
        original = cast.models["Lead"].stream

        async def breaking(request: Any) -> Any:
            nonlocal broken
            broken = len(cast.models["Lead"].requests) == 0
            async for delta in original(request):
                yield delta

        cast.models["Lead"].stream = breaking
        _, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        assert not breaker.testing
        broken = False
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)
        assert breaker.state is BreakerState.CLOSED
    assert cast.result()["report"] == "fine"


async def test_the_root_run_is_named_in_every_event_row_and_log_line(open_atelier: Opener) -> None:
    lines: list[tuple[str, str]] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((logs._correlation_id.get(), record.getMessage()))

    cast = Cast(
        Lead=[[spawn("s", "Middle")], "done"],
        Middle=[[spawn("t", "Deep")], "m"],
        Deep=[[call("crash")], ValueError("lost")],
    )
    handler = Handler()
    logging.getLogger("atelier_desk").addHandler(handler)
    try:
        async with open_atelier(cast) as atelier:
            seen = Recorder(atelier)
            atelier.registry.register(Crash())
            workflow_id, run_id = await begin(atelier, tools=(*TOOLS, "crash"))
            await atelier.runs.wait(run_id)
            assert {event.correlation_id for event in seen.events} == {run_id}
            assert {row.correlation_id for row in await atelier.repos.runs.list(workflow_id)} == {run_id}
            rows = await team_rows(atelier, workflow_id)
            assert {row.parent_run_id for row in rows.values()} == {None, run_id, rows["Middle"].id}
    finally:
        logging.getLogger("atelier_desk").removeHandler(handler)
    told = {message for identifier, message in lines if identifier == run_id}
    assert {"tool crash failed", "a step failed unexpectedly"} <= told
    assert [line for line in lines if line[0] not in (run_id, "-")] == []
