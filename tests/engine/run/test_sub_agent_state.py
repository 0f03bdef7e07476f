"""Sub-agents in their parent's state: stages, what a call waits for, shares of the budget, and reports to the
model.
"""

# judges: app/atelier_desk/engine/run/reducer/reduce_approvals_sub_agents.py
# judges: app/atelier_desk/engine/run/reducer/reduce.py
# judges: app/atelier_desk/engine/run/reducer/next_step.py
from __future__ import annotations

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.events.run import (
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildStarted,
    LimitKind,
    LimitsRaised,
    PauseReason,
    RunPaused,
)
from atelier_desk.domain.sub_agent import ChildStatus, Spending
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.run import sub_agent_state
from atelier_desk.engine.run.reducer.next_step import Append, CallModel, StartChildren, Wait, next_step
from tests.engine.run.planned_sub_agents import after, end, planned
from tests.helpers.runs_without_driver import call, finished, reply, started


def test_a_stage_starts_when_the_previous_one_has_ended() -> None:
    state = planned(0, 0, 1)
    assert next_step(state) == StartChildren(("k0", "k1"))
    state = after(state, ChildStarted(child_id="k0"), ChildStarted(child_id="k1"))
    assert (next_step(state), state.status) == (Wait("children"), RunStatus.AWAITING_CHILDREN)
    state = after(state, end("k1", ChildStatus.ERROR))
    assert next_step(state) == Wait("children")
    assert next_step(after(state, end("k0"))) == StartChildren(("k2",))


def test_after_a_failure_a_sequential_plan_skips_the_rest() -> None:
    state = after(
        planned(0, 1, 2, stop_on_error=True), ChildStarted(child_id="k0"), end("k0", ChildStatus.ERROR, error="broke")
    )
    step = next_step(state)
    assert isinstance(step, Append)
    assert [(body.child_id, body.status) for body in step.bodies if isinstance(body, ChildFinished)] == [
        ("k1", ChildStatus.NOT_RUN),
        ("k2", ChildStatus.NOT_RUN),
    ]
    state = after(state, *step.bodies)
    assert [body.type for body in next_step(state).bodies] == ["tool_call_finished"]  # type: ignore[union-attr]


def test_a_call_is_settled_when_all_have_ended_or_wait_for_an_answer() -> None:
    state = after(
        planned(0, 0), ChildStarted(child_id="k0"), ChildStarted(child_id="k1"), ChildAsked(child_id="k0", message="?")
    )
    assert next_step(state) == Wait("children")
    assert isinstance(next_step(after(state, end("k1"))), Append)
    assert next_step(after(state, ChildAnswered(child_id="k0", text="!"), end("k1"))) == Wait("children")


def test_in_the_background_the_call_has_its_result_at_once() -> None:
    state = after(planned(0, background=True), ChildStarted(child_id="k0"))
    step = next_step(state)
    assert isinstance(step, Append)
    state = after(state, *step.bodies)
    assert isinstance(next_step(state), CallModel)
    assert next_step(after(state, reply("I wait."))) == Wait("children")


def test_a_share_counts_until_the_end_and_then_the_actual_usage() -> None:
    state = planned(0, budget=Budget(max_tokens=100, max_tool_calls=9))
    assert (state.spent.tokens, state.spent.tool_calls) == (15, 1)
    state = after(state, ChildStarted(child_id="k0", share=Budget(max_tokens=80, max_tool_calls=5)))
    assert (state.spent.tokens, state.spent.tool_calls) == (95, 6)
    raised = after(state, LimitsRaised(child_id="k0", raise_limits={LimitKind.TOKENS: 40, LimitKind.COST: 1.0}))
    assert (raised.spent.tokens, raised.raised_limits[LimitKind.TOKENS]) == (135, 40)
    assert raised.children[0].share == Budget(max_tokens=120, max_tool_calls=5)
    used = Spending(usage=state.usage.model_copy(update={"tokens_input": 7, "tokens_output": 0}), tool_calls=2)
    assert (after(state, end("k0", spent=used)).spent.tokens, after(state, end("k0", spent=used)).spent.tool_calls) == (
        22,
        3,
    )


def test_an_ended_sub_agent_keeps_its_outcome() -> None:
    state = after(
        planned(0), ChildStarted(child_id="k0"), end("k0", report="first"), end("k0", ChildStatus.ERROR, error="late")
    )
    assert (state.children[0].status, state.children[0].report) == (ChildStatus.COMPLETED, "first")
    assert after(state, ChildAsked(child_id="k0", message="?")).children[0].question == ""


def test_only_a_result_with_a_report_counts_as_reporting_the_end() -> None:
    state = after(planned(0, background=True), ChildStarted(child_id="k0"))
    state = after(state, *next_step(state).bodies, end("k0", ChildStatus.CANCELLED))  # type: ignore[union-attr]
    state = after(state, reply("", call("t", "SpawnAgentTool")), started("t", "SpawnAgentTool"))
    for result, told in (
        ({"child_id": "k0"}, False),
        ({"child_id": "other", "report": "r"}, False),
        ({"child_id": "k0", "report": "r"}, True),
    ):
        assert after(state, finished("t", "SpawnAgentTool", result=result)).children[0].told is told


def test_a_pause_holds_a_run_that_waits_for_its_sub_agents() -> None:
    state = after(planned(0, 1), ChildStarted(child_id="k0"), RunPaused(reason=PauseReason.USER), end("k0"))
    assert (next_step(state), state.status) == (Wait("paused"), RunStatus.PAUSED)
    assert sub_agent_state.startable(state)[0].id == "k1"
