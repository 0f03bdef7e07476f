"""Stored messages and stream events produce the same transcript."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Message, MessageRole, ToolExecution, Workflow
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.engine.services.workflow.workflow_file import to_markdown
from atelier_desk.presentation.rows.transcript import Transcript
from atelier_desk.presentation.rows.transcript_entries import Change, Entry


class Feed:
    """Applies events of run ``r`` to a transcript."""

    def __init__(self) -> None:
        self.transcript = Transcript("w")
        self.seq = 0

    def __call__(self, kind: str, *, depth: int = 0, **data: Any) -> list[Change]:
        self.seq += 1
        return self.transcript.apply(
            StreamEvent(
                seq=self.seq,
                workflow_id="w",
                run_id="r",
                agent_name="Ada",
                depth=depth,
                chunk_type=ChunkType(kind),
                data=data,
            )
        )

    @property
    def entries(self) -> list[Entry]:
        return self.transcript.entries


def test_a_complete_turn() -> None:
    feed = Feed()
    feed.transcript.add_own("own-1", "Hello", [])
    assert feed.entries[0].pending
    feed("workflow_start")
    assert feed.transcript.live_run == "r"
    feed("message", message_id="u1", role="user", content="Hello", strategy="queue")
    assert [(entry.id, entry.pending) for entry in feed.entries] == [("u1", False)]
    feed("reasoning", content="hm ", message_id="a1")
    feed("token", content="I ", message_id="a1")
    ((kind, entry),) = feed("token", content="think", message_id="a1")
    assert (kind, entry.content, entry.reasoning, entry.live) == ("stream", "I think", "hm ", True)
    feed("message", message_id="a1", role="assistant", content="I think.", reasoning="hm ")
    assert (entry.content, entry.live) == ("I think.", False)
    feed("tool_start", call_id="c1", tool="CalculatorTool", arguments={"expression": "12*7"})
    assert entry.calls[0].status == "running"
    feed(
        "tool_end",
        call_id="c1",
        tool="CalculatorTool",
        success=True,
        result={"result": 84},
        duration_ms=3,
        truncated=False,
    )
    assert (entry.calls[0].status, entry.calls[0].result) == ("ok", {"result": 84})
    feed("workflow_complete", status="completed")
    assert feed.transcript.live_run == ""
    assert [each.kind for each in feed.entries] == ["user", "assistant"]


def test_calls_of_a_reply_without_text_get_their_own_entry() -> None:
    feed = Feed()
    feed("message", message_id="u1", role="user", content="Go")
    ((kind, entry),) = feed("tool_start", call_id="c1", tool="TodoTool", arguments={})
    assert (kind, entry.kind, entry.content) == ("append", "assistant", "")
    assert feed("tool_start", call_id="c1", tool="TodoTool", arguments={}) == []


def test_a_timed_out_call_is_no_ordinary_failure() -> None:
    feed = Feed()
    feed("tool_start", call_id="c1", tool="slow", arguments={})
    feed(
        "tool_end",
        call_id="c1",
        tool="slow",
        success=False,
        status="timeout",
        result={"code": "timeout"},
        error="late",
        duration_ms=3,
        truncated=False,
    )
    assert feed.entries[0].calls[0].status == "timeout"


def test_sub_agents_are_not_shown_here() -> None:
    feed = Feed()
    assert feed("token", content="x", depth=1) == []
    assert feed.entries == []


def test_late_tokens_of_a_loaded_message_are_dropped() -> None:
    feed = Feed()
    stored = Message(id="a1", workflow_id="w", run_id="r", seq=4, role=MessageRole.ASSISTANT, content="All of it")
    feed.transcript.load([TranscriptEntry(stored)])
    feed("token", content="All of it", message_id="a1")
    feed("message", message_id="a1", role="assistant", content="All of it")
    assert [(entry.id, entry.content) for entry in feed.entries] == [("a1", "All of it")]


def test_loading_preserves_streaming_text() -> None:
    feed = Feed()
    feed("token", content="half", message_id="a2")
    stored = Message(id="u1", workflow_id="w", run_id="r", seq=1, role=MessageRole.USER, content="Hi")
    feed.transcript.load([TranscriptEntry(stored)])
    assert [entry.id for entry in feed.entries] == ["u1", "a2"]


def test_question_and_its_answer() -> None:
    feed = Feed()
    feed("message", message_id="a1", role="assistant", content="One thing:")
    feed("user_question_start", user_question={"question_id": "q", "question": "Which?"}, pending=1)
    entry = feed.entries[0]
    assert (entry.asked[0].question, entry.asked[0].status) == ("Which?", "pending")
    feed("user_question_complete", question_id="q", status="answered", answer="Left, now", pending=0)
    assert (entry.asked[0].status, entry.asked[0].answer) == ("answered", "Left, now")


def test_calls_are_in_the_order_of_their_reply_whichever_event_comes_first() -> None:
    feed = Feed()
    feed("usage", message_id="a1", tokens_input=1, tokens_output=1)
    feed("limit_reached", reason="tool_calls", details={"value": 1, "cap": 1})
    feed("validation_required", call_id="c2", tool="t", message_id="a1", index=1)
    feed("tool_start", call_id="c1", tool="t", message_id="a1", index=0)
    feed("tool_start", call_id="c3", tool="t", message_id="a1", index=2)
    assert next((entry.id, entry.kind) for entry in feed.entries) == ("a1", "assistant")
    assert [call.call_id for call in feed.entries[0].calls] == ["c1", "c2", "c3"]


def test_a_servers_call_that_awaits_approval_has_its_server() -> None:
    feed = Feed()
    feed("validation_required", call_id="c1", tool="mcp__odd__echo", message_id="a1", subjects={"server": "odd"})
    [call] = feed.entries[0].calls
    assert call.server == "odd", "a rejected one is never started"
    feed("tool_start", call_id="c1", tool="mcp__odd__echo", message_id="a1", server="odd")
    assert call.server == "odd"


def test_a_limit_can_be_acted_on_until_the_run_continues() -> None:
    feed = Feed()
    feed("limit_reached", reason="tokens", details={"value": 10, "cap": 9})
    entry = feed.entries[0]
    assert entry.actionable
    assert entry.details == {"value": 10, "cap": 9, "limit": "tokens"}
    changes = feed("run_status", status="processing")
    assert ("update", entry) in changes
    assert not entry.actionable


def test_a_limit_reached_again_with_the_same_usage_supersedes_the_earlier_notice() -> None:
    limit = {"value": 19, "cap": 30}
    feed = Feed()
    feed("limit_reached", reason="tokens", details=limit)
    feed("message", message_id="u2", role="user", content="And this", strategy="queue")
    feed("run_status", status="processing")
    changes = feed("limit_reached", reason="tokens", details=limit)
    first, _message, second = feed.entries
    assert ("update", first) in changes
    assert [bool(each.details.get("superseded")) for each in (first, second)] == [True, False]
    feed("limit_reached", reason="tokens", details={"value": 40, "cap": 40})
    assert "superseded" not in second.details, "the limit was raised between them"

    row: dict[str, Any] = {"workflow_id": "w", "run_id": "r", "role": MessageRole.NOTICE, "kind": "limit_reached"}
    stored = Transcript("w")
    stored.load([TranscriptEntry(Message(seq=n, details={**limit, "limit": "tokens"}, **row)) for n in (1, 2)])
    assert [bool(each.details.get("superseded")) for each in stored.entries] == [True, False]


@pytest.mark.parametrize("status", ["cancelled", "abandoned"])
def test_a_limit_cannot_be_acted_on_after_the_run_was_stopped(status: str) -> None:
    feed = Feed()
    feed("limit_reached", reason="tokens", details={"value": 10, "cap": 9})
    feed("run_status", status="paused")
    entry = feed.entries[0]
    assert entry.actionable
    assert ("update", entry) in feed("run_status", status=status, message_id="m1")
    assert not entry.actionable


def test_a_stored_stop_can_be_acted_on_after_a_restart() -> None:
    notice = Message(
        workflow_id="w", run_id="r", seq=1, role=MessageRole.NOTICE, kind="limit_reached", details={"limit": "cost"}
    )
    transcript = Transcript("w")
    transcript.load([TranscriptEntry(notice)])
    assert not transcript.entries[0].actionable
    assert transcript.settle("paused")
    assert transcript.entries[0].actionable


def test_an_interruption_is_shown_where_it_happened_and_can_be_acted_on() -> None:
    feed = Feed()
    feed("token", content="par", message_id="a1")
    feed("message", message_id="a1", role="assistant", content="par", cut_off=True)
    feed("run_status", status="interrupted", ended="command")
    cut, notice = feed.entries
    assert (cut.topic, cut.live) == ("cut_off", False)
    assert (notice.topic, notice.details, notice.actionable) == ("run_interrupted", {"ended": "command"}, True)
    feed("run_status", status="processing")
    assert not notice.actionable


def test_a_stored_interruption_can_be_acted_on_after_a_restart() -> None:
    notice = Message(
        workflow_id="w", run_id="r", seq=1, role=MessageRole.NOTICE, kind="run_interrupted", details={"ended": "killed"}
    )
    transcript = Transcript("w")
    transcript.load([TranscriptEntry(notice)])
    assert transcript.settle("interrupted")
    assert transcript.entries[0].actionable


def test_a_stopped_reply_can_be_continued_until_the_workflow_goes_on() -> None:
    feed = Feed()
    feed("token", content="par", message_id="a1")
    feed("message", message_id="a1", role="assistant", content="par", cut_off=True)
    feed("run_status", status="cancelled", message_id="end")
    feed("workflow_complete", status="cancelled")
    assert [entry.actionable for entry in feed.entries] == [False, True]
    feed("workflow_start")
    assert not feed.entries[1].actionable


def test_a_run_stopped_at_a_call_can_be_continued() -> None:
    """Its reply is complete: it was stopped while an approval waited, or between two steps."""
    feed = Feed()
    feed("message", message_id="a1", role="assistant", content="")
    feed("validation_required", call_id="c1", tool="WriteTool", message_id="a1")
    feed("run_status", status="cancelled", message_id="end")
    feed("workflow_complete", status="cancelled")
    assert [(entry.topic, entry.actionable) for entry in feed.entries][1:] == [("run_finished", True)]

    row: dict[str, Any] = {"workflow_id": "w", "run_id": "r"}
    reply = Message(id="a1", seq=1, role=MessageRole.ASSISTANT, kind="reply", content="First.", **row)
    end = Message(seq=2, role=MessageRole.NOTICE, kind="run_finished", details={"status": "cancelled"}, **row)
    call = ToolExecution(id="r:c1", call_id="c1", tool="WriteTool", status="cancelled", **row)
    stored = Transcript("w")
    stored.load([TranscriptEntry(reply, (call,)), TranscriptEntry(end)])
    stored.settle("completed")
    assert stored.entries[-1].actionable


@pytest.mark.parametrize(
    ("said", "after", "status", "run_id", "offered"),
    [
        ("par", False, "cancelled", "", True),
        ("par", True, "cancelled", "", False),
        (" ", False, "cancelled", "", False),
        ("par", False, "abandoned", "", False),
        ("par", False, "cancelled", "r", False),
    ],
)
def test_a_stored_stopped_reply_can_be_continued_if_nothing_follows(
    said: str, after: bool, status: str, run_id: str, offered: bool
) -> None:
    common: dict[str, Any] = {"workflow_id": "w", "run_id": "r"}
    cut = Message(seq=1, role=MessageRole.ASSISTANT, kind="cut_off", content=said, **common)
    end = Message(seq=2, role=MessageRole.NOTICE, kind="run_finished", details={"status": status}, **common)
    later = Message(seq=3, role=MessageRole.USER, content="more", **common)
    transcript = Transcript("w", run_id)
    transcript.load([TranscriptEntry(row) for row in (cut, end, *([later] if after else []))])
    transcript.settle("completed")
    assert transcript.entries[1].actionable is offered


def test_an_error_that_a_retry_repeats_can_be_answered_by_another_model() -> None:
    feed = Feed()
    feed("error", code="context_overflow", message="too long", recoverable=False, model_provider="p", model="small")
    feed("run_status", status="error")
    (entry,) = feed.entries
    assert (entry.actionable, entry.details["model"], entry.details["recoverable"]) == (True, "small", False)


def test_retries_share_one_notice() -> None:
    feed = Feed()
    feed("retry", reason="busy", details={"attempt": 1}, message_id="r-retry-0-0")
    feed("retry", reason="busy", details={"attempt": 2}, message_id="r-retry-0-0")
    assert [entry.details["attempt"] for entry in feed.entries] == [2]


def test_a_cut_reply_is_marked() -> None:
    feed = Feed()
    feed("token", content="par", message_id="a1")
    feed("message", message_id="a1", role="assistant", content="par", cut_off=True)
    assert feed.entries[0].topic == "cut_off"


@pytest.mark.parametrize(("status", "marked"), [("cancelled", True), ("error", True), ("completed", False)])
def test_a_stopped_reply_is_marked_once(status: str, marked: bool) -> None:
    feed = Feed()
    feed("message", message_id="a1", role="assistant", content="par", cut_off=True)
    feed("run_status", status=status, message_id="end")
    assert [entry.cut_explained for entry in feed.entries] == [marked, False]
    transcript = Transcript("w")
    cut = Message(
        id="a1", workflow_id="w", run_id="r", seq=1, role=MessageRole.ASSISTANT, kind="cut_off", content="par"
    )
    end = Message(
        id="e",
        workflow_id="w",
        run_id="r",
        seq=2,
        role=MessageRole.NOTICE,
        kind="run_finished",
        details={"status": status},
    )
    transcript.load([TranscriptEntry(cut), TranscriptEntry(end)])
    assert [entry.cut_explained for entry in transcript.entries] == [marked, False], "after a reload"


def test_older_pages_are_inserted_before_existing_entries() -> None:
    transcript = Transcript("w")
    rows = [
        Message(id=f"m{i}", workflow_id="w", run_id="r", seq=i, role=MessageRole.USER, content=str(i))
        for i in range(1, 7)
    ]
    call = ToolExecution(id="r:c", workflow_id="w", run_id="r", call_id="c", tool="TodoTool", status="ok")
    transcript.load([TranscriptEntry(row) for row in rows[3:]])
    older = transcript.prepend([TranscriptEntry(row, (call,)) for row in rows[:4]])
    assert [entry.id for entry in older] == ["m1", "m2", "m3"]
    assert [entry.id for entry in transcript.entries] == ["m1", "m2", "m3", "m4", "m5", "m6"]
    assert transcript.oldest_seq == 1
    assert [call.tool for call in transcript.entries[0].calls] == ["TodoTool"]


def test_an_answer_lists_the_pages_its_turn_read_and_cites() -> None:
    feed = Feed()
    read, cited, other = (
        SourcePart(url=f"https://{name}.org/", title=name, read=name == "read") for name in ("read", "cited", "other")
    )
    feed("message", message_id="a1", role="assistant", content="I look.")
    feed("tool_start", call_id="c1", tool="fetch", arguments={})
    feed(
        "tool_end",
        call_id="c1",
        tool="fetch",
        success=True,
        result={},
        parts=[each.model_dump() for each in (other, cited, read)],
    )
    feed("message", message_id="a2", role="assistant", content="See https://cited.org for more.")
    assert [[each.title for each in entry.sources] for entry in feed.entries] == [[], ["cited", "read"]]


def test_a_stored_answer_lists_its_pages_too() -> None:
    page = SourcePart(url="https://read.org/", title="read")
    call = ToolExecution(id="x", run_id="r", workflow_id="w", call_id="c", tool="fetch", status="ok", parts=(page,))
    stored = [
        TranscriptEntry(
            Message(
                id="m1", workflow_id="w", run_id="r", seq=1, role=MessageRole.ASSISTANT, content="", call_ids=("c",)
            ),
            (call,),
        ),
        TranscriptEntry(
            Message(id="m2", workflow_id="w", run_id="r", seq=2, role=MessageRole.ASSISTANT, content="Done.")
        ),
        TranscriptEntry(
            Message(id="m3", workflow_id="w", run_id="r2", seq=3, role=MessageRole.ASSISTANT, content="Another turn.")
        ),
    ]
    entries = Transcript("w").load(stored)
    assert [entry.sources for entry in entries] == [(), (page,), ()]
    text = to_markdown(Workflow(id="w", name="W"), stored, [])
    assert text.count("1. read · read.org <https://read.org/>") == 1
