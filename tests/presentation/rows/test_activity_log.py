"""The fold of stream events in the activity pane."""

from __future__ import annotations

from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.presentation.rows.activity_log import ActivityLog
from tests.desktop.panes.activity.sample_run_events import event, feed, one_run


def test_a_call_is_one_row_from_start_to_end() -> None:
    log = ActivityLog()
    feed(log, one_run()[:3])
    call = log.entries[1]
    assert (call.tool, call.status, call.progress) == ("CalculatorTool", "running", 40)
    feed(log, one_run()[3:])
    assert (call.status, call.duration_ms, call.result) == ("ok", 12, {"result": 84})
    assert [e.tool or e.kind for e in log.entries] == [
        "workflow_start",
        "CalculatorTool",
        "TodoTool",
        "workflow_complete",
    ]


def test_repeated_events_change_nothing_and_a_new_run_starts_empty() -> None:
    log = ActivityLog()
    feed(log, one_run())
    rows = [entry.as_json() for entry in log.entries]
    feed(log, one_run())
    assert [entry.as_json() for entry in log.entries] == rows
    log.feed(event(9, ChunkType.WORKFLOW_START, run_id="r2"))
    assert len(log.entries) == 1
    log.feed(event(10, ChunkType.WORKFLOW_START, run_id="child", parent_run_id="r2"))
    assert [entry.run_id for entry in log.entries] == ["r2", "child"]


def test_an_agents_rows_are_its_own_and_events_about_it() -> None:
    log = ActivityLog()
    feed(log, one_run()[:4])
    log.feed(event(20, ChunkType.SUB_AGENT_START, sub_agent_id="kid", sub_agent_name="Kid"))
    log.feed(event(21, ChunkType.TOOL_START, run_id="kid", call_id="k", tool="TodoTool", parent_run_id="r1"))
    assert not log.feed(event(0, ChunkType.SUB_AGENT_PROGRESS, sub_agent_id="kid", tokens_input=5))
    assert [e.tool or e.kind for e in log.entries if e.of_agent("kid")] == ["sub_agent_start", "TodoTool"]


def test_filter_and_export() -> None:
    log = ActivityLog()
    feed(log, one_run())
    assert [e.tool for e in log.entries if e.matches("", "calls")] == ["CalculatorTool", "TodoTool"]
    assert [e.tool for e in log.entries if e.matches("", "errors")] == ["TodoTool"]
    assert [e.tool for e in log.entries if e.matches("12*7 CALC", "all")] == ["CalculatorTool"]
    assert log.entries[2].as_json() == {
        "time": "2026-01-01T00:00:05+00:00", "kind": "tool_start", "agent_name": "Ada", "run_id": "r1", "call_id": "c2",
        "tool": "TodoTool", "status": "error", "arguments": {}, "error": "no such task", "duration_ms": 3,
    }  # fmt: skip
