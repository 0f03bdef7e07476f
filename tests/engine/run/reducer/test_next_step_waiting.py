"""The next step while waiting for a person, a sub-agent with a question, or a server; and what the model is told
then.
"""

# judges: app/atelier_desk/engine/run/reducer/reduce.py
# equivalent: next_step.py module: `Work | Append | StartChi…werChildren` → `Work | Append | StartChildren`
#   A type, for annotations alone.
# equivalent: next_step.py module: `CallModel | BeginCalls | RunCalls` → `CallModel | BeginCalls`
#   A type, for annotations alone.
# equivalent: next_step.py module: `CallModel | BeginCalls |…ecoverCalls` → `CallModel | BeginCalls |…leForServer`
#   A type, for annotations alone.
from __future__ import annotations

from dataclasses import replace
from typing import Literal

from atelier_desk.domain.events.run import (
    ChildAsked,
    ChildStarted,
    ImagesRejected,
    Injected,
    InputSent,
    QuestionAnswered,
    TaskChanged,
    ToolCallFinished,
)
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.engine.run.reducer.next_step import AnswerChildren, Append, CallModel, Finish, Wait, next_step
from atelier_desk.engine.run.reducer.state import CallInput, RunState, model_key
from tests.engine.run.planned_sub_agents import after, end, planned
from tests.engine.run.reducer.sample_question import question
from tests.helpers.runs_without_driver import Script, call, finished, reply, started


def told(state: RunState) -> str:
    """The note to the model in the next step."""
    step = next_step(state)
    assert isinstance(step, Append)
    (body,) = step.bodies
    assert isinstance(body, Injected)
    return body.content


def test_the_first_ten_open_tasks_are_named_and_a_guided_model_is_not_asked() -> None:
    script = Script()
    for number in range(12):
        task = Task(id=f"t{number}", workflow_id="w", run_id="r", name=f"<{number}>", status=TaskStatus.PENDING)
        script.add(TaskChanged(action="create", task=task))
    state = script.add(reply("done")).state
    assert [number for number in range(12) if f"<{number}>" in told(state)] == list(range(10))
    assert isinstance(next_step(replace(state, dialect="guided")), Finish)
    assert told(replace(state, dialect="native")) == told(state)


def test_a_sub_agents_question_is_reported_once_and_closed_at_the_end() -> None:
    state = after(planned(0, background=True), finished("c", "plan_actions"), ChildStarted(child_id="k0"))
    state = after(state, ChildAsked(child_id="k0", message="Which colour?"))
    assert "Which colour?" in told(state)
    step = next_step(state)
    assert isinstance(step, Append)
    state = after(state, *step.bodies)
    assert next_step(state) == CallModel()
    assert next_step(after(state, reply("I do not know"))) == AnswerChildren(("k0",))


def test_a_call_that_needs_approval_is_waited_for() -> None:
    state = Script().add(reply("", call("a"))).state
    assert next_step(replace(state, calls=(replace(state.calls[0], status="asked"),))) == Wait("approval")
    assert next_step(_waiting(state, "user")) == Wait("user")
    assert next_step(_waiting(state, "parent")) == Wait("parent")


def _waiting(state: RunState, for_whom: Literal["user", "parent"]) -> RunState:
    return replace(state, calls=(replace(state.calls[0], status="waiting", waits_for=for_whom),))


def test_a_call_is_repeated_with_its_servers_answers_or_ended_by_its_name() -> None:
    state = Script().add(reply("", call("a", "mcp__shop__buy")), started("a", "mcp__shop__buy")).state
    given = CallInput("shop", "s", 1, {}, ())
    ready = replace(state.calls[0], status="ready", input=given)
    assert next_step(replace(state, calls=(ready,))) == Append((InputSent(call_id="a", server="shop"),))
    asked = tuple(question(call_id, id) for call_id, id in (("a", "q1"), ("b", "q2"), ("a", "q3")))
    step = next_step(replace(state, calls=(replace(ready, input=replace(given, refused="no")),), questions=asked))
    assert isinstance(step, Append)
    *closed, ended = step.bodies
    assert closed == [
        QuestionAnswered(question_id=id, call_id="a", status=QuestionStatus.SKIPPED) for id in ("q1", "q3")
    ]
    assert isinstance(ended, ToolCallFinished)
    assert (ended.call_id, ended.tool, ended.status.value) == ("a", "mcp__shop__buy", "error")
    assert "The MCP server shop wanted to ask a model" in ended.model_dump_json()


def test_the_model_learns_that_a_person_edited_its_sub_agents_tasks() -> None:
    state = after(planned(0), ChildStarted(child_id="k0"), end("k0", ChildStatus.COMPLETED))
    for edited in (True, False):
        step = next_step(replace(state, calls=(replace(state.calls[0], edited=edited),)))
        assert isinstance(step, Append)
        (ended,) = step.bodies
        assert isinstance(ended, ToolCallFinished)
        assert ("The user changed the arguments" in ended.model_dump_json()) is edited


def test_a_last_answer_is_given_with_all_reports() -> None:
    state = after(planned(0, background=True), finished("c", "plan_actions"), ChildStarted(child_id="k0"), end("k0"))
    assert next_step(state) == CallModel()
    assert "k0" in told(replace(state, final_only=True))
    asked = after(
        planned(0, background=True), finished("c", "plan_actions"), ChildAsked(child_id="k0", message="Which?")
    )
    assert next_step(replace(asked, final_only=True)) == CallModel(with_tools=False)


def test_images_a_model_refused_are_not_sent_to_it_again() -> None:
    script = Script().add(ImagesRejected(reason="no", entries=(1,)))
    before = script.state
    assert before.left_out == (1,)
    after_reply = script.add(reply("I see")).state
    assert after_reply.left_out == ()
    assert [each.refused for each in after_reply.entries if each.seq in (1,)] == [
        (model_key(before.agent),) for each in before.entries if each.seq in (1,)
    ]
    assert [each.refused for each in script.add(reply("more")).state.entries] == [
        each.refused for each in after_reply.entries
    ] + [()]
