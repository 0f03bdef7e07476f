"""The fold of the engine's tree and of stream events."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atelier_desk.desktop.team.agent_state_labels import doing
from atelier_desk.domain.agent import Budget
from atelier_desk.presentation.rows.team_state import TeamState
from tests.desktop.team.sample_team_events import START, event, started, sub_agent_event, tree


@pytest.fixture
def state() -> TeamState:
    made = TeamState()
    for each in started():
        made.feed(each)
    return made


def test_events_alone_build_the_tree_at_any_depth(state: TeamState) -> None:
    assert [(member.name, member.depth, member.status) for member in state.walk("ada")] == [
        ("Ada", 0, "awaiting_children"),
        ("Bea", 1, "awaiting_children"),
        ("Dot", 2, "processing"),
        ("Cid", 1, "processing"),
    ]
    assert [member.run_id for member in state.path("dot")] == ["ada", "bea", "dot"]
    assert [member.title for member in state.of_call("ada", "p1")] == ["Review the types", "Write the tests"]
    assert state.members["dot"].current_tool == "CalculatorTool"
    assert state.counting


def test_a_described_call_is_shown_by_its_description(state: TeamState) -> None:
    dot = state.members["dot"]
    assert doing(dot) == "CalculatorTool"
    shown = {"title": "Run a command", "summary": {"text": "Run “{command}”", "params": {"command": "make test"}}}
    state.feed(event(21, "tool_start", "dot", call_id="s1", tool="run_command", presentation=shown))
    assert doing(dot) == "Run “make test”"
    state.feed(event(22, "tool_end", "dot", call_id="s1", tool="run_command", success=True))
    assert doing(dot) == "CalculatorTool"
    assert not dot.call_texts


def test_the_engines_tree_gives_the_same_state_and_more(state: TeamState) -> None:
    assert state.load(tree()) == {"ada", "bea", "cid", "dot"}
    assert [member.run_id for member in state.walk("ada")] == ["ada", "bea", "dot", "cid"]
    assert state.members["ada"].budget == Budget(max_tokens=1_000, max_cost=2.0)
    total = state.total("ada", START)
    assert (total.tokens, total.tool_calls, total.elapsed_ms) == (220, 3, 4_000)
    assert state.total("bea", START).tokens == 50


def test_a_tree_alone_is_enough_and_a_planned_agent_waits_in_it() -> None:
    state = TeamState()
    state.load(tree(cid={"status": "planned", "elapsed_ms": 0}))
    assert [member.status for member in state.of_call("ada", "p1")] == ["awaiting_children", "planned"]
    state.feed(sub_agent_event(20, "cid", call_id="p1"))
    assert state.members["cid"].status == "processing"
    assert state.members["cid"].counting_since == START + timedelta(seconds=20)


def test_time_counts_only_while_it_works(state: TeamState) -> None:
    dot = state.members["dot"]
    assert dot.elapsed(START + timedelta(seconds=20)) == pytest.approx(10_000)
    state.feed(event(22, "run_status", "dot", status="awaiting_user"))
    assert dot.elapsed(START + timedelta(seconds=99)) == pytest.approx(12_000)
    state.feed(event(30, "run_status", "dot", status="processing"))
    assert dot.elapsed(START + timedelta(seconds=31)) == pytest.approx(13_000)


def test_usage_is_each_agents_own_and_sums_upwards(state: TeamState) -> None:
    own = {"tokens_input": 7, "tokens_output": 3, "cost": 0.25}
    usage_event = event(14, "usage", "dot", **own, own=own, run={"tokens_input": 700})
    state.feed(usage_event)
    state.feed(usage_event)  # after loading a tree, events are applied again, and count once
    dot = state.members["dot"]
    assert (dot.tokens_input, dot.tokens_output) == (7, 3)
    assert state.total("ada", START).tokens == 130
    assert state.total("ada", START).cost == pytest.approx(0.75)


def test_a_streaming_reply_is_counted_once(state: TeamState) -> None:
    figures = {"tokens_input": 30, "tokens_output": 12, "cost": 0.1, "current_tool": "CalculatorTool", "progress": 40}
    assert state.feed(sub_agent_event(14, "dot", what="sub_agent_progress", **figures)) == {"dot"}
    assert state.members["dot"].progress == 40
    assert state.total("dot", START).tokens == 42
    state.feed(event(15, "usage", "dot", own={"tokens_input": 30, "tokens_output": 14, "cost": 0.1}))
    assert state.total("dot", START).tokens == 44


def test_an_end_adds_the_report_and_preserves_reported_figures(state: TeamState) -> None:
    state.feed(event(14, "run_status", "cid", status="cancelled"))
    state.feed(sub_agent_event(14, "cid", what="sub_agent_error", report="half", error="cancelled", status="cancelled"))
    cid = state.members["cid"]
    assert (cid.status, cid.report, cid.over, cid.counting_since) == ("cancelled", "half", True, None)
    state.feed(sub_agent_event(15, "dot", what="sub_agent_complete", report="fine"))
    assert (state.members["dot"].status, state.members["dot"].report, state.members["dot"].current_tool) == (
        "completed",
        "fine",
        "",
    )


def test_a_limit_is_known_from_events_and_from_the_tree(state: TeamState) -> None:
    state.feed(event(14, "limit_reached", "dot", reason="tokens", details={"value": 42.0, "cap": 40.0}))
    state.feed(event(14, "run_status", "dot", status="paused"))
    dot = state.members["dot"]
    assert (dot.at_limit, dot.limit, dot.value, dot.cap, dot.needs_person) == (True, "tokens", 42.0, 40.0, True)
    state.feed(event(15, "run_status", "dot", status="processing"))
    assert not dot.at_limit
    figures = {"value": 10.0, "cap": 8.0}
    state.load(tree(dot={"status": "paused", "pause": "limit", "limit": "tokens", "limit_figures": figures}))
    assert (dot.at_limit, dot.value, dot.cap) == (True, 10.0, 8.0)


def test_pending_questions_appear_and_disappear(state: TeamState) -> None:
    dot = state.members["dot"]
    state.feed(event(14, "user_question_start", "dot", user_question={"question_id": "q", "question": "Which?"}))
    state.feed(event(14, "validation_required", "dot", validation_id="v"))
    state.feed(sub_agent_event(14, "dot", what="sub_agent_question", question="May I?"))
    assert (dot.questions, dot.approvals, dot.question) == ({"q": "Which?"}, {"v"}, "May I?")
    state.feed(event(15, "user_question_complete", "dot", question_id="q"))
    state.feed(event(15, "validation_response", "dot", validation_id="v"))
    state.feed(sub_agent_event(15, "dot", what="sub_agent_answer", content="Yes"))
    assert (dot.questions, dot.approvals, dot.question) == ({}, set(), "")


def test_streamed_text_and_other_workflows_change_nothing(state: TeamState) -> None:
    assert state.feed(event(20, "token", "dot", content="hi")) == set()
    assert state.feed(event(20, "message", "dot", content="hi")) == set()
