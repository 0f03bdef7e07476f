"""Runs of an imported workflow: paused, with nothing approved or begun elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from atelier_desk.domain.approval import (
    ApprovalKind,
    ApprovalRequest,
    ApprovalStatus,
)
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.events.run import (
    ApprovalRequested,
    ChildFinished,
    EventBody,
    PauseReason,
    QuestionAnswered,
    RunEvent,
    RunPaused,
    ToolCallStarted,
)
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.question import QuestionStatus, UserQuestion
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.domain.workflow import Run, RunStatus, ToolExecution, WorkflowStatus
from atelier_desk.engine.run.projection.event_projection import project
from atelier_desk.engine.run.projection.projection_base import RunTotals
from atelier_desk.engine.run.reducer.next_step import Wait, next_step
from atelier_desk.engine.run.reducer.reduce import fold, reduce
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.tool_result_events import call_finished
from atelier_desk.engine.services.workflow.workflow_file import WorkflowFile
from atelier_desk.tools.calls.outcomes import ToolResult


def held(file: WorkflowFile) -> WorkflowFile:
    """Pause every unfinished run as by hand, also one that waited for a step or at a limit, so that no start of the
    program lets its agents work, and nothing here waits for what somebody elsewhere began: the file is untrusted.

    What a run would do, its status and its usage are derived from its journal; the file's values are not trusted, and
    usage of deleted branches is dropped. The pause is an ordinary journal event with one stream event. A run that waits
    for a person's answer keeps waiting. Calls approved elsewhere that have not begun are asked about again, and
    interrupted ones are not repeated: resuming does nothing that this person was not asked about.
    """
    runs: list[Run] = []
    added: list[RunEvent] = []
    asked: list[ApprovalRequest] = []
    begun: set[tuple[str, str]] = set()
    as_called: dict[str, ApprovalRequest] = {}
    waiting_rows: dict[str, ApprovalRequest] = {}
    over: dict[str, UserQuestion] = {}
    ended: dict[tuple[str, str], ToolExecution] = {}
    usage = Usage()
    stream_seq = file.workflow.stream_seq
    for run in file.runs:
        try:
            state = fold(event for event in file.events if event.run_id == run.id)
        except ValueError:
            state = None
        run = run.model_copy(update={"usage": state.usage if state is not None else Usage()})
        usage += run.usage
        if state is not None:
            named = {each.id: _as_called(each, state) for each in state.requests}
            as_called |= named
            waiting_rows |= {id: each for id, each in named.items() if _waits(state, each.call_id)}
        for request in _allowed(file, state) if state is not None else ():
            event = _next_event(run, stream_seq, ApprovalRequested(approval=request))
            before, state = state, reduce(state, event)
            stream_seq += len(project(event, before, state, RunTotals()).payloads)
            added.append(event)
            asked.append(request)
            run = run.model_copy(update={"last_seq": event.seq})
        for body in _end_waiting(state) if state is not None else ():
            event = _next_event(run, stream_seq, body)
            before, state = state, reduce(state, event)
            out = project(event, before, state, RunTotals())
            stream_seq += len(out.payloads)
            added.append(event)
            over |= {each.id: each for each in out.questions}
            ended |= {(each.run_id, each.call_id): each for each in out.executions}
            run = run.model_copy(update={"last_seq": event.seq})
        begun |= (
            {(run.id, call.call.id) for call in state.calls if call.status == "started"} if state is not None else set()
        )
        if state is None:
            # Nothing can or may drive it.
            run = run if run.status.final else run.model_copy(update={"status": RunStatus.PAUSED})
        elif _to_pause(state):
            pause = _next_event(run, stream_seq, RunPaused(reason=PauseReason.USER))
            stream_seq += 1
            added.append(pause)
            run = run.model_copy(update={"status": RunStatus.PAUSED, "last_seq": pause.seq})
        else:
            run = run.model_copy(update={"status": state.status})
        runs.append(run)
    open_rows = (each for each in file.approvals if each.id not in as_called)
    # One without a waiting call of the journal waits for nothing: it could only mislead.
    shown = (each for each in open_rows if each.status is not ApprovalStatus.PENDING)
    approvals = (*shown, *waiting_rows.values(), *asked)
    pending = sum(each.status is ApprovalStatus.PENDING for each in approvals)
    # Only a person ends the wait: a time limit in the file would make the run go on when its question is shown.
    untimed = {"timeout_s": 0, "seen_ms": 0}
    questions = tuple(over.get(each.id, each).model_copy(update=untimed) for each in file.questions)
    waiting = sum(each.status is QuestionStatus.PENDING for each in questions)
    counts = {"pending_approvals": pending, "pending_questions": waiting if over else file.workflow.pending_questions}
    workflow = file.workflow.model_copy(update={"stream_seq": stream_seq, "usage": usage, **counts})
    kept = {
        "workflow": workflow,
        "runs": tuple(runs),
        "events": (*(_with_requests(_not_again(event, begun), as_called) for event in file.events), *added),
        "approvals": approvals,
        "questions": questions,
        "executions": tuple(ended.get((each.run_id, each.call_id), each) for each in file.executions),
    }
    return file.model_copy(update=kept)


def _with_requests(event: RunEvent, waiting: Mapping[str, ApprovalRequest]) -> RunEvent:
    body = event.body
    if isinstance(body, ApprovalRequested) and body.approval.id in waiting:
        return event.model_copy(update={"body": body.model_copy(update={"approval": waiting[body.approval.id]})})
    return event


def _as_called(request: ApprovalRequest, state: RunState) -> ApprovalRequest:
    """Return a request that shows the call as the journal has it, which is what an approval would run.

    Its words, values, risk and rules are those of the file, which may say anything, and its timeout could approve it.
    """
    call = state.call(request.call_id)
    return ApprovalRequest(
        id=request.id,
        workflow_id=state.workflow_id,
        run_id=state.run_id,
        root_run_id=state.root_run_id,
        call_id=request.call_id,
        agent_id=state.agent_id,
        agent_name=state.agent.name,
        lineage=state.lineage,
        kind=ApprovalKind.TOOL,
        tool=call.call.name if call is not None else request.tool,
        arguments=call.call.arguments if call is not None else {},
        risk="high",
        timeout_s=state.approvals.timeout_s,
        on_timeout=state.approvals.on_timeout,
        round=request.round,
        created_at=request.created_at,
    )


def _waits(state: RunState, call_id: str) -> bool:
    call = state.call(call_id)
    return call is not None and call.status == "asked" and not state.status.final


def _not_again(event: RunEvent, begun: set[tuple[str, str]]) -> RunEvent:
    body = event.body
    if isinstance(body, ToolCallStarted) and body.idempotent and (event.run_id, body.call_id) in begun:
        return event.model_copy(update={"body": body.model_copy(update={"idempotent": False})})
    return event


def _next_event(run: Run, stream_seq: int, body: EventBody) -> RunEvent:
    """Return an event after everything the file has of a run, following stream event ``stream_seq``."""
    return RunEvent(
        workflow_id=run.workflow_id, run_id=run.id, seq=run.last_seq + 1, stream_from=stream_seq + 1, body=body
    )


def _end_waiting(state: RunState) -> list[EventBody]:
    """Return events that end calls waiting for answers to their servers, and sub-agents that were not started.

    An answer would repeat the calls at whatever server has that name here, and the next step would start the
    sub-agents, without anybody being asked.
    """
    if state.status.final:
        return []
    calls = [call for call in state.open_calls if call.input is not None]
    ids = {call.call.id for call in calls}
    asked = [each for each in state.questions if each.spec.asker is not None or each.call_id in ids]
    bodies: list[EventBody] = [
        QuestionAnswered(question_id=each.id, call_id=each.call_id, status=QuestionStatus.SKIPPED) for each in asked
    ]
    why = "This call waited for its server where this workflow comes from. It was ended: make it again if it is needed."
    for call in calls:
        tool = call.intent.tool if call.intent else call.call.name
        bodies.append(call_finished(call.call.id, tool, ToolResult.failure(why, "imported")))
    why = "It was planned where this workflow comes from, and not started. Start it again if it is needed."
    bodies += [
        ChildFinished(child_id=each, status=ChildStatus.NOT_RUN, error=why)
        for each in dict.fromkeys(plan.id for plan in state.plans)
    ]
    return bodies


def _allowed(file: WorkflowFile, state: RunState) -> list[ApprovalRequest]:
    """Return new requests for calls approved elsewhere that have not begun."""
    calls = {call.call.id for call in state.open_calls if call.status == "planned" and call.allowed}
    requests = {
        event.body.approval.call_id: event.body.approval
        for event in file.events
        if event.run_id == state.run_id
        and isinstance(event.body, ApprovalRequested)
        and event.body.approval.call_id in calls
    }
    return [
        _as_called(each.model_copy(update={"id": new_id(), "round": each.round + 1}), state)
        for each in requests.values()
    ]


def _to_pause(state: RunState) -> bool:
    """Return whether a run is to be paused: one that waits for a person's answer is not."""
    if state.status.final or state.pause is PauseReason.USER:
        return False
    step = next_step(state)
    return not (isinstance(step, Wait) and step.reason in ("user", "approval"))


def status_at_rest(file: WorkflowFile) -> WorkflowStatus:
    if any(run.status in (RunStatus.AWAITING_USER, RunStatus.AWAITING_APPROVAL) for run in file.runs):
        return WorkflowStatus.WAITING
    if any(not run.status.final for run in file.runs):
        return WorkflowStatus.PAUSED
    status = file.workflow.status
    over = status in (WorkflowStatus.IDLE, WorkflowStatus.COMPLETED, WorkflowStatus.ERROR)
    return status if over else WorkflowStatus.IDLE
