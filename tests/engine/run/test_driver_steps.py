"""The driver step by step, with a journal that only records: who performs a step, what is committed, and when it
stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import (
    ApprovalRequested,
    CallStatus,
    ChildFinished,
    ChildrenPlanned,
    ChildStarted,
    EventBody,
    LimitKind,
    LimitReached,
    PauseReason,
    RunFinished,
    RunPaused,
    RunResumed,
    ServersLacking,
    ToolCallFinished,
    ToolCallStarted,
)
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.domain.sub_agent import ChildPlan, ChildStatus, TeamCall
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.run import driver as module
from atelier_desk.engine.run import mcp_server_requests
from atelier_desk.engine.run.driver import OUT_OF_TIME, Driver, Stop, closing_events
from atelier_desk.engine.run.reducer.next_step import (
    AnswerChildren,
    Append,
    BeginCalls,
    CallModel,
    Done,
    Finish,
    RecoverCalls,
    RunCalls,
    SampleForServer,
    StartChildren,
    Step,
    StopChildren,
    Wait,
)
from atelier_desk.engine.run.reducer.state import Ending, RunState
from atelier_desk.engine.team.team_interface import NO_ANSWER
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import START, Script, agent, call, reply, started
from tests.helpers.tool_calls import tool_call

PROBLEM = ServerProblem(server="docs", code="off")
FINISH = Finish(Ending(RunStatus.COMPLETED, "done", result="42"))


class Noted:
    """Replaces everything a driver calls: records each call by name, and what is committed."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.committed: list[EventBody] = []
        self.problems: tuple[ServerProblem, ...] = ()
        self.current: RunState = Script().state
        self.meanwhile: RunState | None = None
        """The state of the run at the time of a commit."""
        self.after: RunState | None = None
        """The state after that."""

    def of(self, owner: str) -> Any:
        return SimpleNamespace(**{name: self._noting(name) for name in NAMES[owner]})

    def _noting(self, name: str) -> Callable[..., Any]:
        async def noted(*given: Any, **more: Any) -> bool:
            self.done.append((name, *(each for each in given if each is not self), *more.values()))
            return True

        return noted

    async def append_if(
        self, _handle: object, decide: Callable[[RunState], Sequence[EventBody] | None], **_more: Any
    ) -> bool:
        self.current, self.meanwhile = self.meanwhile or self.current, None
        bodies = decide(self.current)
        self.committed += bodies or ()
        self.current, self.after = self.after or self.current, None
        return bodies is not None

    async def conclude(
        self, _handle: object, decide: Callable[[RunState], Sequence[EventBody] | None], **more: Any
    ) -> bool:
        self.done.append(("conclude", *(["clear_partial"] if more.get("clear_partial") else ())))
        return await self.append_if(_handle, decide)

    async def server_problems(self, servers: Sequence[str]) -> tuple[ServerProblem, ...]:
        self.done.append(("server_problems", tuple(servers)))
        return self.problems


NAMES = {"calls": ("begin", "run", "recover"), "teams": ("start", "answer", "stop_below")}


@pytest.fixture
def noted() -> Noted:
    return Noted()


async def _no_events(*_given: object, **_named: object) -> list[object]:
    return []


@pytest.fixture
def driver(noted: Noted, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Driver:
    teams = noted.of("teams")
    teams.conclude = noted.conclude
    env = SimpleNamespace(
        own=(),
        marks=None,
        clock=clock,
        announcing=asyncio.Lock(),
        repos=SimpleNamespace(journal=SimpleNamespace(of_type=_no_events)),
        journal=SimpleNamespace(append_if=noted.append_if),
        server_problems=noted.server_problems,
    )
    made = Driver(env, noted, teams, SimpleNamespace())  # type: ignore[arg-type]
    made._calls = noted.of("calls")

    class Model:
        def __init__(self, *_given: object) -> None: ...

        async def perform(self, *, with_tools: bool) -> None:
            noted.done.append(("model", with_tools))

        def cut_off(self, reason: str) -> list[EventBody]:
            return []

    async def sampled(_env: object, _handle: object, asked: Any, key: str, _follow: object) -> None:
        noted.done.append(("sample", asked.call.id, key))

    monkeypatch.setattr(module, "ModelCall", Model)
    monkeypatch.setattr(mcp_server_requests, "sample_for_call", sampled)
    return made


STEPS: list[tuple[Step, list[tuple[Any, ...]], list[str]]] = [
    (Append((RunResumed(), RunPaused(reason=PauseReason.USER))), [], ["run_resumed", "run_paused"]),
    (CallModel(), [("model", True)], []),
    (CallModel(with_tools=False), [("model", False)], []),
    (BeginCalls(()), [("begin", ())], []),
    (RunCalls(()), [("run", ())], []),
    (SampleForServer("a", "key"), [("sample", "a", "key")], []),
    (RecoverCalls(()), [("recover", ())], []),
    (FINISH, [("conclude",)], ["run_finished"]),
    (StartChildren(("k", "l")), [("start", ("k", "l"))], []),
    (AnswerChildren(("k", "l")), [("answer", "k", NO_ANSWER, "engine"), ("answer", "l", NO_ANSWER, "engine")], []),
    (StopChildren(), [("stop_below",)], []),
]


@pytest.mark.parametrize(("step", "done", "committed"), STEPS, ids=[type(each[0]).__name__ for each in STEPS])
async def test_each_step_is_performed_by_its_component(
    driver: Driver, noted: Noted, step: Step, done: list[tuple[Any, ...]], committed: list[str]
) -> None:
    noted.current = Script().add(reply("", call("a")), started("a")).state
    await driver._perform(step, noted.current)
    assert ([tuple(each) for each in noted.done], [body.type for body in noted.committed]) == (done, committed)


async def test_events_computed_from_a_state_are_not_committed_to_another(driver: Driver, noted: Noted) -> None:
    before = noted.current
    noted.current = Script().add(reply("more")).state
    for step in (Append((RunResumed(),)), FINISH):
        await driver._perform(step, before)
    assert noted.committed == []


async def test_a_run_ends_as_its_step_determines(driver: Driver, noted: Noted) -> None:
    await driver._perform(Finish(Ending(RunStatus.COMPLETED, "done", result="42", misfit="no number")), noted.current)
    assert noted.committed == [RunFinished(status=RunStatus.COMPLETED, summary="done", result="42", misfit="no number")]


@pytest.mark.parametrize(("servers", "problems", "replied", "said", "asked", "lacking"), [
    (("docs",), (PROBLEM,), False, False, True, True),
    (("docs",), (), False, False, True, False),
    ((), (PROBLEM,), False, False, False, False),
    (("docs",), (PROBLEM,), True, False, False, False),
    (("docs",), (PROBLEM,), False, True, False, False),
])  # fmt: skip
async def test_server_problems_are_reported_once_before_the_first_reply(
    driver: Driver,
    noted: Noted,
    servers: tuple[str, ...],
    problems: tuple[ServerProblem, ...],
    replied: bool,
    said: bool,
    asked: bool,
    lacking: bool,
) -> None:
    script = Script(config=agent(mcp_servers=servers))
    if replied:
        script.add(reply("one"))
    if said:
        script.add(ServersLacking(problems=(PROBLEM,)))
    noted.problems, noted.current = problems, script.state
    await driver._perform(CallModel(), noted.current)
    assert (("server_problems", servers) in noted.done, noted.committed) == (
        asked,
        [ServersLacking(problems=problems)] if lacking else [],
    )
    assert (("model", True) in noted.done) is not lacking, "what was said is judged anew before the model is asked"


@pytest.mark.parametrize(("begun", "cut_off", "waited", "capped", "paused", "resumed"), [
    (False, False, False, False, False, False), (True, False, False, False, False, True),
    (True, True, False, False, False, False),
    (False, False, True, True, False, True), (False, False, True, False, False, False),
    (False, False, False, True, False, False),
    (True, False, True, True, True, False),
])  # fmt: skip
async def test_resuming_a_run_restarts_its_clock_where_that_counts(
    driver: Driver, noted: Noted, begun: bool, cut_off: bool, waited: bool, capped: bool, paused: bool, resumed: bool
) -> None:
    script = Script(config=agent(budget=Budget(max_seconds=5 if capped else None))).add(reply("", call("a")))
    if begun:
        script.add(started("a"))
    if paused:
        script.add(RunPaused(reason=PauseReason.USER))
    state = script.state
    noted.current = replace(state, steps=3, calls=tuple(replace(each, cut_off=cut_off) for each in state.calls))
    await driver._recover(waited)
    assert noted.committed == ([RunResumed(steps=3)] if resumed else [])


class Slot:
    """The only slot; acquiring it involves waiting or not."""

    def __init__(self, waited: bool) -> None:
        self.waited, self.in_use, self.freed = waited, list[str](), list[str]()

    async def acquire(self, root: str) -> bool:
        self.in_use.append(root)
        return self.waited

    def free(self, root: str) -> None:
        self.freed.append(root)


@pytest.mark.parametrize("waited", [False, True])
async def test_a_period_of_work_acquires_and_releases_one_slot(driver: Driver, noted: Noted, waited: bool) -> None:
    noted.current = Script(config=agent(budget=Budget(max_seconds=5))).state
    driver._slots = slots = Slot(waited)  # type: ignore[assignment]
    left: list[Step] = [CallModel(), CallModel(), Wait("user")]
    driver._step = lambda state: left.pop(0)  # type: ignore[method-assign]
    await driver.drive()
    assert (slots.in_use, slots.freed, driver.waits_for_slot) == (["r"], ["r"], False)
    assert [each[0] for each in noted.done] == ["model", "model"]
    assert noted.committed == ([RunResumed(steps=noted.current.steps)] if waited else [])


@pytest.mark.parametrize(("kind", "ends"), [(None, True), ("cancel", True), ("message", False)])
async def test_a_cancelled_period_ends_or_continues_depending_on_the_stop(
    driver: Driver, noted: Noted, kind: Any, ends: bool
) -> None:
    driver._slots = slots = Slot(False)  # type: ignore[assignment]
    steps: list[str] = []

    async def advance_() -> bool:
        steps.append("step")
        if len(steps) == 1:
            await asyncio.get_running_loop().create_future()
        return False

    driver._advance = advance_  # type: ignore[method-assign]
    task = asyncio.ensure_future(driver.drive())
    while not steps:
        await asyncio.sleep(0)
    if kind is not None:
        driver.stop = Stop(
            kind, asyncio.get_running_loop().create_future(), then=(RunResumed(),) if kind == "message" else ()
        )
        if kind == "cancel":
            noted.after = Script().add(RunFinished(status=RunStatus.CANCELLED)).state
    task.cancel()
    await asyncio.wait({task})
    assert (task.cancelled(), len(steps), slots.freed) == (kind is None, 1 if ends else 2, ["r"])
    assert [body.type for body in noted.committed] == {
        None: [],
        "cancel": ["run_finished"],
        "message": ["run_resumed"],
    }[kind]
    assert len(slots.in_use) == 1


@pytest.mark.parametrize(("step", "can"), [
    (Wait("user"), True), (Wait("approval"), True), (Wait("children"), True), (Wait("parent"), True),
    (Wait("paused"), False), (Wait("failed"), False), (CallModel(), True), (BeginCalls(()), True),
    (StartChildren(()), True),
    (Append(()), False), (FINISH, False), (Done(), False), (RunCalls(()), False),
])  # fmt: skip
def test_points_at_which_a_run_can_be_paused(driver: Driver, step: Step, can: bool) -> None:
    assert driver._can_pause_before(step) is can


async def test_a_pause_comes_between_steps_and_is_pending_until_recorded(driver: Driver, noted: Noted) -> None:
    driver.pause_requested = True
    driver._step = lambda state: CallModel()  # type: ignore[method-assign]
    noted.meanwhile = Script().add(reply("more")).state
    assert await driver._advance()
    assert (driver.pause_requested, noted.committed) == (True, []), (
        "something was said in that moment: it is judged anew"
    )
    assert await driver._advance()
    assert (driver.pause_requested, noted.committed, noted.done) == (False, [RunPaused(reason=PauseReason.USER)], [])


async def test_a_wait_ends_the_period_and_a_step_does_not(driver: Driver, noted: Noted) -> None:
    for step, goes_on in ((Wait("user"), False), (Done(), False), (CallModel(), True)):
        driver._step = lambda state, step=step: step  # type: ignore[method-assign, misc]
        assert await driver._advance() is goes_on
    assert noted.done == [("model", True)]


@pytest.mark.parametrize(("errors", "worst"), [
    ([ValueError("a"), KeyError("b")], 0), ([ValueError("a"), StorageError("b")], 1),
    ([ExceptionGroup("x", [ValueError("a")]), KeyError("b")], 0),
    ([KeyError("a"), ExceptionGroup("x", [OSError("b"), StorageError("c")])], 1),
])  # fmt: skip
def test_of_several_errors_the_most_informative_is_reported(errors: list[Exception], worst: int) -> None:
    found = errors[worst]
    found = next((each for each in found.exceptions if isinstance(each, StorageError)),
    found.exceptions[0]) if isinstance(
        found, ExceptionGroup
    ) else found  # fmt: skip
    assert module._worst(ExceptionGroup("all", errors)) is found


@pytest.mark.parametrize(("worked", "value"), [(4.99, 5.0), (7.25, 7.25)])
def test_a_time_limit_is_reported_as_reached_at_or_above_the_limit(driver: Driver, worked: float, value: float) -> None:
    script = Script(config=agent(budget=Budget(max_seconds=5))).add(reply("", call("a"), call("b")), started("a"))
    bodies = driver._out_of_time(replace(script.state, elapsed_ms=round(worked * 1000)))
    assert bodies is not None
    cut, *rest = bodies
    assert isinstance(cut, ToolCallFinished)
    assert (cut.call_id, cut.status, OUT_OF_TIME in cut.text) == ("a", CallStatus.TIMEOUT, True)
    assert rest == [LimitReached(limit=LimitKind.TIME, value=value, cap=5), RunPaused(reason=PauseReason.LIMIT)]
    paused = script.add(RunPaused(reason=PauseReason.USER)).state
    assert driver._out_of_time(paused) is None


async def test_a_timed_out_step_ends_before_that_is_recorded_even_when_it_fails(
    driver: Driver, noted: Noted, clock: ManualClock
) -> None:
    noted.current = Script(config=agent(budget=Budget(max_seconds=500))).state
    noted.current = replace(noted.current, last_time=clock.now())
    over: list[str] = []

    async def stubborn() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)
            over.append("over")
            raise ValueError("odd")

    real = noted.append_if

    async def append_if(*given: Any, **more: Any) -> bool:
        over.append("written, and what was received of a reply is gone" if more["clear_partial"] else "written")
        return await real(*given)

    driver._env.journal.append_if = append_if  # type: ignore[method-assign]

    doing = asyncio.ensure_future(driver._in_time(noted.current, stubborn()))
    await clock.settle()
    await clock.advance(501)
    await doing
    assert (over, [body.type for body in noted.committed]) == (
        ["over", "written, and what was received of a reply is gone"], ["limit_reached", "run_paused"],
    )  # fmt: skip


async def test_a_fault_within_the_time_limit_is_raised_by_the_step(driver: Driver, noted: Noted) -> None:
    async def broken() -> None:
        raise ValueError("odd")

    state = Script(config=agent(budget=Budget(max_seconds=500))).state
    with pytest.raises(ValueError, match="odd"):
        await driver._in_time(state, broken())
    assert noted.committed == []


@pytest.mark.parametrize("final_only", [False, True])
async def test_a_last_answer_may_take_longer(
    driver: Driver, noted: Noted, clock: ManualClock, final_only: bool
) -> None:
    state = Script(config=agent(budget=Budget(max_seconds=500))).state
    noted.current = replace(state, final_only=final_only, last_time=clock.now())
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()
        noted.done.append(("worked",))

    doing = asyncio.ensure_future(driver._in_time(noted.current, work()))
    await clock.settle()
    await clock.advance(501)
    gate.set()
    await doing
    assert (noted.done == [("worked",)]) is final_only


@pytest.mark.parametrize(("kind", "paused", "final", "committed", "done"), [
    ("cancel", False, False, ["run_finished"], True), ("message", False, False, ["user"], True),
    ("message", True, False, ["user", "run_resumed"], True), ("cancel", True, False, ["run_finished"], True),
    ("message", False, True, [], False), ("cancel", False, True, [], False),
])  # fmt: skip
async def test_a_stop_is_recorded_and_acknowledged(
    driver: Driver, noted: Noted, kind: Any, paused: bool, final: bool, committed: list[str], done: bool
) -> None:
    script = Script()
    if paused:
        script.add(RunPaused(reason=PauseReason.USER))
    if final:
        script.add(RunFinished(status=RunStatus.COMPLETED))
    noted.current = script.state
    then = (RunPaused(reason=PauseReason.LIMIT),) if kind == "message" else ()
    stop = Stop(kind, asyncio.get_running_loop().create_future(), then=then)
    driver.stop, driver.pause_requested = stop, True
    assert await driver._advance(), "it is judged anew"
    assert noted.done == [("conclude", "clear_partial")]
    assert ["user" if body in then else body.type for body in noted.committed] == committed
    assert (stop.done.result(), driver.pause_requested) == (done, not paused or final)
    assert driver.stop is None


def test_a_call_is_closed_with_the_message_of_its_own_request() -> None:
    script = Script().add(reply("", call("a"), call("b")))
    asked = ApprovalRequest(workflow_id="w", run_id="r", call_id="b", tool="Deploy", arguments={"x": 9}, risk="high")
    script.add(ApprovalRequested(approval=asked))
    begun = [
        each for each in closing_events(script.state, CallStatus.CANCELLED, "over") if isinstance(each, ToolCallStarted)
    ]
    assert [(each.call_id, each.tool, each.arguments) for each in begun] == [
        ("a", "CalculatorTool", {}),
        ("b", "Deploy", {"x": 9}),
    ]


def test_a_call_stopped_before_it_began_has_the_words_and_icon_of_its_tool() -> None:
    right = tool_call("CalculatorTool", "a", operation="eval", expression="19*2")
    script = Script().add(reply("", right, tool_call("CalculatorTool", "b", wrong=1)))
    stopped = closing_events(script.state, CallStatus.CANCELLED, "over")
    shown = [each.presentation for each in stopped if isinstance(each, ToolCallStarted)]
    assert [(each.icon, each.title) for each in shown] == [("calculator", "Calculator")] * 2
    assert [each.summary.params for each in shown] == [{"expression": "19 × 2"}, {}]


@pytest.mark.parametrize(("keep", "over", "closed"), [(True, True, []), (True, False, ["c"]), (False, True, ["c"])])
def test_a_call_whose_sub_agents_have_ended_keeps_its_reports(keep: bool, over: bool, closed: list[str]) -> None:
    script = Script().add(reply("", call("c", "plan_actions")), started("c", "plan_actions"))
    plan = ChildPlan(id="k", name="k", agent=agent(), prompt="x")
    script.add(ChildrenPlanned(call_id="c", kind=TeamCall.PLAN, children=(plan,)), ChildStarted(child_id="k"))
    if over:
        script.add(ChildFinished(child_id="k", status=ChildStatus.COMPLETED))
    at = START + timedelta(seconds=60)
    ends = closing_events(script.state, CallStatus.CANCELLED, "over", keep_reports=keep, at=at)
    assert [each.call_id for each in ends if isinstance(each, ToolCallFinished)] == closed
