"""Rows of the activity list: what they say, and which of them stand for a step."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.activity.list import (
    ActivityListView,
    entry_icon,
    entry_summary,
    entry_time,
    entry_title,
)
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.presentation.rows.activity_log import ActivityLog
from atelier_desk.support.i18n import spoken
from tests.desktop.panes.activity.sample_run_events import event, feed


def test_a_row_names_the_server_of_a_call_once() -> None:
    log = ActivityLog()
    log.feed(
        event(
            1,
            ChunkType.TOOL_START,
            call_id="c1",
            tool="mcp__files__read",
            server="files",
            arguments={},
            presentation={"title": "files: Read a file"},
        )
    )
    assert entry_title(log.entries[0]) == "files · Read a file"


def test_a_long_text_ends_with_a_complete_word_in_its_row_and_is_full_in_the_tool_tip(qtbot: QtBot) -> None:
    log = ActivityLog()
    text = " ".join(f"word{number:03}" for number in range(60))
    log.feed(event(1, ChunkType.MESSAGE, message_id="m", role="user", content=text))
    shown = entry_summary(log.entries[0])
    assert len(shown) <= 160
    assert shown.endswith("…")
    assert text.startswith(shown[:-1] + " ")
    listed = ActivityListView(None)  # type: ignore[arg-type]
    qtbot.addWidget(listed)
    listed.show_rows(log.entries)
    assert listed.entries.index(0).data(Qt.ItemDataRole.ToolTipRole) == f"Your message\n{text}"


def test_a_row_does_not_repeat_its_title_and_a_call_without_progress_has_none() -> None:
    log = ActivityLog()
    presentation = {
        "title": "Question for you",
        "summary": {"text": "Question for you: {question}", "params": {"question": "Which wood?"}},
    }
    log.feed(
        event(1, ChunkType.TOOL_START, call_id="c1", tool="UserQuestionTool", arguments={}, presentation=presentation)
    )
    asked = log.entries[0]
    assert (entry_title(asked), entry_summary(asked)) == ("Question for you", "Which wood?")
    log.feed(event(1, ChunkType.TOOL_PROGRESS, call_id="c1", progress=0))
    assert entry_time(asked) == "…"
    log.feed(event(1, ChunkType.TOOL_PROGRESS, call_id="c1", progress=40))
    assert entry_time(asked) == "40%"
    with spoken("fr"):
        assert entry_time(asked) == "40\N{NO-BREAK SPACE}%"


def test_a_command_that_its_person_stopped_is_no_failure() -> None:
    log = ActivityLog()
    log.feed(event(1, ChunkType.WORKFLOW_START))
    result = {"success": False, "code": "ended", "ended_by": "user"}
    log.feed(
        event(
            2,
            ChunkType.TOOL_END,
            call_id="c1",
            tool="run_command",
            success=False,
            status="error",
            result=result,
            duration_ms=900,
        )
    )
    assert log.entries[-1].status == "cancelled"
    assert entry_time(log.entries[-1]) == "stopped"
    assert not log.entries[-1].matches("", "errors")


def test_a_sub_agent_that_its_person_stopped_is_not_red() -> None:
    log = ActivityLog()
    for number, status in enumerate(("cancelled", "error"), 1):
        ended = {"sub_agent_id": f"cid{number}", "sub_agent_name": "Cid", "status": status}
        log.feed(event(number, ChunkType.SUB_AGENT_ERROR, **ended))
    assert [entry_icon(entry) for entry in log.entries] == [("users", "muted"), ("users", "err")]


def test_a_reply_with_only_calls_has_no_row() -> None:
    log = ActivityLog()
    feed(
        log,
        [
            event(1, ChunkType.WORKFLOW_START),
            event(2, ChunkType.MESSAGE, role="user", content=""),
            event(3, ChunkType.MESSAGE, role="assistant", content=" \n", reasoning="Which tool?"),
            event(4, ChunkType.MESSAGE, role="assistant", content="Done"),
        ],
    )
    assert [(entry_title(each), entry_summary(each)) for each in log.entries[1:]] == [
        ("Your message", ""),
        ("Reply", "Done"),
    ]


def lines(events: list[StreamEvent], group: str = "all") -> list[str]:
    """Title and summary of the rows of a group."""
    log = ActivityLog()
    feed(log, events)
    return [f"{entry_title(each)} {entry_summary(each)}".strip() for each in log.entries if each.matches("", group)]


def call(seq: int, id: str, title: str, summary: str, done: str = "", **params: str) -> list[StreamEvent]:
    """A call's start and its successful end a hundred events later."""
    said = {"title": title, "summary": {"text": summary, "params": params}, "done": done}
    return [
        event(seq, ChunkType.TOOL_START, call_id=id, tool="T", presentation=said),
        event(seq + 100, ChunkType.TOOL_END, call_id=id, tool="T", success=True, status="ok", result={}),
    ]


def test_each_step_is_one_row_and_the_events_are_complete() -> None:
    """What a call does is told by its row: not again by a task that it adds, a question, or its sub-agent."""
    kid = {"sub_agent_id": "kid", "sub_agent_name": "Bea", "call_id": "s1", "kind": "spawn"}
    added = call(3, "t1", "Tasks", "Create the task: {name}", name="Saw")
    asked = call(5, "q1", "Question for you", "Question for you: {question}", question="Which wood?")
    hired = call(8, "s1", "Sub-agent", "Start the agent {name}", "Started the agent {name}", name="Bea")
    question = {"question_id": "q", "call_id": "q1", "question": "Which wood?"}
    events = [
        event(1, ChunkType.WORKFLOW_START),
        event(2, ChunkType.MESSAGE, role="user", content="Build the shelf"),
        added[0],
        event(4, ChunkType.TASK_CREATE, task_name="Saw"),
        added[1],
        asked[0],
        event(6, ChunkType.USER_QUESTION_START, user_question=question),
        event(7, ChunkType.USER_QUESTION_COMPLETE, question_id="q", status="answered"),
        asked[1],
        hired[0],
        event(9, ChunkType.SUB_AGENT_START, **kid),
        event(10, ChunkType.MESSAGE, run_id="kid", parent_run_id="r1", role="user", content="Check"),
        event(11, ChunkType.MESSAGE, run_id="kid", parent_run_id="r1", role="assistant", content="Right."),
        event(12, ChunkType.SUB_AGENT_COMPLETE, **kid),
        hired[1],
        event(13, ChunkType.MESSAGE, role="assistant", content="Done."),
        event(14, ChunkType.WORKFLOW_COMPLETE, status="completed"),
    ]
    assert lines(events) == [
        "Your message Build the shelf",
        "Create the task Saw",
        "Question for you Which wood?",
        "Started the agent Bea",
        "Reply Right.",
        "Reply Done.",
    ]
    assert len(lines(events, "events")) == 11


def test_sub_agents_of_one_call_have_a_row_each_and_failures_are_never_left_out() -> None:
    batch = call(1, "b1", "In parallel", "Run {n} agents", n="2")
    both = [{"sub_agent_id": f"k{each}", "sub_agent_name": each, "call_id": "b1", "kind": "parallel"} for each in "AB"]
    events = [batch[0], *(event(2 + at, ChunkType.SUB_AGENT_START, **each) for at, each in enumerate(both))]
    assert lines(events) == ["Run 2 agents", "Sub-agent started A", "Sub-agent started B"]
    events += [
        event(4, ChunkType.SUB_AGENT_COMPLETE, **both[0]),
        event(5, ChunkType.SUB_AGENT_ERROR, error="x", **both[1]),
    ]
    assert lines(events) == ["Run 2 agents", "Sub-agent done A", "Sub-agent failed B"]
    failed = event(9, ChunkType.WORKFLOW_COMPLETE, status="error")
    assert lines([event(8, ChunkType.MESSAGE, role="assistant", content="I try."), failed])[-1] == "Run: failed"


def test_a_background_sub_agents_end_is_a_step_of_its_own() -> None:
    hired = call(1, "s1", "Sub-agent", "Start the agent {name}", "Started the agent {name}", name="Bea")
    kid = {"sub_agent_id": "kid", "sub_agent_name": "Bea", "call_id": "s1", "kind": "spawn"}
    start, end = event(2, ChunkType.SUB_AGENT_START, **kid), event(200, ChunkType.SUB_AGENT_COMPLETE, **kid)
    assert lines([hired[0], start, hired[1], end]) == ["Started the agent Bea", "Sub-agent done Bea"]


def test_an_approval_is_a_row_until_its_call_runs() -> None:
    asked = event(1, ChunkType.VALIDATION_REQUIRED, call_id="c1", validation_id="v", tool="edit_file")
    decided = event(2, ChunkType.VALIDATION_RESPONSE, call_id="c1", validation_id="v", status="approved")
    run = call(3, "c1", "Edit file", "Edit {path}", "Edited {path}", path="a.py")
    assert lines([asked]) == ["Approval requested edit_file"]
    assert lines([asked, decided]) == ["Approved"]
    assert lines([asked, decided, *run]) == ["Edited a.py"]
