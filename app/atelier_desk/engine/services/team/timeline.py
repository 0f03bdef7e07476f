"""Timeline of a team: how each run spent its time, derived from its events. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from atelier_desk.domain.approval import ApprovalStatus
from atelier_desk.domain.events.run import (
    ApprovalDecided,
    ApprovalRequested,
    CallStatus,
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildrenJoined,
    ChildrenPlanned,
    ChildStarted,
    EventBody,
    LimitReached,
    ModelReplied,
    ParentAnswered,
    ParentAsked,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    ReplyCutOff,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import (
    Span,
    SpanKind,
    Timeline,
    TimelineMark,
    TimelineRun,
)

RUNNING = "running"
_OF_A_CHILD = (ChildStarted, ChildFinished, ChildAsked, ChildAnswered)


def timeline(workflow_id: str, root_run_id: str, events: Sequence[RunEvent]) -> Timeline | None:
    """Return the timeline of the runs of these events, in stream order; None without events."""
    if not events:
        return None
    tracks: dict[str, _Track] = {}
    for event in events:
        track = tracks.get(event.run_id)
        if track is None:
            if not isinstance(event.body, RunStarted):
                continue
            track = tracks[event.run_id] = _Track(event, event.body)
        track.apply(event)
    runs = _in_tree_order([track.done() for track in tracks.values()])
    over = all(run.end is not None for run in runs)
    return Timeline(
        workflow_id=workflow_id,
        root_run_id=root_run_id,
        start=events[0].time,
        end=events[-1].time if over else None,
        runs=runs,
        marks=marks(events),
    )


def _in_tree_order(runs: list[TimelineRun]) -> tuple[TimelineRun, ...]:
    below: dict[str | None, list[TimelineRun]] = {}
    known = {run.run_id for run in runs}
    for run in runs:
        below.setdefault(run.parent_run_id if run.parent_run_id in known else None, []).append(run)

    def under(run_id: str | None) -> Iterable[TimelineRun]:
        for run in below.get(run_id, []):
            yield run
            yield from under(run.run_id)

    return tuple(under(None))


def marks(events: Sequence[RunEvent]) -> tuple[TimelineMark, ...]:
    """Return the positions of the scrubber.

    Events without stream events carry the number of the next one and are shown with it.
    """
    found: dict[int, TimelineMark] = {}
    names: dict[str, str] = {}
    titles: dict[tuple[str, str], str] = {}
    for event in events:
        body = event.body
        title = ""
        if isinstance(body, ToolCallStarted):
            title = titles[event.run_id, body.call_id] = body.presentation.title
        elif isinstance(body, ToolCallFinished):
            title = titles.get((event.run_id, body.call_id), "")
        elif isinstance(body, ApprovalRequested):
            title = body.approval.presentation.title
        if isinstance(body, ChildrenPlanned):
            names |= {plan.id: plan.name for plan in body.children}
        label = names.get(body.child_id, "") if isinstance(body, _OF_A_CHILD) else _label(body)
        found[event.stream_from] = TimelineMark(event.stream_from, event.time, event.run_id, body.type, label, title)
    return tuple(found[seq] for seq in sorted(found))


def _label(body: EventBody) -> str:
    if isinstance(body, ToolCallStarted | ToolCallFinished):
        return body.tool
    if isinstance(body, RunStarted):
        return body.agent.name
    if isinstance(body, ModelReplied):
        return body.reply.model
    if isinstance(body, ApprovalRequested):
        return body.approval.tool
    if isinstance(body, RunPaused):
        return body.reason.value
    if isinstance(body, RunFinished):
        return body.status.value
    if isinstance(body, LimitReached):
        return body.limit.value
    return ""


class _Track:
    """Reads one run's events in order."""

    def __init__(self, event: RunEvent, body: RunStarted) -> None:
        self._run_id = event.run_id
        self._body = body
        self._start = event.time
        self._end: datetime | None = None
        self._status = RunStatus.PROCESSING.value
        self._spans: list[Span] = []
        self._open: dict[str, int] = {}
        """By key: index of an unfinished span."""
        self._to_do: set[str] = set()
        """Calls of the newest reply without a result."""
        self._last = event
        """The event before the present one."""

    def apply(self, event: RunEvent) -> None:
        body = event.body
        if isinstance(body, ModelReplied):
            self._model(event, body.reply.model or self._body.agent.model, "ok", body.duration_ms)
            self._to_do = {call.id for call in body.reply.tool_calls}
        elif isinstance(body, ReplyCutOff):
            self._model(event, self._body.agent.model, "cut_off", 0)
        elif isinstance(body, ToolCallStarted | ToolCallFinished):
            self._tool(event, body)
        elif isinstance(body, RunPaused | RunResumed | RunFailed | RunFinished):
            self._run(event, body)
        else:
            self._wait(event, body)
        self._last = event

    def done(self) -> TimelineRun:
        body = self._body
        if self._end is None and not self._open and not self._to_do and not isinstance(self._last.body, ModelReplied):
            # every call is done: its model is answering
            self._begin("model", self._last, "model", body.agent.model, "")
        return TimelineRun(
            run_id=self._run_id,
            name=body.agent.name,
            depth=body.depth,
            parent_run_id=body.parent_run_id,
            parent_call_id=body.parent_call_id,
            status=self._status,
            start=self._start,
            end=self._end,
            spans=tuple(self._spans),
        )

    def _model(self, event: RunEvent, label: str, status: str, duration_ms: int) -> None:
        """Add a request, which has no event of its own: it began its duration ago, but after the previous event."""
        start = self._last.time
        if duration_ms:
            most = max(timedelta(), event.time - start)
            within = duration_ms < most / timedelta(milliseconds=1)  # an imported event may have any number
            start = event.time - (timedelta(milliseconds=max(0, duration_ms)) if within else most)
        self._spans.append(
            Span(
                run_id=self._run_id,
                kind="model",
                start=start,
                end=event.time,
                label=label,
                status=status,
                seq=self._last.stream_from,
                end_seq=event.stream_from,
                event_seq=event.seq,
            )
        )

    def _tool(self, event: RunEvent, body: ToolCallStarted | ToolCallFinished) -> None:
        if isinstance(body, ToolCallStarted):
            self._begin(f"tool:{body.call_id}", event, "tool", body.tool, body.call_id, body.presentation.title)
            return
        status = body.status.value
        self._to_do.discard(body.call_id)
        # A call that waited ends with its wait; the tool itself ended when the wait began.
        if not self._finish(f"wait:{body.call_id}", event, status):
            self._finish(f"tool:{body.call_id}", event, status)

    def _wait(self, event: RunEvent, body: EventBody) -> None:
        if isinstance(body, QuestionAsked):
            self._begin_wait(event, "user", body.question.call_id)
        elif isinstance(body, ApprovalRequested):
            self._begin_wait(event, "approval", body.approval.call_id)
        elif isinstance(body, ParentAsked):
            self._begin_wait(event, "parent", body.call_id)
        elif isinstance(body, ChildrenPlanned | ChildrenJoined):
            self._begin_wait(event, "children", body.call_id)
        elif isinstance(body, QuestionAnswered):
            self._finish(f"wait:{body.call_id}", event, "timeout" if body.status is QuestionStatus.TIMEOUT else "ok")
        elif isinstance(body, ParentAnswered):
            self._finish(f"wait:{body.call_id}", event, "ok")
        elif isinstance(body, ApprovalDecided):
            self._finish(
                f"wait:{body.call_id}", event, "ok" if body.status is ApprovalStatus.APPROVED else body.status.value
            )

    def _run(self, event: RunEvent, body: RunPaused | RunResumed | RunFailed | RunFinished) -> None:
        if isinstance(body, RunFinished):
            for key in list(self._open):
                self._finish(
                    key,
                    event,
                    CallStatus.CANCELLED.value if body.status is RunStatus.CANCELLED else CallStatus.UNKNOWN.value,
                )
            self._end, self._status = event.time, body.status.value
            return
        if isinstance(body, RunResumed):
            self._finish("paused", event, "ok")
            self._end, self._status = None, RunStatus.PROCESSING.value
            return
        if isinstance(body, RunFailed):
            if not isinstance(self._last.body, ReplyCutOff):
                self._model(event, self._body.agent.model, "error", 0)
            self._end, self._status = event.time, RunStatus.ERROR.value
            return
        interrupted = body.reason is PauseReason.INTERRUPTED
        self._status = (RunStatus.INTERRUPTED if interrupted else RunStatus.PAUSED).value
        self._begin("paused", event, "paused", body.reason.value, "")

    def _begin_wait(self, event: RunEvent, label: str, call_id: str) -> None:
        self._finish(f"tool:{call_id}", event, "ok")
        self._begin(f"wait:{call_id}", event, "wait", label, call_id)

    def _begin(self, key: str, event: RunEvent, kind: SpanKind, label: str, call_id: str, title: str = "") -> None:
        if key in self._open:
            return
        self._open[key] = len(self._spans)
        started: dict[str, Any] = {"seq": event.stream_from, "event_seq": event.seq, "call_id": call_id, "title": title}
        self._spans.append(Span(self._run_id, kind, event.time, None, label=label, status=RUNNING, **started))

    def _finish(self, key: str, event: RunEvent, status: str) -> bool:
        index = self._open.pop(key, None)
        if index is None:
            return False
        self._spans[index] = replace(self._spans[index], end=event.time, status=status, end_seq=event.stream_from)
        return True
