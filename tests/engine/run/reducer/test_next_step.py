"""The next step: defined for, and right in, every state of a run."""

# judges: app/atelier_desk/engine/run/reducer/reduce.py
from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.run import (
    EventBody,
    Injected,
    LimitKind,
    LimitReached,
    LoopDetected,
    ModelReplied,
    PauseReason,
    QuestionAsked,
    RunFailed,
    RunPaused,
    RunResumed,
    TaskChanged,
    ToolCallFinished,
    ToolCallStarted,
    UserMessage,
)
from atelier_desk.domain.question import QuestionSpec, QuestionType, UserQuestion
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.engine.run.reducer.conversation_entries import EntryKind
from atelier_desk.engine.run.reducer.next_step import (
    Append,
    BeginCalls,
    CallModel,
    Done,
    Finish,
    RecoverCalls,
    RunCalls,
    Step,
    Wait,
    next_step,
)
from atelier_desk.engine.run.reducer.reduce import ARE_YOU_DONE, FINISH_NOW
from tests.helpers.runs_without_driver import Script, agent, call, finished, interpret, reply, started


def test_message_then_model_then_finish() -> None:
    script = Script()
    assert next_step(script.state) == CallModel()
    script.add(reply("hi"))
    step = next_step(script.state)
    assert isinstance(step, Finish)
    assert (step.ending.status, step.ending.result) == (RunStatus.COMPLETED, "hi")


def test_calls_are_executed_then_the_model_is_asked_again() -> None:
    script = Script().add(reply("", call("a"), call("b")))
    step = next_step(script.state)
    assert isinstance(step, BeginCalls)
    assert [c.call.id for c in step.calls] == ["a", "b"]
    script.add(started("a"), finished("a"))
    step = next_step(script.state)
    assert isinstance(step, BeginCalls)
    assert [c.call.id for c in step.calls] == ["b"]


def test_started_calls_run_before_anything_else() -> None:
    script = Script().add(reply("", call("a"), call("b")), started("a"))
    step = next_step(script.state)
    assert isinstance(step, RunCalls)
    assert [c.call.id for c in step.calls] == ["a"]


def test_calls_started_before_a_resume_are_recovered() -> None:
    interrupted = RunPaused(reason=PauseReason.INTERRUPTED, ended="killed")
    script = Script().add(
        reply("", call("a"), call("b"), call("c")), started("a"), started("b"), interrupted, RunResumed()
    )
    step = next_step(script.state)
    assert isinstance(step, RecoverCalls)
    assert [c.call.id for c in step.calls] == ["a", "b"]
    script.add(finished("a"), finished("b"), started("c"))
    step = next_step(script.state)
    assert isinstance(step, RunCalls)
    assert [c.call.id for c in step.calls] == ["c"]


def test_question_waits_but_lets_the_other_calls_run() -> None:
    asked = UserQuestion(
        workflow_id="w", run_id="r", call_id="a", spec=QuestionSpec(question="?", question_type=QuestionType.TEXT)
    )
    script = Script().add(reply("", call("a"), call("b")), started("a"), QuestionAsked(question=asked))
    assert isinstance(next_step(script.state), BeginCalls)
    script.add(started("b"), finished("b"))
    assert next_step(script.state) == Wait("user")


def test_iteration_cap_pauses_before_the_next_request() -> None:
    script = Script(config=agent(max_tool_iterations=1)).add(reply("", call("a")), started("a"), finished("a"))
    assert next_step(script.state) == Append(
        (LimitReached(limit=LimitKind.ITERATIONS, value=1, cap=1), RunPaused(reason=PauseReason.LIMIT))
    )


def test_each_budget_stops_the_run() -> None:
    cases = {
        LimitKind.TOKENS: Budget(max_tokens=15),
        LimitKind.COST: Budget(max_cost=0.5),
        LimitKind.TIME: Budget(max_seconds=2),
    }
    for kind, budget in cases.items():
        script = Script(config=agent(budget=budget)).add(reply("", call("a"), cost=0.5), started("a"), finished("a"))
        step = next_step(script.state)
        assert isinstance(step, Append), kind
        assert isinstance(step.bodies[0], LimitReached)
        assert step.bodies[0].limit is kind
    script = Script(config=agent(budget=Budget(max_tool_calls=1))).add(
        reply("", call("a"), call("b")), started("a"), finished("a")
    )
    step = next_step(script.state)
    assert isinstance(step, Append)
    assert isinstance(step.bodies[0], LimitReached)
    assert step.bodies[0].limit is LimitKind.TOOL_CALLS


def test_raised_limit_lets_the_run_continue() -> None:
    script = Script(config=agent(max_tool_iterations=1)).add(reply("", call("a")), started("a"), finished("a"))
    step = next_step(script.state)
    assert isinstance(step, Append)
    script.add(*step.bodies)
    assert next_step(script.state) == Wait("paused")
    script.add(RunResumed(raise_limits={LimitKind.ITERATIONS: 1}))
    assert next_step(script.state) == CallModel()


def test_finish_now_asks_once_more_without_tools_whatever_the_limit() -> None:
    script = Script(config=agent(max_tool_iterations=1)).add(reply("", call("a")), started("a"), finished("a"))
    script.add(RunResumed(), Injected(reason=FINISH_NOW, content="finish"))
    assert next_step(script.state) == CallModel(with_tools=False)


def loop_of(count: int, result: str = "same") -> Script:
    script = Script()
    for number in range(count):
        script.add(reply("", call(f"c{number}", expression="1+1")))
        script.add(started(f"c{number}", arguments={"expression": "1+1"}), finished(f"c{number}", text=result))
        step = next_step(script.state)
        if isinstance(step, Append):
            script.add(*step.bodies)
    return script


def test_third_identical_call_warns_the_model_and_the_fifth_pauses() -> None:
    warned = loop_of(3)
    assert isinstance(warned.events[-2].body, LoopDetected)
    assert warned.events[-2].body.action == "warn"
    assert warned.state.entries[-1].kind is EntryKind.NOTE
    assert "3 times" in warned.state.entries[-1].text
    assert next_step(warned.state) == CallModel()
    paused = loop_of(5)
    assert isinstance(paused.events[-2].body, LoopDetected)
    assert paused.events[-2].body.action == "pause"
    assert paused.state.pause is PauseReason.LOOP
    assert sum(isinstance(event.body, LoopDetected) for event in paused.events) == 2


def test_a_changing_result_is_not_a_loop() -> None:
    script = Script()
    for number in range(8):
        script.add(
            reply("", call(f"c{number}", expression="1+1")),
            started(f"c{number}"),
            finished(f"c{number}", text=str(number)),
        )
        assert next_step(script.state) == CallModel()


def test_after_a_loop_pause_the_count_restarts() -> None:
    script = loop_of(5).add(RunResumed())
    assert next_step(script.state) == CallModel()
    for number in range(5):
        assert script.state.pause is None, "who said that it may go on is not asked again at the next call"
        script.add(reply("", call(f"again{number}", expression="1+1")))
        script.add(started(f"again{number}", arguments={"expression": "1+1"}), finished(f"again{number}", text="same"))
        step = next_step(script.state)
        if isinstance(step, Append):
            script.add(*step.bodies)
    assert script.state.pause is PauseReason.LOOP


def test_open_tasks_are_asked_about_once() -> None:
    task = Task(id="t", workflow_id="w", run_id="r", name="write tests", status=TaskStatus.PENDING)
    script = Script().add(TaskChanged(action="create", task=task), reply("done"))
    step = next_step(script.state)
    assert isinstance(step, Append)
    assert isinstance(step.bodies[0], Injected)
    assert step.bodies[0].reason == ARE_YOU_DONE
    assert "write tests" in step.bodies[0].content
    script.add(*step.bodies, reply("yes, done"))
    assert isinstance(next_step(script.state), Finish)


def test_stepping_pauses_before_each_step() -> None:
    script = Script(mode=RunMode.STEPPING)
    assert next_step(script.state) == Append((RunPaused(reason=PauseReason.STEP),))
    script.add(RunPaused(reason=PauseReason.STEP), RunResumed(steps=1))
    assert next_step(script.state) == CallModel()
    script.add(reply("", call("a")))
    assert next_step(script.state) == Append((RunPaused(reason=PauseReason.STEP),))
    script.add(RunPaused(reason=PauseReason.STEP), RunResumed(mode=RunMode.AUTO))
    assert isinstance(next_step(script.state), BeginCalls)


def test_failed_run_waits_and_finished_run_is_done() -> None:
    script = Script().add(RunFailed(code="unreachable", message="no"))
    assert next_step(script.state) == Wait("failed")
    done = Script()
    interpret(done, [reply("bye")])
    assert next_step(done.state) == Done()


def test_queued_message_is_answered_before_the_run_ends() -> None:
    script = Script().add(UserMessage(content="and then?"))
    state = interpret(script, [reply("one"), reply("two")])
    assert [entry.text for entry in state.entries] == ["hello", "one", "and then?", "two"]


IDS = st.sampled_from("abcd")
happenings = st.lists(
    st.one_of(
        st.lists(IDS, max_size=3, unique=True).map(lambda ids: reply("", *(call(id) for id in ids))),
        IDS.map(started),
        IDS.map(finished),
        st.sampled_from(PauseReason).map(lambda reason: RunPaused(reason=reason)),
        st.sampled_from([None, 0, 1]).map(lambda steps: RunResumed(steps=steps)),
        st.just(UserMessage(content="more")),
        st.just(RunFailed(code="x", message="x")),
    ),
    max_size=25,
)


@settings(max_examples=300, deadline=None)
@given(happenings)
def test_calls_run_in_their_order_and_are_recovered_after_a_resume(bodies: list[EventBody]) -> None:
    """In any case started calls come first, those found open by a resume are recovered, and nothing else depends
    on which they are.
    """
    script = Script()
    begun: dict[str, bool] = {}
    for body in bodies:
        before = {each.call.id: each.status for each in script.state.calls}
        script.add(body)
        if isinstance(body, ModelReplied):
            begun = {}
        elif isinstance(body, ToolCallStarted) and body.call_id in before:
            begun[body.call_id] = False
        elif isinstance(body, ToolCallFinished):
            begun.pop(body.call_id, None)
        elif isinstance(body, RunResumed):
            begun = dict.fromkeys(begun, True)
        state = script.state
        step = next_step(state)
        held = state.failed or state.status.final or state.pause is not None
        if held or not begun:
            assert not isinstance(step, RunCalls | RecoverCalls)
        elif any(begun.values()):
            assert isinstance(step, RecoverCalls)
            assert {each.call.id for each in step.calls} == {id for id, cut_off in begun.items() if cut_off}
        else:
            assert isinstance(step, RunCalls)
            assert {each.call.id for each in step.calls} == set(begun)
        if not begun:
            forgotten = replace(state, calls=tuple(replace(each, cut_off=False) for each in state.calls))
            assert _kind(next_step(forgotten)) == _kind(step)


def _kind(step: Step) -> object:
    """The step, with its calls by id; a finished call may have been interrupted once."""
    return [each.call.id for each in step.calls] if isinstance(step, BeginCalls) else step
