"""The pure reducer: ``reduce(state, event) -> state``.

One small function an event type. Nothing here reads a clock or does I/O: the same events always give the same state, which is what makes
resuming after a kill, replaying, forking and testing possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from app.domain.approval import ApprovalScope, ApprovalStatus
from app.domain.events import (
    ApprovalAskedAgain,
    ApprovalDecided,
    ApprovalRequested,
    CallStatus,
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildrenJoined,
    ChildrenPlanned,
    ChildStarted,
    CompactionUndone,
    ContextCompacted,
    Dispatch,
    EntryPinned,
    EventBody,
    Injected,
    LimitReached,
    LimitsRaised,
    LoopDetected,
    ModelReplied,
    ModelRetried,
    OutputShown,
    ParentAnswered,
    ParentAsked,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    ReplyInterrupted,
    Retention,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    TaskChanged,
    ToolCallFinished,
    ToolCallStarted,
    UserMessage,
    WindowLearned,
)
from app.domain.team import ChildStatus
from app.domain.workflow import RunStatus
from app.engine.run import compaction, team
from app.engine.run.state import CallState, Ending, Entry, EntryKind, RunState, TaskMark, user_entry
from app.policy import loop_guard

FINISH_NOW = "finish_now"
"""Reason of the note that asks for a last answer without tools."""
ARE_YOU_DONE = "are_you_done"
"""Reason of the note that asks about open tasks."""

B = TypeVar("B", bound=EventBody)
_handlers: dict[str, Callable[[RunState, Any, RunEvent], RunState]] = {}


def fold(events: Iterable[RunEvent], history: tuple[Entry, ...] = (), state: RunState | None = None) -> RunState | None:
    """Fold events onto a state; ``history`` is the conversation of earlier runs and matters for a run's first event only."""
    for event in events:
        state = reduce(state, event, history)
    return state


def reduce(state: RunState | None, event: RunEvent, history: tuple[Entry, ...] = ()) -> RunState:
    """The state after one more event.

    Raises:
        ValueError: the event does not follow the state (a gap in the numbers, or a run that does not begin with its start).
    """
    body = event.body
    if state is None:
        if not isinstance(body, RunStarted) or event.seq != 1:
            raise ValueError(f"run {event.run_id} does not begin with run_started")
        return _started(event, body, history)
    if event.seq != state.last_seq + 1:
        raise ValueError(f"run {event.run_id}: event {event.seq} does not follow {state.last_seq}")
    elapsed = state.elapsed_ms
    # The gap before a resume is time nobody worked: the program was closed, or a person was thinking.
    if state.status is RunStatus.PROCESSING and state.last_time is not None and not isinstance(body, RunResumed):
        elapsed += max(0, round((event.time - state.last_time).total_seconds() * 1000))
    state = replace(state, last_seq=event.seq, last_time=event.time, elapsed_ms=elapsed)
    handler = _handlers.get(body.type)
    return _with_status(handler(state, body, event)) if handler else state


def _with_status(state: RunState) -> RunState:
    """The status follows from what is open; an end and a pause come from their own events."""
    if state.status.final or state.failed:
        return state
    status = RunStatus.PAUSED if state.pause is not None else _open_status(state)
    return state if status is state.status else replace(state, status=status)


def _open_status(state: RunState) -> RunStatus:
    if state.questions:
        return RunStatus.AWAITING_USER
    if any(call.status == "started" for call in state.calls) or runnable_calls(state):
        return RunStatus.PROCESSING
    if state.requests:
        return RunStatus.AWAITING_APPROVAL
    waits = {call.waits_for for call in state.calls if call.status == "waiting"}
    if "parent" in waits:
        return RunStatus.AWAITING_PARENT
    if "children" in waits or (not state.needs_model and not state.open_calls and state.entries and state.working_children):
        return RunStatus.AWAITING_CHILDREN
    return RunStatus.PROCESSING


def runnable_calls(state: RunState) -> tuple[CallState, ...]:
    """Planned calls that may run now: those before the first one that a person must allow, for a later call may build on it."""
    runnable: list[CallState] = []
    for call in state.calls:
        if call.status == "asked":
            break
        if call.status == "planned":
            runnable.append(call)
    return tuple(runnable)


def _on(kind: type[B]) -> Callable[[Callable[[RunState, B, RunEvent], RunState]], Callable[[RunState, B, RunEvent], RunState]]:
    def register(function: Callable[[RunState, B, RunEvent], RunState]) -> Callable[[RunState, B, RunEvent], RunState]:
        _handlers[kind.model_fields["type"].default] = function
        return function

    return register


def _started(event: RunEvent, body: RunStarted, history: tuple[Entry, ...]) -> RunState:
    return RunState(
        run_id=event.run_id,
        workflow_id=event.workflow_id,
        agent=body.agent,
        agent_id=body.agent_id,
        mode=body.mode,
        language=body.language,
        previous_run_id=body.previous_run_id,
        parent_run_id=body.parent_run_id,
        correlation_id=body.correlation_id or event.run_id,
        depth=body.depth,
        parent_call_id=body.parent_call_id,
        title=body.title,
        workspace=body.workspace,
        lineage=body.lineage,
        max_depth=body.max_depth,
        approvals=body.approvals,
        started_at=event.time,
        last_seq=event.seq,
        last_time=event.time,
        history=history,
        steps=0 if body.mode == "stepping" else None,
    )


@_on(UserMessage)
def _user_message(state: RunState, body: UserMessage, event: RunEvent) -> RunState:
    busy = state.needs_model or bool(state.open_calls)
    if body.strategy is Dispatch.SILENT:
        return _flush_silent(replace(state, silent=(*state.silent, body)), event.seq)
    if busy and body.strategy is Dispatch.QUEUE:
        return replace(state, queued=(*state.queued, body))
    # Entering the conversation: the first message, an interrupting one, or one that arrives while nothing is open.
    return replace(
        state,
        entries=(*state.entries, user_entry(event.seq, body, _origin(event))),
        needs_model=True,
        iterations=0,
        ending=None,
        asked_done=False,
    )


def _origin(event: RunEvent) -> str:
    return f"{event.run_id}:{event.seq}"


def _flush_silent(state: RunState, seq: int) -> RunState:
    if not state.silent or state.open_calls:
        return state
    added = tuple(user_entry(seq, message, f"{state.run_id}:{seq}#{number}") for number, message in enumerate(state.silent, 1))
    return replace(state, entries=state.entries + added, silent=())


@_on(ModelReplied)
def _model_replied(state: RunState, body: ModelReplied, event: RunEvent) -> RunState:
    reply = body.reply
    entry = Entry(
        seq=event.seq,
        kind=EntryKind.REPLY,
        text=reply.content,
        reasoning=reply.reasoning,
        calls=reply.tool_calls,
        origin=_origin(event),
    )
    steps = None if state.steps is None else max(0, state.steps - 1)
    state = replace(
        state,
        entries=(*state.entries, entry),
        calls=tuple(CallState(call=call) for call in reply.tool_calls),
        needs_model=False,
        iterations=state.iterations + 1,
        usage=state.usage + body.usage,
        context_tokens=body.context_tokens,
        dialect=body.dialect,
        overflows=0,
        retries=0,
        steps=steps,
        message_id=body.message_id,
        final_only=False,
    )
    if reply.tool_calls:
        return state
    return _take_queued(_flush_silent(state, event.seq), event.seq)


def _take_queued(state: RunState, seq: int) -> RunState:
    """The turn is answered: the oldest message that waited its turn becomes the next one."""
    if not state.queued:
        return state
    first, *rest = state.queued
    return replace(
        state,
        entries=(*state.entries, user_entry(seq, first, f"{state.run_id}:{seq}#0")),
        queued=tuple(rest),
        needs_model=True,
        iterations=0,
        ending=None,
        asked_done=False,
    )


@_on(ReplyInterrupted)
def _reply_interrupted(state: RunState, body: ReplyInterrupted, event: RunEvent) -> RunState:
    return state


@_on(ModelRetried)
def _model_retried(state: RunState, body: ModelRetried, event: RunEvent) -> RunState:
    return replace(state, retries=state.retries + 1) if body.again else state


def _with_call(state: RunState, changed: CallState) -> RunState:
    return replace(state, calls=tuple(changed if call.call.id == changed.call.id else call for call in state.calls))


@_on(ToolCallStarted)
def _tool_started(state: RunState, body: ToolCallStarted, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    if call is None:
        return state
    started = replace(call, status="started", intent=body, started_at=event.time)
    steps = None if state.steps is None else max(0, state.steps - 1)
    return _with_call(replace(state, tool_calls=state.tool_calls + 1, steps=steps), started)


@_on(ToolCallFinished)
def _tool_finished(state: RunState, body: ToolCallFinished, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    if call is None or call.status == "done":
        return state
    entry = Entry(
        seq=event.seq,
        kind=EntryKind.RESULT,
        text=body.text,
        call_id=body.call_id,
        tool=call.call.name,
        success=body.status is CallStatus.OK,
        retention=Retention.DISPOSABLE,
        origin=_origin(event),
    )
    state = team.told(state, call)
    requests = tuple(request for request in state.requests if request.call_id != body.call_id)
    state = replace(state, requests=requests) if len(requests) != len(state.requests) else state
    state = _with_call(replace(state, entries=(*state.entries, entry)), replace(call, status="done"))
    if body.status in (CallStatus.OK, CallStatus.ERROR):
        digest = loop_guard.signature(body.tool, call.intent.arguments if call.intent else call.call.arguments, body.text)
        state = replace(state, recent=loop_guard.remember(state.recent, digest))
    if body.end is not None:
        status = RunStatus.COMPLETED if body.end == "completed" else RunStatus.ABANDONED
        result = body.result.get("result") if isinstance(body.result, dict) else None
        state = replace(state, ending=Ending(status=status, summary=body.end_summary, result=str(result or "")))
    if not state.open_calls:
        state = _flush_silent(replace(state, needs_model=state.ending is None), event.seq)
        if state.ending is not None:
            # The agent is done, but with what it was told before: who wrote meanwhile is answered first.
            state = _take_queued(state, event.seq)
    return state


@_on(OutputShown)
def _output_shown(state: RunState, body: OutputShown, event: RunEvent) -> RunState:
    return state


@_on(TaskChanged)
def _task_changed(state: RunState, body: TaskChanged, event: RunEvent) -> RunState:
    marks = [mark for mark in state.tasks if mark.id != body.task.id]
    own = body.task.run_id == state.run_id
    if own and body.action != "delete":
        marks.append(TaskMark(id=body.task.id, name=body.task.name, status=body.task.status))
    return replace(state, tasks=tuple(marks))


@_on(QuestionAsked)
def _question_asked(state: RunState, body: QuestionAsked, event: RunEvent) -> RunState:
    state = replace(state, questions=(*state.questions, body.question))
    call = state.call(body.question.call_id)
    if call is not None:
        state = _with_call(state, replace(call, status="waiting", waits_for="user"))
    return state


@_on(QuestionAnswered)
def _question_answered(state: RunState, body: QuestionAnswered, event: RunEvent) -> RunState:
    left = tuple(question for question in state.questions if question.id != body.question_id)
    return replace(state, questions=left)


@_on(Injected)
def _injected(state: RunState, body: Injected, event: RunEvent) -> RunState:
    entry = Entry(seq=event.seq, kind=EntryKind.NOTE, text=body.content, origin=_origin(event))
    return replace(
        team.noted(state, body.reason),
        entries=(*state.entries, entry),
        needs_model=True,
        asked_done=state.asked_done or body.reason == ARE_YOU_DONE,
        final_only=state.final_only or body.reason == FINISH_NOW,
    )


@_on(ContextCompacted)
def _context_compacted(state: RunState, body: ContextCompacted, event: RunEvent) -> RunState:
    return compaction.compacted(replace(state, usage=state.usage + body.usage), body, event)


@_on(EntryPinned)
def _entry_pinned(state: RunState, body: EntryPinned, event: RunEvent) -> RunState:
    return compaction.pinned(state, body.origin, body.pinned)


@_on(CompactionUndone)
def _compaction_undone(state: RunState, body: CompactionUndone, event: RunEvent) -> RunState:
    return compaction.undone(state, body.origin)


@_on(WindowLearned)
def _window_learned(state: RunState, body: WindowLearned, event: RunEvent) -> RunState:
    return replace(state, window=body.context_window, overflows=state.overflows + 1)


@_on(LimitReached)
def _limit_reached(state: RunState, body: LimitReached, event: RunEvent) -> RunState:
    return replace(state, limit=body)


@_on(LoopDetected)
def _loop_detected(state: RunState, body: LoopDetected, event: RunEvent) -> RunState:
    return replace(state, loop_warned=state.loop_warned | {body.digest}, loop_checked=len(state.entries))


@_on(RunPaused)
def _run_paused(state: RunState, body: RunPaused, event: RunEvent) -> RunState:
    return replace(state, pause=body.reason)


@_on(RunResumed)
def _run_resumed(state: RunState, body: RunResumed, event: RunEvent) -> RunState:
    raised = state.raised_limits
    for kind, amount in body.raise_limits.items():
        raised[kind] = raised.get(kind, 0) + amount
    recent = () if state.pause is PauseReason.LOOP else state.recent
    mode = body.mode or state.mode
    return replace(
        state,
        raised=tuple(sorted(raised.items())),
        pause=None,
        limit=None,
        failed=False,
        error="",
        recent=recent,
        mode=mode,
        steps=body.steps if mode == "stepping" else None,
        status=RunStatus.PROCESSING,
    )


@_on(RunFailed)
def _run_failed(state: RunState, body: RunFailed, event: RunEvent) -> RunState:
    return replace(state, status=RunStatus.ERROR, failed=True, error=body.message)


@_on(RunFinished)
def _run_finished(state: RunState, body: RunFinished, event: RunEvent) -> RunState:
    return replace(
        state,
        status=body.status,
        ending=None,
        needs_model=False,
        pause=None,
        summary=body.summary,
        result=body.result,
        error=body.error,
        failed=False,
    )


@_on(ApprovalRequested)
def _approval_requested(state: RunState, body: ApprovalRequested, event: RunEvent) -> RunState:
    state = replace(state, requests=(*state.requests, body.approval))
    call = state.call(body.approval.call_id)
    return _with_call(state, replace(call, status="asked")) if call is not None else state


@_on(ApprovalDecided)
def _approval_decided(state: RunState, body: ApprovalDecided, event: RunEvent) -> RunState:
    asked = next((request for request in state.requests if request.id == body.approval_id), None)
    if asked is None:
        return state
    state = replace(state, requests=tuple(request for request in state.requests if request is not asked))
    if body.status is not ApprovalStatus.APPROVED:
        return state
    if body.scope is not ApprovalScope.ONCE:
        state = replace(state, allowed=state.allowed | {asked.tool})
    call = state.call(body.call_id)
    if call is None:
        return state
    changed = call.call if body.arguments is None else call.call.model_copy(update={"arguments": body.arguments, "error": None})
    return _with_call(state, replace(call, call=changed, status="planned", allowed=True, edited=body.arguments is not None))


@_on(ApprovalAskedAgain)
def _approval_asked_again(state: RunState, body: ApprovalAskedAgain, event: RunEvent) -> RunState:
    again = tuple(
        request.model_copy(update={"round": request.round + 1, "seen_ms": 0}) if request.id == body.approval_id else request
        for request in state.requests
    )
    return replace(state, requests=again)


@_on(ChildrenPlanned)
def _children_planned(state: RunState, body: ChildrenPlanned, event: RunEvent) -> RunState:
    return team.planned(state, body)


@_on(ChildStarted)
def _child_started(state: RunState, body: ChildStarted, event: RunEvent) -> RunState:
    return team.started(state, body, event)


@_on(ChildFinished)
def _child_finished(state: RunState, body: ChildFinished, event: RunEvent) -> RunState:
    return team.finished(state, body)


@_on(ChildAsked)
def _child_asked(state: RunState, body: ChildAsked, event: RunEvent) -> RunState:
    return team.with_child(state, body.child_id, status=ChildStatus.ASKING, question=body.message, question_told=False)


@_on(ChildAnswered)
def _child_answered(state: RunState, body: ChildAnswered, event: RunEvent) -> RunState:
    return team.with_child(state, body.child_id, status=ChildStatus.RUNNING, question="", question_told=False)


@_on(ChildrenJoined)
def _children_joined(state: RunState, body: ChildrenJoined, event: RunEvent) -> RunState:
    return team.joined(state, body)


@_on(ParentAsked)
def _parent_asked(state: RunState, body: ParentAsked, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    state = replace(state, asked_parent=body.message)
    return _with_call(state, replace(call, status="waiting", waits_for="parent")) if call is not None else state


@_on(ParentAnswered)
def _parent_answered(state: RunState, body: ParentAnswered, event: RunEvent) -> RunState:
    return replace(state, asked_parent="")


@_on(LimitsRaised)
def _limits_raised(state: RunState, body: LimitsRaised, event: RunEvent) -> RunState:
    return team.raised(state, body)
