"""The pure reducer: ``reduce(state, event) -> state``.

One small function per event type. Nothing here reads a clock or does I/O: the same events always give the same state,
which makes resuming after a kill, replaying, forking and testing possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from atelier_desk.domain.attachment import OUTSIDE
from atelier_desk.domain.events.run import (
    CallStatus,
    EventBody,
    ImagesRejected,
    Injected,
    LimitReached,
    LoopDetected,
    ModelReplied,
    ModelRetried,
    OutputShown,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    QueuedSent,
    ReplyCutOff,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    ServersLacking,
    TaskChanged,
    ToolCallFinished,
    ToolCallStarted,
    ToolsRefused,
    UserMessage,
    WindowLearned,
)
from atelier_desk.domain.model_messages import FinishReason
from atelier_desk.domain.result_parts import PicturePart, SourcePart
from atelier_desk.domain.workflow import Dispatch, RunStatus
from atelier_desk.engine.run import sub_agent_state
from atelier_desk.engine.run.reducer import (  # noqa: F401 - they register their parts
    reduce_approvals_sub_agents,
    reduce_context_changes,
    reduce_mcp_requests,
    reduce_paid_side_requests,
)
from atelier_desk.engine.run.reducer.conversation_entries import NO_HISTORY, ContextEntry, EntryKind, History
from atelier_desk.engine.run.reducer.handler_registry import evolve, handlers, on, origin_of, runnable_calls, with_call
from atelier_desk.engine.run.reducer.state import (
    CallState,
    Ending,
    RunState,
    TaskMark,
    model_key,
    user_entry,
    without_skills,
)
from atelier_desk.engine.run.request import compaction
from atelier_desk.policy import loop_guard
from atelier_desk.policy.permissions import taint_sources
from atelier_desk.presentation.run_notices import FIX_ANSWER

FINISH_NOW = "finish_now"
"""Reason of the note that requests a final answer without tools."""
ARE_YOU_DONE = "are_you_done"
"""Reason of the note about open tasks."""
CUT_OFF = "[This reply was interrupted here.]"
"""Tells the model that a reply of its own ended there for everybody."""


_SOURCES = 60
"""Maximum pages that a run remembers for its parent: the newest."""
HANDED_OVER = ("report", "result")
"""Types of output that a sub-agent passes to its parent; messages and progress are for viewers."""


def fold(events: Iterable[RunEvent], history: History = NO_HISTORY, state: RunState | None = None) -> RunState | None:
    """Fold events onto a state; ``history`` is the conversation of earlier runs and matters only for a run's first
    event.
    """
    for event in events:
        state = reduce(state, event, history)
    return state


def reduce(state: RunState | None, event: RunEvent, history: History = NO_HISTORY) -> RunState:
    """Return the state after one more event.

    Raises:
        ValueError: the event does not follow the state (a gap in the numbers, or a run that does not begin with its
            start).
    """
    body = event.body
    if state is None:
        if not isinstance(body, RunStarted) or event.seq != 1:
            raise ValueError(f"run {event.run_id} does not begin with run_started")
        return _started(event, body, history)
    if event.seq != state.last_seq + 1:
        raise ValueError(f"run {event.run_id}: event {event.seq} does not follow {state.last_seq}")
    elapsed = state.elapsed_ms
    # The gap before a resume is not working time: the program was closed, or a person was thinking.
    if state.status is RunStatus.PROCESSING and state.last_time is not None and not _after_a_gap(body):
        elapsed += max(0, round((event.time - state.last_time).total_seconds() * 1000))
    since = state.retried_since if isinstance(body, ModelRetried | ToolsRefused | ImagesRejected) else event.seq
    state = evolve(state, last_seq=event.seq, last_time=event.time, elapsed_ms=elapsed, retried_since=since)
    handler = handlers.get(body.type)
    return _with_status(handler(state, body, event)) if handler else state


def _after_a_gap(body: EventBody) -> bool:
    """Whether nobody worked before this event: the run is resumed, or the next process finds it after a kill."""
    found = (isinstance(body, RunPaused) and body.ended == "killed") or (
        isinstance(body, ReplyCutOff) and body.reason == "killed"
    )
    return found or isinstance(body, RunResumed)


def _with_status(state: RunState) -> RunState:
    """Derive the status from what is open; ends and pauses have their own events."""
    if state.status.final or state.failed:
        return state
    if state.pause is PauseReason.INTERRUPTED:
        status = RunStatus.INTERRUPTED
    else:
        status = RunStatus.PAUSED if state.pause is not None else _open_status(state)
    return state if status is state.status else evolve(state, status=status)


def _open_status(state: RunState) -> RunStatus:
    if state.questions:
        return RunStatus.AWAITING_USER
    if any(call.status in ("started", "ready") for call in state.calls) or runnable_calls(state):
        return RunStatus.PROCESSING
    if state.requests:
        return RunStatus.AWAITING_APPROVAL
    waits = {call.waits_for for call in state.calls if call.status == "waiting"}
    if "parent" in waits:
        return RunStatus.AWAITING_PARENT
    if "children" in waits or (
        not state.needs_model and not state.open_calls and state.entries and state.working_children
    ):
        return RunStatus.AWAITING_CHILDREN
    return RunStatus.PROCESSING


def _started(event: RunEvent, body: RunStarted, history: History) -> RunState:
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
        trusted=body.trusted,
        instructions=body.instructions,
        skills=body.skills,
        handed_down=body.attachments,
        lineage=body.lineage,
        max_depth=body.max_depth,
        approvals=body.approvals,
        tainted=body.tainted,
        started_at=event.time,
        last_seq=event.seq,
        last_time=event.time,
        history=History(without_skills(history, body.skills_withdrawn)) if body.skills_withdrawn else history,
        steps=0 if body.mode == "stepping" else None,
    )


@on(UserMessage)
def _user_message(state: RunState, body: UserMessage, event: RunEvent) -> RunState:
    busy = state.needs_model or bool(state.open_calls)
    if body.strategy is Dispatch.SILENT:
        return _flush_silent(evolve(state, silent=(*state.silent, body)), event.seq)
    if busy and body.strategy is Dispatch.QUEUE:
        return evolve(state, queued=(*state.queued, body))
    # It enters the conversation: the first message, a redirecting one, or one that arrives while nothing is open.
    return _add_message(state, body, user_entry(event.seq, body, origin_of(event)))


def _outside(message: UserMessage) -> tuple[str, ...]:
    """Return the outside sources of a message."""
    called = (message.invoked.outside,) if message.invoked is not None else ()
    return (*(each.name for each in message.attachments if each.source in OUTSIDE), *called)


def _add_message(state: RunState, message: UserMessage, entry: ContextEntry) -> RunState:
    """Add a message to the conversation, and set who answers it."""
    return evolve(
        state,
        agent=message.agent or state.agent,
        agent_id=message.agent_id if message.agent is not None else state.agent_id,
        entries=(*state.entries, *state.cut_off_reply, entry),
        cut_off_reply=(),
        tainted=taint_sources.merged(state.tainted, _outside(message)),
        needs_model=True,
        iterations=0,
        ending=None,
        asked_done=False,
        form_asked=False,
        form_only=False,
    )


@on(QueueChanged)
def _queue_changed(state: RunState, body: QueueChanged, event: RunEvent) -> RunState:
    waiting = {message.message_id: message for message in state.queued}
    queued = [waiting[each] for each in body.order if each in waiting]
    return evolve(state, queued=tuple(_edited(message, body) for message in queued))


def _edited(message: UserMessage, body: QueueChanged) -> UserMessage:
    text = body.edited.get(message.message_id)
    if text is None:
        return message
    return message.model_copy(update={"content": text, "invoked": body.invoked.get(message.message_id)})


@on(QueuedSent)
def _queued_sent(state: RunState, body: QueuedSent, event: RunEvent) -> RunState:
    message = next((each for each in state.queued if each.message_id == body.message_id), None)
    if message is None:
        return state  # withdrawn or answered at the same moment
    state = evolve(state, queued=tuple(each for each in state.queued if each is not message))
    return _add_message(state, message, user_entry(event.seq, message, origin_of(event)))


def _flush_silent(state: RunState, seq: int) -> RunState:
    if not state.silent or state.open_calls:
        return state
    added = tuple(
        user_entry(seq, message, f"{state.run_id}:{seq}#{number}") for number, message in enumerate(state.silent, 1)
    )
    read = (name for message in state.silent for name in _outside(message))
    return evolve(state, entries=state.entries + added, silent=(), tainted=taint_sources.merged(state.tainted, read))


@on(ModelReplied)
def _model_replied(state: RunState, body: ModelReplied, event: RunEvent) -> RunState:
    reply = body.reply
    entry = ContextEntry(
        seq=event.seq,
        kind=EntryKind.REPLY,
        text=reply.content,
        reasoning=reply.reasoning,
        provider_data=reply.provider_data,
        calls=reply.tool_calls,
        origin=origin_of(event),
        message_id=body.message_id,
    )
    steps = None if state.steps is None else max(0, state.steps - 1)
    if state.left_out:
        state = _without_pictures(state)
    state = evolve(
        state,
        entries=(*state.entries, entry),
        cut_off_reply=(),
        calls=tuple(CallState(call=call) for call in reply.tool_calls),
        needs_model=False,
        iterations=state.iterations + 1,
        usage=state.usage + body.usage,
        context_tokens=body.context_tokens,
        dialect=body.dialect,
        searched=body.search_scope if body.searched_tools else None if body.with_tools else state.searched,
        overflows=0,
        retries=0,
        steps=steps,
        message_id=body.message_id,
        finish=FinishReason.TOOL_CALLS if reply.tool_calls else reply.finish_reason,
        final_only=False,
        form_only=False,
    )
    if reply.tool_calls:
        return state
    return _dequeue(_flush_silent(state, event.seq), event.seq)


def _dequeue(state: RunState, seq: int) -> RunState:
    """The turn is answered: the oldest queued message becomes the next turn."""
    if not state.queued:
        return state
    first, *rest = state.queued
    return _add_message(evolve(state, queued=tuple(rest)), first, user_entry(seq, first, f"{state.run_id}:{seq}#0"))


@on(ReplyCutOff)
def _reply_cut_off(state: RunState, body: ReplyCutOff, event: RunEvent) -> RunState:
    state = evolve(state, usage=state.usage + body.usage)
    if not (body.in_conversation and body.content.strip()):
        return state
    # Calls whose pieces had arrived are not part of it, nor is reasoning: servers accept it of complete replies only.
    entry = ContextEntry(
        seq=event.seq,
        kind=EntryKind.REPLY,
        text=f"{body.content.rstrip()}\n\n{CUT_OFF}",
        origin=origin_of(event),
        message_id=body.message_id,
    )
    return evolve(state, cut_off_reply=(entry,))


@on(ModelRetried)
def _model_retried(state: RunState, body: ModelRetried, event: RunEvent) -> RunState:
    return evolve(state, retries=state.retries + 1) if body.again else state


@on(ToolsRefused)
def _tools_refused(state: RunState, body: ToolsRefused, event: RunEvent) -> RunState:
    # What it had written was a call as text.
    return evolve(state, tools_refused=True, cut_off_reply=())


def _without_pictures(state: RunState) -> RunState:
    """Record the images whose omission made the request succeed: the server did not accept them."""
    model = model_key(state.agent)

    def marked(entry: ContextEntry) -> ContextEntry:
        return entry if model in entry.refused else replace(entry, refused=(*entry.refused, model))

    return evolve(compaction.mapped(state, marked, state.left_out), left_out=())


@on(ServersLacking)
def _servers_lacking(state: RunState, body: ServersLacking, event: RunEvent) -> RunState:
    return evolve(state, servers_lacking=True)


@on(ImagesRejected)
def _pictures_refused(state: RunState, body: ImagesRejected, event: RunEvent) -> RunState:
    return evolve(state, left_out=body.entries) if body.entries else evolve(state, pictures_refused=True)


@on(ToolCallStarted)
def _tool_started(state: RunState, body: ToolCallStarted, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    if call is None:
        return state
    started = replace(call, status="started", intent=body, started_at=event.time, cut_off=False)
    steps = None if state.steps is None else max(0, state.steps - 1)
    tainted = taint_sources.merged(state.tainted, (body.taint,))
    return with_call(evolve(state, tool_calls=state.tool_calls + 1, steps=steps, tainted=tainted), started)


@on(ToolCallFinished)
def _tool_finished(state: RunState, body: ToolCallFinished, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    if call is None or call.status == "done":
        return state
    entry = ContextEntry(
        seq=event.seq,
        kind=EntryKind.RESULT,
        text=body.text,
        call_id=body.call_id,
        tool=call.call.name,
        success=body.status is CallStatus.OK,
        images=tuple(part.image for part in body.parts if isinstance(part, PicturePart)),
        origin=origin_of(event),
        skill=body.skill,
    )
    [entry] = without_skills((entry,), state.skills_withdrawn)
    state = sub_agent_state.handed_over(sub_agent_state.deliver_results(state, call), body)
    if body.state is not None:
        # Calls with a shared state may run concurrently: each adds its part.
        merged = {**state.tool_state.get(body.state_of, {}), **body.state} if body.state_of else body.state
        state = evolve(state, tool_state={**state.tool_state, body.state_of or body.tool: merged})
    if call.waits_for == "parent":
        state = evolve(state, asked_parent="")
    requests = tuple(request for request in state.requests if request.call_id != body.call_id)
    state = evolve(state, requests=requests) if len(requests) != len(state.requests) else state
    tainted = taint_sources.merged(state.tainted, body.tainted)
    if state.depth and (pages := tuple(part for part in body.parts if isinstance(part, SourcePart))):
        state = evolve(state, sources=(*state.sources, *pages)[-_SOURCES:])
    state = with_call(evolve(state, entries=(*state.entries, entry), tainted=tainted), replace(call, status="done"))
    if body.status in (CallStatus.OK, CallStatus.ERROR):
        digest = loop_guard.signature(
            body.tool, call.intent.arguments if call.intent else call.call.arguments, body.text
        )
        state = evolve(state, recent=loop_guard.remember(state.recent, digest))
    if body.end is not None:
        status = RunStatus.COMPLETED if body.end == "completed" else RunStatus.ABANDONED
        result = body.result.get("result") if isinstance(body.result, dict) else None
        state = evolve(state, ending=Ending(status=status, summary=body.end_summary, result=str(result or "")))
    if not state.open_calls:
        state = _flush_silent(evolve(state, needs_model=state.ending is None), event.seq)
        if state.ending is not None:
            # The agent has finished, but messages written meanwhile are answered first.
            state = _dequeue(state, event.seq)
    return state


@on(OutputShown)
def _output_shown(state: RunState, body: OutputShown, event: RunEvent) -> RunState:
    handed = state.parent_run_id is not None and body.output_type in HANDED_OVER
    return evolve(state, handed=(*state.handed, body)) if handed else state


@on(TaskChanged)
def _task_changed(state: RunState, body: TaskChanged, event: RunEvent) -> RunState:
    marks = [mark for mark in state.tasks if mark.id != body.task.id]
    own = body.task.run_id == state.run_id
    if own and body.action != "delete":
        marks.append(TaskMark(id=body.task.id, name=body.task.name, status=body.task.status))
    return evolve(state, tasks=tuple(marks))


@on(QuestionAsked)
def _question_asked(state: RunState, body: QuestionAsked, event: RunEvent) -> RunState:
    state = evolve(state, questions=(*state.questions, body.question))
    call = state.call(body.question.call_id)
    if call is not None and body.question.spec.asker is None:
        state = with_call(state, replace(call, status="waiting", waits_for="user"))
    return state


@on(QuestionAnswered)
def _question_answered(state: RunState, body: QuestionAnswered, event: RunEvent) -> RunState:
    asked = next((question for question in state.questions if question.id == body.question_id), None)
    left = tuple(question for question in state.questions if question is not asked)
    state = evolve(state, questions=left)
    return (
        reduce_mcp_requests.answered(state, asked, body)
        if asked is not None and asked.spec.asker is not None
        else state
    )


@on(Injected)
def _injected(state: RunState, body: Injected, event: RunEvent) -> RunState:
    entry = ContextEntry(seq=event.seq, kind=EntryKind.NOTE, text=body.content, origin=origin_of(event))
    return evolve(
        sub_agent_state.noted(state, body.reason),
        entries=(*state.entries, entry),
        needs_model=True,
        asked_done=state.asked_done or body.reason == ARE_YOU_DONE,
        final_only=state.final_only or body.reason == FINISH_NOW,
        # An agent told to finish at a limit is not asked again.
        form_asked=state.form_asked or body.reason in (FIX_ANSWER, FINISH_NOW),
        form_only=state.form_only or body.reason == FIX_ANSWER,
        ending=None if body.reason == FIX_ANSWER else state.ending,
    )


@on(WindowLearned)
def _window_learned(state: RunState, body: WindowLearned, event: RunEvent) -> RunState:
    return evolve(state, window=body.context_window, overflows=state.overflows + 1)


@on(LimitReached)
def _limit_reached(state: RunState, body: LimitReached, event: RunEvent) -> RunState:
    return evolve(state, limit=body)


@on(LoopDetected)
def _loop_detected(state: RunState, body: LoopDetected, event: RunEvent) -> RunState:
    return evolve(state, loop_warned=state.loop_warned | {body.digest}, loop_checked=len(state.entries))


@on(RunPaused)
def _run_paused(state: RunState, body: RunPaused, event: RunEvent) -> RunState:
    return evolve(state, pause=body.reason, ended=body.ended)


@on(RunResumed)
def _run_resumed(state: RunState, body: RunResumed, event: RunEvent) -> RunState:
    raised = state.raised_limits
    for kind, amount in body.raise_limits.items():
        raised[kind] = raised.get(kind, 0) + amount
    recent = () if state.pause is PauseReason.LOOP else state.recent
    mode = body.mode or state.mode
    return evolve(
        state,
        # They were not begun by the run's new driver.
        calls=tuple(replace(call, cut_off=True) if call.status == "started" else call for call in state.calls),
        raised=tuple(sorted(raised.items())),
        pause=None,
        ended=None,
        limit=None,
        failed=False,
        error="",
        # A person retries: earlier attempts no longer count.
        retries=0 if state.failed else state.retries,
        recent=recent,
        mode=mode,
        steps=body.steps if mode == "stepping" else None,
        status=RunStatus.PROCESSING,
    )


@on(RunFailed)
def _run_failed(state: RunState, body: RunFailed, event: RunEvent) -> RunState:
    return evolve(state, status=RunStatus.ERROR, failed=True, error=body.message)


@on(RunFinished)
def _run_finished(state: RunState, body: RunFinished, event: RunEvent) -> RunState:
    return evolve(
        state,
        status=body.status,
        entries=(*state.entries, *state.cut_off_reply),
        cut_off_reply=(),
        ending=None,
        needs_model=False,
        pause=None,
        summary=body.summary,
        result=body.result,
        error=body.error,
        failed=False,
    )
