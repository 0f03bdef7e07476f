"""The timeline, computed from events alone: every way a span can end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.domain.events.run import (
    ApprovalDecided,
    ApprovalRequested,
    CallStatus,
    ContextCompacted,
    EventBody,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    ReplyCutOff,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
)
from atelier_desk.domain.question import QuestionSpec, QuestionStatus, QuestionType, UserQuestion
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span
from atelier_desk.engine.services.team.timeline import marks, timeline
from tests.helpers.runs_without_driver import START, Script, call, finished, reply, started


def numbered(script: Script) -> list[RunEvent]:
    """The script's events with consecutive stream numbers."""
    return [event.model_copy(update={"stream_from": event.seq}) for event in script.events]


def spans(*bodies: EventBody) -> list[Span]:
    """The spans of a run with these events after the first message, a second apart; without a request still in
    progress.
    """
    return [span for span in all_spans(*bodies) if (span.kind, span.status) != ("model", "running")]


def all_spans(*bodies: EventBody) -> list[Span]:
    found = timeline("w", "r", numbered(Script().add(*bodies)))
    assert found is not None
    return list(found.runs[0].spans)


def told(span: Span) -> tuple[str, str, str]:
    return (span.kind, span.label, span.status)


def question() -> UserQuestion:
    spec = QuestionSpec(question="Which?", question_type=QuestionType.TEXT)
    return UserQuestion(id="q", workflow_id="w", run_id="r", call_id="c1", spec=spec)


def test_no_events_give_no_timeline() -> None:
    assert timeline("w", "r", []) is None


def test_a_request_starts_its_duration_before_its_event() -> None:
    (span,) = spans(reply("hi").model_copy(update={"duration_ms": 400}))
    assert span.end is not None
    assert span.end - span.start == timedelta(milliseconds=400)
    assert (span.seq, span.end_seq, span.event_seq) == (2, 3, 3)
    (longer,) = spans(reply("hi").model_copy(update={"duration_ms": 60_000}))
    assert longer.start == START + timedelta(seconds=2), "not before what was said to it"
    for odd, start in ((2**53, longer.start), (10**40, longer.start), (-(10**40), longer.end)):
        assert spans(reply("hi").model_copy(update={"duration_ms": odd}))[0].start == start, "of an imported event"


def test_a_request_in_progress_has_no_end() -> None:
    (first,) = all_spans()
    assert (told(first), first.end, first.start) == (
        ("model", "scripted", "running"),
        None,
        START + timedelta(seconds=2),
    )
    after_a_tool = all_spans(reply("", call()), started(), finished())
    assert [told(span) for span in after_a_tool][1:] == [
        ("tool", "CalculatorTool", "ok"),
        ("model", "scripted", "running"),
    ]
    for bodies in (
        (reply("hi"),),
        (reply("", call()), started()),
        (reply("", call()), RunPaused(reason=PauseReason.USER), RunResumed()),
    ):
        assert told(all_spans(*bodies)[-1]) != ("model", "scripted", "running")
    assert all_spans(RunPaused(reason=PauseReason.USER))[-1].kind == "paused"


@pytest.mark.parametrize("status", list(CallStatus))
def test_a_tools_span_ends_with_its_call(status: CallStatus) -> None:
    found = spans(reply("", call()), started(), finished(status=status))
    assert told(found[1]) == ("tool", "CalculatorTool", status.value)


def test_a_waiting_call_is_a_tool_span_and_then_a_wait() -> None:
    answered = QuestionAnswered(question_id="q", call_id="c1", status=QuestionStatus.ANSWERED)
    found = spans(
        reply("", call(name="ask")),
        started(tool="ask"),
        QuestionAsked(question=question()),
        answered,
        finished(tool="ask"),
    )
    assert [told(span) for span in found[1:]] == [("tool", "ask", "ok"), ("wait", "user", "ok")]
    assert found[1].end == found[2].start
    late = QuestionAnswered(question_id="q", call_id="c1", status=QuestionStatus.TIMEOUT)
    assert told(spans(reply("", call()), started(), QuestionAsked(question=question()), late)[-1]) == (
        "wait",
        "user",
        "timeout",
    )


@pytest.mark.parametrize(
    ("status", "shown"),
    [(ApprovalStatus.APPROVED, "ok"), (ApprovalStatus.REJECTED, "rejected"), (ApprovalStatus.CANCELLED, "cancelled")],
)
def test_a_wait_for_approval_precedes_the_tool(status: ApprovalStatus, shown: str) -> None:
    request = ApprovalRequest(id="a", workflow_id="w", run_id="r", call_id="c1", tool="CalculatorTool")
    decided = ApprovalDecided(approval_id="a", call_id="c1", status=status)
    found = spans(reply("", call()), ApprovalRequested(approval=request), decided, started(), finished())
    assert [told(span) for span in found[1:]] == [("wait", "approval", shown), ("tool", "CalculatorTool", "ok")]


def test_pauses_failures_and_the_end_close_open_spans() -> None:
    assert told(spans(reply("a", call()), RunPaused(reason=PauseReason.LIMIT))[-1]) == ("paused", "limit", "running")
    resumed = spans(reply("a", call()), RunPaused(reason=PauseReason.USER), RunResumed())
    assert told(resumed[-1]) == ("paused", "user", "ok")
    assert told(spans(RunFailed(code="busy", message="no"))[-1]) == ("model", "scripted", "error")
    cut = spans(ReplyCutOff(content="half"), RunFailed(code="busy", message="no"))
    assert [told(span) for span in cut] == [("model", "scripted", "cut_off")]
    stopped = spans(reply("", call()), started(), RunFinished(status=RunStatus.CANCELLED))
    assert told(stopped[-1]) == ("tool", "CalculatorTool", "cancelled")
    assert stopped[-1].end is not None


def test_an_active_run_has_no_end() -> None:
    found = timeline("w", "r", numbered(Script()))
    assert found is not None
    assert (found.end, found.runs[0].end, found.runs[0].status) == (None, None, "processing")
    over = timeline("w", "r", numbered(Script().add(reply("hi"), RunFinished(status=RunStatus.COMPLETED))))
    assert over is not None
    assert (over.end == over.runs[0].end, over.runs[0].status) == (True, "completed")


def test_invisible_events_are_no_stops_of_the_scrubber() -> None:
    events = numbered(Script().add(ContextCompacted(method="cut_results", dropped=(2,)), reply("hi")))
    shared = [*events[:2], events[2], events[3].model_copy(update={"stream_from": events[2].stream_from})]
    assert [(mark.seq, mark.kind) for mark in marks(shared)] == [
        (1, "run_started"),
        (2, "user_message"),
        (3, "model_replied"),
    ]
