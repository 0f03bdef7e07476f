"""Results of calls for sub-agents: their exact form, within the length that the model can read."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.sub_agent import ChildState, ChildStatus, Spending, TeamCall
from atelier_desk.tools.teams.subagent_results import aggregated_report, compose, error_report, wall_ms, with_earlier
from tests.tools.teams.conftest import child

SPENT = Spending(usage=Usage(tokens_input=10, tokens_output=4, cost=0.002))
METRICS = {"duration_ms": 50, "tokens_input": 10, "tokens_output": 4, "cost": 0.002}
FREE = {"duration_ms": None, "tokens_input": 0, "tokens_output": 0, "cost": 0.0}


def test_spawn_gives_the_report_and_its_metrics() -> None:
    result = compose(TeamCall.SPAWN, {}, [child(spent=SPENT, duration_ms=50)])
    assert result.data == {
        "success": True,
        "child_id": "c1",
        "name": "Agent c1",
        "report": "Report of c1",
        "metrics": METRICS,
    }
    assert json.loads(result.text) == result.data
    assert not result.truncated


def test_a_sub_agent_that_was_refused_tools_names_them() -> None:
    assert compose(TeamCall.SPAWN, {}, [child(withheld=("run_command",))]).data["withheld_tools"] == ["run_command"]


def test_delegate_names_the_agent() -> None:
    data = compose(TeamCall.DELEGATE, {}, [child(spent=SPENT, duration_ms=50)]).data
    assert data == {
        "success": True,
        "agent_id": "id-c1",
        "child_id": "c1",
        "name": "Agent c1",
        "report": "Report of c1",
        "metrics": METRICS,
    }


@pytest.mark.parametrize(
    ("changes", "code", "title", "error"),
    [
        (
            {"status": ChildStatus.ERROR, "error": "The server is gone."},
            "child_failed",
            "# Sub-Agent Error",
            "The server is gone.",
        ),
        ({"status": ChildStatus.ERROR}, "child_failed", "# Sub-Agent Error", "It failed without saying why."),
        (
            {"status": ChildStatus.CANCELLED},
            "cancelled",
            "# Sub-Agent Cancelled",
            "It was stopped before it was finished.",
        ),
        (
            {"status": ChildStatus.ABANDONED, "error": "No such file."},
            "abandoned",
            "# Sub-Agent Abandoned",
            "No such file.",
        ),
        (
            {"status": ChildStatus.ERROR, "error": "No activity for 300 seconds."},
            "timeout",
            "# Sub-Agent Timeout",
            "No activity for 300 seconds.",
        ),
        (
            {"status": ChildStatus.ERROR, "error": "Failed after 3 attempts: 503."},
            "retries_exhausted",
            "# Sub-Agent Retry Exhausted",
            "Failed after 3 attempts: 503.",
        ),
    ],
)
def test_a_failed_one_gives_the_reason_and_its_partial_work(
    changes: dict[str, Any], code: str, title: str, error: str
) -> None:
    data = compose(TeamCall.SPAWN, {}, [child(**{"report": "Half.", **changes})]).data
    assert (data["success"], data["code"], data["error"]) == (False, code, error)
    assert data["report"] == f"{title}\n\n**Sub-agent**: Agent c1\n\n**Error**: {error}\n\n## Partial report\n\nHalf."
    assert "Partial" not in error_report(child(report=" ", **changes))


def test_parallel_gives_every_result_in_order_and_one_report() -> None:
    now = utc_now()
    children = [
        child("c1", duration_ms=100, started_at=now),
        child(
            "c2",
            status=ChildStatus.ERROR,
            error="No key.",
            report="",
            duration_ms=20,
            started_at=now + timedelta(milliseconds=150),
        ),
    ]
    data = compose(TeamCall.PARALLEL, {}, children).data
    assert (data["success"], data["completed"], data["failed"], data["code"]) == (False, 1, 1, "tasks_failed")
    assert data["error"] == "1 of 2 tasks did not succeed; see the results."
    first, second = data["results"]
    assert first == {
        "agent_id": "id-c1",
        "child_id": "c1",
        "name": "Agent c1",
        "success": True,
        "report": "Report of c1",
        "metrics": {**FREE, "duration_ms": 100},
    }
    assert second == {
        "agent_id": "id-c2",
        "child_id": "c2",
        "name": "Agent c2",
        "success": False,
        "error": "No key.",
        "metrics": {**FREE, "duration_ms": 20},
    }
    assert data["aggregated_report"] == (
        "# Parallel Execution Report\n\n**Batch ID**: call-1\n**Total Duration**: 170 ms\n**Completed**: 1 / "
        "2\n**Failed**: 1\n\n---\n\n"
        "## Agent: id-c1\n\n**Name**: Agent c1\n\nReport of c1\n\n## Agent: id-c2 (ERROR)\n\n**Name**: Agent c2\n\n"
        "Execution failed: No key."
    )


def test_all_of_a_batch_done_is_a_success() -> None:
    data = compose(TeamCall.PARALLEL, {}, [child("c1"), child("c2")]).data
    assert (data["success"], data["completed"], data["failed"]) == (True, 2, 0)
    assert "error" not in data


def test_the_aggregated_report_includes_partial_work_and_marks_its_absence() -> None:
    text = aggregated_report(
        [child("c1", report=""), child("c2", status=ChildStatus.CANCELLED, report="Half.", duration_ms=30)]
    )
    assert "Agent c1\n\n(no report)" in text
    assert "Execution failed: It was stopped before it was finished.\n\nPartial report:\n\nHalf." in text
    assert "**Total Duration**: 30 ms" in text


def test_long_batches_contain_every_report_once() -> None:
    children = [child(f"c{number}", report=f"begin {number} " + "x" * 1_500 + f" end {number}") for number in range(15)]
    result = compose(TeamCall.PARALLEL, {}, children)
    assert not result.truncated
    assert all(one.report in result.data["aggregated_report"] for one in children)
    assert all(entry["report"].endswith("x… (whole in aggregated_report)") for entry in result.data["results"])


def test_too_long_reports_are_each_cut_in_the_middle_and_the_json_stays_valid() -> None:
    children = [
        child(f"c{number}", report=f"begin {number} " + '"x"\n' * 10_000 + f" end {number}") for number in range(15)
    ]
    result = compose(TeamCall.PARALLEL, {}, children)
    assert result.truncated
    assert limits.RESULT_TO_MODEL * 0.9 < len(result.text) <= limits.RESULT_TO_MODEL
    assert json.loads(result.text) == result.data
    for number in range(15):
        assert f"begin {number} " in result.data["aggregated_report"]
        assert f" end {number}" in result.data["aggregated_report"]
    assert "characters are missing here" in result.data["aggregated_report"]


def test_a_plan_lists_its_actions_and_those_not_run() -> None:
    arguments = {
        "actions": [
            {"description": "List the tasks", "tool": "TodoTool", "arguments": {"operation": "list"}},
            {"description": "Write it up"},
            {"description": "Send it"},
        ]
    }
    children = [
        child("c1", report='{"success": true, "count": 2}'),
        child("c2", status=ChildStatus.ERROR, error="No key.", report=""),
        child("c3", status=ChildStatus.NOT_RUN, report=""),
    ]
    data = compose(TeamCall.PLAN, arguments, children).data
    assert data == {
        "success": False,
        "error": "2 of 3 actions did not succeed; see the results.",
        "code": "actions_failed",
        "results": [
            {"action": "List the tasks", "success": True, "result": {"success": True, "count": 2}},
            {"action": "Write it up", "success": False, "error": "No key.", "code": "child_failed"},
            {"action": "Send it", "success": False, "error": "Not run: an earlier action failed.", "code": "not_run"},
        ],
        "summary": "Executed 1/3 actions successfully. Failed: Write it up. Not run: Send it.",
    }


def test_a_refused_call_is_not_a_success() -> None:
    arguments = {"actions": [{"description": "Delete it", "tool": "TodoTool", "arguments": {}}]}
    refused = {"success": False, "error": "No such task.", "code": "not_found"}
    data = compose(TeamCall.PLAN, arguments, [child(report=json.dumps(refused))]).data
    assert (data["success"], data["code"]) == (False, "actions_failed")
    (entry,) = data["results"]
    assert entry == {
        "action": "Delete it",
        "success": False,
        "result": refused,
        "error": "No such task.",
        "code": "call_failed",
    }


def test_a_plan_that_went_well() -> None:
    data = compose(
        TeamCall.PLAN, {"actions": [{"description": "Think"}]}, [child(report='{"not": "an object to it"}')]
    ).data
    assert data == {
        "success": True,
        "results": [{"action": "Think", "success": True, "result": '{"not": "an object to it"}'}],
        "summary": "Executed 1/1 actions successfully.",
    }


@pytest.mark.parametrize(
    "arguments", [{}, {"actions": "x"}, {"actions": []}, {"actions": [None]}, {"actions": [{"description": 3}]}]
)
def test_a_plan_with_meaningless_arguments_is_described_by_its_titles(arguments: dict[str, Any]) -> None:
    data = compose(TeamCall.PLAN, arguments, [child(title="List it")]).data
    assert data["results"] == [{"action": "List it", "success": True, "result": "Report of c1"}]


def test_join_lists_reports_and_errors() -> None:
    data = compose(TeamCall.JOIN, {}, [child("c1"), child("c2", status=ChildStatus.CANCELLED, report="Half.")]).data
    assert (data["success"], data["code"]) == (False, "children_failed")
    assert data["results"] == [
        {"child_id": "c1", "name": "Agent c1", "success": True, "report": "Report of c1", "metrics": FREE},
        {
            "child_id": "c2",
            "name": "Agent c2",
            "success": False,
            "report": "Half.",
            "error": "It was stopped before it was finished.",
            "metrics": FREE,
        },
    ]
    assert compose(TeamCall.JOIN, {}, []).data["results"] == []


@pytest.mark.parametrize("kind", [TeamCall.SPAWN, TeamCall.PARALLEL, TeamCall.PLAN, TeamCall.JOIN])
def test_while_one_asks_the_result_is_its_question_and_the_finished_work(kind: TeamCall) -> None:
    children = [
        child("c1", status=ChildStatus.ASKING, question="All files?", report=""),
        child("c2"),
        child("c3", status=ChildStatus.PLANNED, stage=1, title="Sum it up", report=""),
    ]
    data = compose(kind, {}, children).data
    assert (data["success"], data["status"]) == (True, "waiting_for_you")
    assert data["questions"] == [{"child_id": "c1", "name": "Agent c1", "question": "All files?"}]
    assert [entry["child_id"] for entry in data["results"]] == ["c2"]
    assert data["not_started"] == [{"child_id": "c3", "name": "Agent c3", "title": "Sum it up"}]
    assert "answer_child" in data["message"]


def test_an_answer_returns_that_sub_agents_report() -> None:
    arguments = {"child_id": "c2", "message": "Yes."}
    assert compose(TeamCall.ANSWER, arguments, [child("c2")]).data == {
        "success": True,
        "child_id": "c2",
        "name": "Agent c2",
        "report": "Report of c2",
        "metrics": FREE,
    }
    others = [child("c1", status=ChildStatus.ASKING, question="And me?"), child("c3"), child("c4", told=True)]
    data = compose(TeamCall.ANSWER, arguments, [others[0], child("c2"), *others[1:]]).data
    assert (data["child_id"], data["report"], data["status"]) == ("c2", "Report of c2", "waiting_for_you")
    assert [entry["child_id"] for entry in data["questions"]] == ["c1"]
    assert [entry["child_id"] for entry in data["results"]] == ["c3"]


def test_an_answered_one_may_ask_again() -> None:
    data = compose(
        TeamCall.ANSWER, {"child_id": "c2"}, [child("c2", status=ChildStatus.ASKING, question="Sure?", report="")]
    ).data
    assert (data["status"], data["questions"][0]["question"]) == ("waiting_for_you", "Sure?")


def test_in_the_background_the_result_explains_how_to_join() -> None:
    one = compose(
        TeamCall.SPAWN, {"wait": False}, [child("c1", status=ChildStatus.PLANNED, background=True, report="")]
    ).data
    assert (one["success"], one["child_id"], one["status"]) == (True, "c1", "running")
    assert 'SpawnAgentTool {"operation": "join", "child_ids": ["c1"]}' in one["how_to_join"]
    two = [child(name, status=ChildStatus.RUNNING, background=True, report="") for name in ("c1", "c2")]
    batch = compose(TeamCall.PARALLEL, {"wait_all": False}, two).data
    assert (batch["child_ids"], batch["status"]) == (["c1", "c2"], "running")
    assert 'ParallelTasksTool {"operation": "join", "child_ids": ["c1", "c2"]}' in batch["how_to_join"]
    assert batch["children"][0] == {"child_id": "c1", "agent_id": "id-c1", "name": "Agent c1", "status": "running"}


def test_a_later_action_gets_the_earlier_results() -> None:
    earlier = [
        child("c1", title="List it"),
        child("c2", title="Sort it", status=ChildStatus.ERROR, error="No key."),
        child("c3", status=ChildStatus.NOT_RUN),
        child("c4", status=ChildStatus.RUNNING),
    ]
    assert with_earlier("Do it.", earlier) == (
        "Do it.\n\nRESULTS OF EARLIER ACTIONS:\n\n## List it\n\nReport of c1\n\n## Sort it\n\nIt failed: No key."
    )
    assert with_earlier("Do it.", earlier[2:]) == "Do it."
    full = "x" * (limits.MESSAGE - 10)
    assert with_earlier(full, earlier) == full


words = st.text(max_size=40)
reports = st.one_of(
    words, st.integers(1_000, 60_000).map(lambda size: 'é"\n\x00' * (size // 4)), st.just('{"a": ' * 2_000)
)
children_of_any_kind = st.builds(
    ChildState,
    id=st.text(min_size=1, max_size=32),
    name=st.text(max_size=64),
    agent_id=words,
    title=st.text(max_size=limits.CHILD_TITLE),
    status=st.sampled_from(ChildStatus),
    background=st.booleans(),
    told=st.booleans(),
    report=reports,
    error=reports,
    question=st.text(max_size=limits.QUESTION),
    duration_ms=st.integers(0, 10**9),
)
arguments_of_any_kind = st.one_of(
    st.dictionaries(
        st.sampled_from(["actions", "child_id", "wait"]), st.one_of(words, st.lists(words, max_size=3), st.none())
    ),
    st.lists(st.fixed_dictionaries({"description": reports, "tool": st.one_of(st.none(), words)}), max_size=16).map(
        lambda actions: {"actions": actions}
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TeamCall), arguments_of_any_kind, st.lists(children_of_any_kind, max_size=15))
def test_the_result_is_readable_whatever_happened(
    kind: TeamCall, arguments: dict[str, Any], children: list[ChildState]
) -> None:
    result = compose(kind, arguments, children)
    assert len(result.text) <= limits.RESULT_TO_MODEL
    assert isinstance(json.loads(result.text), dict)
    assert isinstance(result.data["success"], bool)
    assert len(json.dumps(result.data, ensure_ascii=False).encode()) <= limits.RESULT_STORED
    if not result.success:
        assert result.data["error"]
        assert result.data["code"]


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=limits.MESSAGE), st.lists(children_of_any_kind, max_size=15))
def test_a_later_prompt_is_still_a_message(prompt: str, children: list[ChildState]) -> None:
    told = with_earlier(prompt, children)
    assert told.startswith(prompt)
    assert len(told) <= limits.MESSAGE


def test_the_duration_of_a_batch_is_from_the_first_start_to_the_last_end() -> None:
    now = utc_now()
    never = child("c3", status=ChildStatus.NOT_RUN, duration_ms=None)
    started = [
        child("c1", duration_ms=100, started_at=now),
        child("c2", duration_ms=20, started_at=now + timedelta(milliseconds=150)),
    ]
    assert (wall_ms([*started, never]), wall_ms([never])) == (170, 0)
