"""What an event looks like from outside: stream events and the rows screens list. Pure: a replay gives the same objects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from atelier_desk.domain.chat import LOADING, FinishReason, Usage
from atelier_desk.domain.events.run import (
    CallStatus,
    ContextCompacted,
    LimitReached,
    LoopDetected,
    ModelReplied,
    ModelRetried,
    OutputShown,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    ReplyInterrupted,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    TaskChanged,
    TitleWritten,
    ToolCallFinished,
    ToolCallStarted,
    ToolsRefused,
    UserMessage,
)
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import MessageRole, RunStatus, ToolExecution, WorkflowStatus
from atelier_desk.engine.notice_words import TOOLS_REFUSED
from atelier_desk.engine.run.projection import project_team
from atelier_desk.engine.run.projection.projection import (
    Chunk,
    In,
    Projection,
    Totals,
    complete_chunk,
    lineage,
    message,
    notice,
    on,
    projectors,
    status_chunk,
    waiting_or,
)
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.ids import stable_id

__all__ = ["Chunk", "Projection", "Totals", "project", "project_task", "project_team"]


def project(event: RunEvent, before: RunState | None, after: RunState, totals: Totals) -> Projection:
    """The projection of one event, given the run's state before and after it and the workflow's sums before it."""
    out = Projection()
    projector = projectors.get(event.body.type)
    if projector is not None:
        projector(In(event, before, after, totals), event.body, out)
    changed = before is not None and before.status is not after.status
    if changed and not any(kind is ChunkType.RUN_STATUS for kind, _data in out.chunks):
        out.chunks.append(status_chunk(after.status))
    return out


def project_task(body: TaskChanged) -> Projection:
    """The projection of a task a person changed, which belongs to no run."""
    deleted = body.action == "delete"
    return Projection(chunks=[_task_chunk(body)], tasks=[] if deleted else [body.task], deleted_tasks=[body.task.id] if deleted else [])


@on(RunStarted)
def _run_started(at: In, body: RunStarted, out: Projection) -> None:
    if body.parent_run_id is None:
        out.chunks.append((ChunkType.WORKFLOW_START, {}))
        out.workflow.update(status=WorkflowStatus.RUNNING, head_run_id=at.event.run_id)
    out.chunks.append(status_chunk(RunStatus.PROCESSING))


@on(UserMessage)
def _user_message(at: In, body: UserMessage, out: Projection) -> None:
    images = [{"media_type": image.media_type, "data": image.data} for image in body.images]
    data: dict[str, Any] = {"message_id": body.message_id, "role": "user", "content": body.content, "strategy": body.strategy.value}
    files = [file.model_dump() for file in body.files]
    if images:
        data["images"] = len(images)
    if images or files:
        data["attachments"] = [
            *({"media_type": image.media_type, "bytes": len(image.data) * 3 // 4} for image in body.images),
            *({"name": file.name, "media_type": "text/plain", "text": file.text} for file in body.files),
        ]
    out.chunks.append((ChunkType.MESSAGE, data))
    details = {name: value for name, value in (("images", images), ("files", files)) if value}
    out.messages.append(message(at, MessageRole.USER, id=body.message_id, kind=body.strategy.value, content=body.content, details=details))


@on(ModelReplied)
def _model_replied(at: In, body: ModelReplied, out: Projection) -> None:
    reply = body.reply
    finish = reply.finish_reason
    # A reply that only calls tools says nothing to anybody.
    if reply.content or reply.reasoning or not reply.tool_calls:
        data: dict[str, Any] = {
            "message_id": body.message_id,
            "role": "assistant",
            "content": reply.content,
            "finish_reason": finish.value,
        }
        if reply.reasoning:
            data["reasoning"] = reply.reasoning
        out.chunks.append((ChunkType.MESSAGE, data))
    out.messages.append(
        message(
            at,
            MessageRole.ASSISTANT,
            id=body.message_id,
            kind="reply",
            content=reply.content,
            reasoning=reply.reasoning,
            reasoning_ms=body.reasoning_ms,
            call_ids=tuple(call.id for call in reply.tool_calls),
            model=reply.model or at.after.agent.model,
            provider=body.provider,
            usage=body.usage,
            duration_ms=body.duration_ms,
            details={} if finish.whole else {"finish_reason": finish.value},
        )
    )
    _usage(at, body.usage, out, body.context_tokens, body.context_window)


def _usage(at: In, added: Usage, out: Projection, context_tokens: int, context_window: int) -> None:
    total = at.totals.usage + added
    out.workflow.update(usage=total)
    if at.after.parent_run_id is None:
        out.workflow.update(context_tokens=context_tokens)
    team = _add_to_team(at, added, out)
    out.chunks.append(
        (
            ChunkType.USAGE,
            {
                **_sum(added),
                "context_tokens": context_tokens,
                "context_window": context_window,
                "estimated": added.estimated,
                "run": _sum(at.after.total.usage),
                "team": _sum(team),
                "workflow": _sum(total),
            },
        )
    )


def _count(at: In, added: Usage, out: Projection) -> None:
    """Add what was used without a whole reply to the sums."""
    if added.tokens_input or added.tokens_output:
        out.workflow.update(usage=at.totals.usage + added)
        _add_to_team(at, added, out)


def _add_to_team(at: In, added: Usage, out: Projection) -> Usage:
    root = at.after.root_run_id
    team = at.totals.teams.get(root, Usage()) + added
    out.team = (root, team)
    return team


def _sum(usage: Usage) -> dict[str, Any]:
    return {"tokens_input": usage.tokens_input, "tokens_output": usage.tokens_output, "cost": round(usage.cost, 8)}


@on(ReplyInterrupted)
def _reply_interrupted(at: In, body: ReplyInterrupted, out: Projection) -> None:
    _count(at, body.usage, out)
    if not (body.content or body.reasoning):
        # Nothing to show: all that had come were pieces of a call.
        return
    data = {"message_id": body.message_id, "role": "assistant", "content": body.content, "interrupted": True}
    out.chunks.append((ChunkType.MESSAGE, data))
    out.messages.append(
        message(
            at,
            MessageRole.ASSISTANT,
            id=body.message_id,
            kind="interrupted",
            content=body.content,
            reasoning=body.reasoning,
            usage=body.usage,
            details={"reason": body.reason},
        )
    )


@on(TitleWritten)
def _title_written(at: In, body: TitleWritten, out: Projection) -> None:
    _count(at, body.usage, out)


@on(ModelRetried)
def _model_retried(at: In, body: ModelRetried, out: Projection) -> None:
    details: dict[str, Any] = {"attempt": body.attempt, "delay_s": body.delay_s}
    _retry(at, out, body.reason, details)


def _retry(at: In, out: Projection, reason: str, details: dict[str, Any], topic: str = "retry") -> None:
    """One item of the transcript for each ``topic`` however often the provider tries: the newest attempt takes the place of the one
    before."""
    row = notice(at, "retry", reason=reason, **details)
    row = row.model_copy(update={"id": stable_id(f"{at.event.run_id}:{at.after.iterations}:{at.after.retries}", topic)})
    out.chunks.append((ChunkType.RETRY, {"reason": reason, "details": details, "message_id": row.id}))
    if reason != LOADING:
        # That a model is loaded is said while it is, and no part of the conversation afterwards.
        out.messages.append(row)


@on(ToolsRefused)
def _tools_refused(at: In, body: ToolsRefused, out: Projection) -> None:
    _retry(at, out, TOOLS_REFUSED, {"attempt": 2, "delay_s": 0.0, "message": body.reason}, TOOLS_REFUSED)


@on(ToolCallStarted)
def _tool_started(at: In, body: ToolCallStarted, out: Projection) -> None:
    data: dict[str, Any] = {
        "call_id": body.call_id,
        "tool": body.tool,
        "arguments": body.arguments,
        "section": body.section,
        "effect": body.effect,
        "risk": body.risk,
        "presentation": body.presentation.model_dump(mode="json"),
    }
    if body.server:
        data["server"] = body.server
    if body.via:
        data["via"] = body.via
    out.chunks.append((ChunkType.TOOL_START, data))
    out.executions.append(_execution(at, body, at.event.time))


def _execution(at: In, intent: ToolCallStarted, started_at: datetime, **result: Any) -> ToolExecution:
    return ToolExecution(
        id=f"{at.event.run_id}:{intent.call_id}",
        workflow_id=at.event.workflow_id,
        run_id=at.event.run_id,
        call_id=intent.call_id,
        message_id=at.after.message_id,
        agent_name=at.after.agent.name,
        tool=intent.tool,
        server=intent.server,
        section=intent.section,
        effect=intent.effect,
        risk=intent.risk,
        presentation=intent.presentation,
        arguments=intent.arguments,
        iteration=at.after.iterations,
        started_at=started_at,
        **result,
    )


@on(ToolCallFinished)
def _tool_finished(at: In, body: ToolCallFinished, out: Projection) -> None:
    call = at.before.call(body.call_id) if at.before else None
    data: dict[str, Any] = {
        "call_id": body.call_id,
        "tool": body.tool,
        "success": body.status is CallStatus.OK,
        "result": body.result,
        "duration_ms": body.duration_ms,
        "truncated": body.truncated,
    }
    if body.error:
        data["error"] = body.error
    if body.parts:
        data["parts"] = [part.model_dump(mode="json") for part in body.parts]
    out.chunks.append((ChunkType.TOOL_END, data))
    intent = call.intent if call and call.intent else ToolCallStarted(call_id=body.call_id, tool=body.tool)
    out.executions.append(
        _execution(
            at,
            intent,
            (call.started_at if call else None) or at.event.time,
            result=body.result,
            parts=body.parts,
            error=body.error,
            status=body.status.value,
            truncated=body.truncated,
            duration_ms=body.duration_ms,
        )
    )


@on(OutputShown)
def _output_shown(at: In, body: OutputShown, out: Projection) -> None:
    data = {"message_id": body.message_id, "role": "assistant", "content": body.content, "output_type": body.output_type}
    out.chunks.append((ChunkType.MESSAGE, data))
    out.messages.append(
        message(
            at, MessageRole.ASSISTANT, id=body.message_id, kind="output", content=body.content, details={"output_type": body.output_type}
        )
    )


def _task_chunk(body: TaskChanged) -> Chunk:
    kinds = {
        "create": ChunkType.TASK_CREATE,
        "update": ChunkType.TASK_UPDATE,
        "complete": ChunkType.TASK_COMPLETE,
        "delete": ChunkType.TASK_DELETE,
    }
    task = body.task
    data = {"task_id": task.id, "task_name": task.name, "task_status": task.status.value, "task_priority": task.priority}
    return kinds[body.action], data


@on(TaskChanged)
def _task_changed(at: In, body: TaskChanged, out: Projection) -> None:
    changed = project_task(body)
    out.chunks += changed.chunks
    out.tasks += changed.tasks
    out.deleted_tasks += changed.deleted_tasks


@on(QuestionAsked)
def _question_asked(at: In, body: QuestionAsked, out: Projection) -> None:
    question = body.question
    pending = at.totals.pending_questions + 1
    payload = {**_question_payload(question), "agent_name": at.after.agent.name, "lineage": lineage(at.after)}
    out.chunks.append((ChunkType.USER_QUESTION_START, {"user_question": payload, "pending": pending}))
    out.chunks.append(status_chunk(RunStatus.AWAITING_USER))
    out.questions.append(question)
    out.workflow.update(pending_questions=pending, status=WorkflowStatus.WAITING)


def _question_payload(question: UserQuestion) -> dict[str, Any]:
    spec = question.spec
    payload: dict[str, Any] = {
        "question_id": question.id,
        "call_id": question.call_id,
        "question": spec.question,
        "question_type": spec.question_type.value,
        "text_required": spec.text_required,
    }
    if spec.options:
        payload["options"] = [{"id": option.id, "label": option.label} for option in spec.options]
    if spec.text_placeholder:
        payload["text_placeholder"] = spec.text_placeholder
    if spec.context:
        payload["context"] = spec.context
    return payload


@on(QuestionAnswered)
def _question_answered(at: In, body: QuestionAnswered, out: Projection) -> None:
    pending = max(0, at.totals.pending_questions - 1)
    out.chunks.append(
        (ChunkType.USER_QUESTION_COMPLETE, {"question_id": body.question_id, "status": body.status.value, "pending": pending})
    )
    asked = next((q for q in (at.before.questions if at.before else ()) if q.id == body.question_id), None)
    if asked is not None:
        answered = {
            "status": body.status,
            "selected_options": body.selected_options,
            "text_response": body.text_response,
            "answered_at": at.event.time,
        }
        out.questions.append(asked.model_copy(update=answered))
    out.workflow.update(pending_questions=pending)
    if at.after.status is RunStatus.PROCESSING:
        out.chunks.append(status_chunk(RunStatus.PROCESSING))
        out.workflow.update(waiting_or(at, WorkflowStatus.RUNNING, pending_questions=pending))


@on(ContextCompacted)
def _context_compacted(at: In, body: ContextCompacted, out: Projection) -> None:
    details: dict[str, Any] = {"dropped": len(body.dropped), "tokens_before": body.tokens_before, "tokens_after": body.tokens_after}
    shown = {**details, "summary": body.summary} if body.summary else details
    out.chunks.append((ChunkType.CONTEXT_COMPACTED, {"reason": body.method, "details": shown}))
    out.messages.append(notice(at, "context_compacted", content=body.summary, method=body.method, **details))
    _count(at, body.usage, out)


@on(LimitReached)
def _limit_reached(at: In, body: LimitReached, out: Projection) -> None:
    details: dict[str, Any] = {"value": body.value, "cap": body.cap}
    out.chunks.append((ChunkType.LIMIT_REACHED, {"reason": body.limit.value, "details": details}))
    out.messages.append(notice(at, "limit_reached", limit=body.limit.value, **details))


@on(LoopDetected)
def _loop_detected(at: In, body: LoopDetected, out: Projection) -> None:
    details: dict[str, Any] = {"tool": body.tool, "count": body.count}
    out.chunks.append((ChunkType.LOOP_DETECTED, {"reason": body.action, "details": details}))
    out.messages.append(notice(at, "loop_detected", action=body.action, **details))


@on(RunPaused)
def _run_paused(at: In, body: RunPaused, out: Projection) -> None:
    if body.reason is PauseReason.INTERRUPTED:
        _interrupted(at, body, out)
        return
    out.chunks.append(status_chunk(RunStatus.PAUSED))
    if at.after.parent_run_id is not None:
        if body.reason is not PauseReason.USER:
            # The others may go on working, but somebody has to look.
            out.workflow.update(status=WorkflowStatus.WAITING)
    else:
        out.workflow.update(status=WorkflowStatus.PAUSED)
        if body.reason in (PauseReason.LIMIT, PauseReason.LOOP):
            out.chunks.append(complete_chunk("limited"))


def _interrupted(at: In, body: RunPaused, out: Projection) -> None:
    """The whole workflow stands when any of its agents was cut off, unless a person's answer is waited for too."""
    out.chunks.append((ChunkType.RUN_STATUS, {"status": RunStatus.INTERRUPTED.value, "ended": body.ended}))
    out.messages.append(notice(at, "run_interrupted", ended=body.ended))
    out.workflow.update(waiting_or(at, WorkflowStatus.INTERRUPTED))


@on(RunResumed)
def _run_resumed(at: In, body: RunResumed, out: Projection) -> None:
    out.chunks.append(status_chunk(at.after.status))
    out.workflow.update(waiting_or(at, WorkflowStatus.RUNNING))


@on(RunFailed)
def _run_failed(at: In, body: RunFailed, out: Projection) -> None:
    out.chunks.append((ChunkType.ERROR, {"code": body.code, "message": body.message, "recoverable": body.recoverable}))
    out.messages.append(notice(at, "error", content=body.message, code=body.code, recoverable=body.recoverable))
    out.chunks.append(status_chunk(RunStatus.ERROR))
    if at.after.parent_run_id is None:
        out.chunks.append(complete_chunk("error", body.message))
        out.workflow.update(status=WorkflowStatus.ERROR)


@on(RunFinished)
def _run_finished(at: In, body: RunFinished, out: Projection) -> None:
    out.chunks.append(status_chunk(body.status))
    if body.status is not RunStatus.COMPLETED or body.summary:
        out.messages.append(notice(at, "run_finished", content=body.summary or body.error, status=body.status.value))
    if at.after.parent_run_id is None:
        finish = at.after.finish if body.status is RunStatus.COMPLETED else FinishReason.STOP
        out.chunks.append(complete_chunk(body.status.value, body.error, finish))
        finals = {RunStatus.COMPLETED: WorkflowStatus.COMPLETED, RunStatus.ERROR: WorkflowStatus.ERROR}
        out.workflow.update(status=finals.get(body.status, WorkflowStatus.IDLE))
