"""What an event looks like from outside: stream events and the rows screens list. Pure: a replay gives the same objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.domain.chat import Usage
from app.domain.events import (
    CallStatus,
    ContextCompacted,
    EventBody,
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
    ToolCallFinished,
    ToolCallStarted,
    UserMessage,
)
from app.domain.question import UserQuestion
from app.domain.stream import ChunkType
from app.domain.task import Task
from app.domain.workflow import Message, MessageRole, RunStatus, ToolExecution, WorkflowStatus
from app.engine.run.state import RunState

Chunk = tuple[ChunkType, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums of the workflow before the event; stream events of type ``usage`` carry them."""

    usage: Usage = field(default_factory=Usage)
    pending_questions: int = 0


@dataclass
class Projection:
    """Everything one event changes outside the journal. ``workflow`` holds the changed fields of the workflow's row."""

    chunks: list[Chunk] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    executions: list[ToolExecution] = field(default_factory=list)
    questions: list[UserQuestion] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    deleted_tasks: list[str] = field(default_factory=list)
    workflow: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _In:
    event: RunEvent
    before: RunState | None
    after: RunState
    totals: Totals


_projectors: dict[str, Callable[[_In, Any, Projection], None]] = {}


def project(event: RunEvent, before: RunState | None, after: RunState, totals: Totals) -> Projection:
    """The projection of one event, given the run's state before and after it and the workflow's sums before it."""
    out = Projection()
    projector = _projectors.get(event.body.type)
    if projector is not None:
        projector(_In(event, before, after, totals), event.body, out)
    return out


def project_task(body: TaskChanged) -> Projection:
    """The projection of a task a person changed, which belongs to no run."""
    deleted = body.action == "delete"
    return Projection(chunks=[_task_chunk(body)], tasks=[] if deleted else [body.task], deleted_tasks=[body.task.id] if deleted else [])


def _for(
    kind: type[EventBody],
) -> Callable[[Callable[[_In, Any, Projection], None]], Callable[[_In, Any, Projection], None]]:
    def register(function: Callable[[_In, Any, Projection], None]) -> Callable[[_In, Any, Projection], None]:
        _projectors[kind.model_fields["type"].default] = function
        return function

    return register


def _message(at: _In, role: MessageRole, **fields: Any) -> Message:
    return Message(
        id=fields.pop("id", at.event.id),
        workflow_id=at.event.workflow_id,
        run_id=at.event.run_id,
        seq=at.event.stream_from,
        role=role,
        agent_name=at.after.agent.name if role is not MessageRole.USER else "",
        created_at=at.event.time,
        **fields,
    )


def _notice(at: _In, kind: str, content: str = "", **details: Any) -> Message:
    return _message(at, MessageRole.NOTICE, kind=kind, content=content, details=details)


def _status(status: RunStatus) -> Chunk:
    return ChunkType.RUN_STATUS, {"status": status.value}


def _complete(status: str, error: str = "") -> Chunk:
    data: dict[str, Any] = {"status": status}
    if error:
        data["error"] = error
    return ChunkType.WORKFLOW_COMPLETE, data


@_for(RunStarted)
def _run_started(at: _In, body: RunStarted, out: Projection) -> None:
    if body.parent_run_id is None:
        out.chunks.append((ChunkType.WORKFLOW_START, {}))
        out.workflow.update(status=WorkflowStatus.RUNNING, head_run_id=at.event.run_id)
    out.chunks.append(_status(RunStatus.PROCESSING))


@_for(UserMessage)
def _user_message(at: _In, body: UserMessage, out: Projection) -> None:
    images = [{"media_type": image.media_type, "data": image.data} for image in body.images]
    data: dict[str, Any] = {"message_id": body.message_id, "role": "user", "content": body.content, "strategy": body.strategy.value}
    if images:
        data["images"] = len(images)
    out.chunks.append((ChunkType.MESSAGE, data))
    details = {"images": images} if images else {}
    out.messages.append(_message(at, MessageRole.USER, id=body.message_id, kind=body.strategy.value, content=body.content, details=details))


@_for(ModelReplied)
def _model_replied(at: _In, body: ModelReplied, out: Projection) -> None:
    reply = body.reply
    if reply.content or reply.reasoning:
        data: dict[str, Any] = {"message_id": body.message_id, "role": "assistant", "content": reply.content}
        if reply.reasoning:
            data["reasoning"] = reply.reasoning
        out.chunks.append((ChunkType.MESSAGE, data))
    out.messages.append(
        _message(
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
        )
    )
    _usage(at, body.usage, out, body.context_tokens, body.context_window)


def _usage(at: _In, added: Usage, out: Projection, context_tokens: int, context_window: int) -> None:
    total = at.totals.usage + added
    out.workflow.update(usage=total, context_tokens=context_tokens)
    out.chunks.append(
        (
            ChunkType.USAGE,
            {
                **_sum(added),
                "context_tokens": context_tokens,
                "context_window": context_window,
                "estimated": added.estimated,
                "run": _sum(at.after.usage),
                "workflow": _sum(total),
            },
        )
    )


def _sum(usage: Usage) -> dict[str, Any]:
    return {"tokens_input": usage.tokens_input, "tokens_output": usage.tokens_output, "cost": round(usage.cost, 8)}


@_for(ReplyInterrupted)
def _reply_interrupted(at: _In, body: ReplyInterrupted, out: Projection) -> None:
    data = {"message_id": body.message_id, "role": "assistant", "content": body.content, "interrupted": True}
    out.chunks.append((ChunkType.MESSAGE, data))
    out.messages.append(
        _message(
            at,
            MessageRole.ASSISTANT,
            id=body.message_id,
            kind="interrupted",
            content=body.content,
            reasoning=body.reasoning,
            details={"reason": body.reason},
        )
    )


@_for(ModelRetried)
def _model_retried(at: _In, body: ModelRetried, out: Projection) -> None:
    out.chunks.append((ChunkType.RETRY, {"reason": body.reason, "details": {"attempt": body.attempt, "delay_s": body.delay_s}}))


@_for(ToolCallStarted)
def _tool_started(at: _In, body: ToolCallStarted, out: Projection) -> None:
    data: dict[str, Any] = {
        "call_id": body.call_id,
        "tool": body.tool,
        "arguments": body.arguments,
        "section": body.section,
        "effect": body.effect,
        "risk": body.risk,
    }
    if body.server:
        data["server"] = body.server
    if body.via:
        data["via"] = body.via
    out.chunks.append((ChunkType.TOOL_START, data))
    out.executions.append(_execution(at, body, at.event.time))


def _execution(at: _In, intent: ToolCallStarted, started_at: datetime, **result: Any) -> ToolExecution:
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
        arguments=intent.arguments,
        iteration=at.after.iterations,
        started_at=started_at,
        **result,
    )


@_for(ToolCallFinished)
def _tool_finished(at: _In, body: ToolCallFinished, out: Projection) -> None:
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
    out.chunks.append((ChunkType.TOOL_END, data))
    intent = call.intent if call and call.intent else ToolCallStarted(call_id=body.call_id, tool=body.tool)
    out.executions.append(
        _execution(
            at,
            intent,
            (call.started_at if call else None) or at.event.time,
            result=body.result,
            error=body.error,
            status=body.status.value,
            truncated=body.truncated,
            duration_ms=body.duration_ms,
        )
    )


@_for(OutputShown)
def _output_shown(at: _In, body: OutputShown, out: Projection) -> None:
    data = {"message_id": body.message_id, "role": "assistant", "content": body.content, "output_type": body.output_type}
    out.chunks.append((ChunkType.MESSAGE, data))
    out.messages.append(
        _message(
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


@_for(TaskChanged)
def _task_changed(at: _In, body: TaskChanged, out: Projection) -> None:
    changed = project_task(body)
    out.chunks += changed.chunks
    out.tasks += changed.tasks
    out.deleted_tasks += changed.deleted_tasks


@_for(QuestionAsked)
def _question_asked(at: _In, body: QuestionAsked, out: Projection) -> None:
    question = body.question
    pending = at.totals.pending_questions + 1
    out.chunks.append((ChunkType.USER_QUESTION_START, {"user_question": _question_payload(question), "pending": pending}))
    out.chunks.append(_status(RunStatus.AWAITING_USER))
    out.questions.append(question)
    out.workflow.update(pending_questions=pending, status=WorkflowStatus.WAITING)


def _question_payload(question: UserQuestion) -> dict[str, Any]:
    spec = question.spec
    payload: dict[str, Any] = {
        "question_id": question.id,
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


@_for(QuestionAnswered)
def _question_answered(at: _In, body: QuestionAnswered, out: Projection) -> None:
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
        out.chunks.append(_status(RunStatus.PROCESSING))
        out.workflow.update(status=WorkflowStatus.RUNNING)


@_for(ContextCompacted)
def _context_compacted(at: _In, body: ContextCompacted, out: Projection) -> None:
    details: dict[str, Any] = {"dropped": len(body.dropped), "tokens_before": body.tokens_before, "tokens_after": body.tokens_after}
    shown = {**details, "summary": body.summary} if body.summary else details
    out.chunks.append((ChunkType.CONTEXT_COMPACTED, {"reason": body.method, "details": shown}))
    out.messages.append(_notice(at, "context_compacted", content=body.summary, method=body.method, **details))
    if body.usage.tokens_input or body.usage.tokens_output:
        out.workflow.update(usage=at.totals.usage + body.usage)


@_for(LimitReached)
def _limit_reached(at: _In, body: LimitReached, out: Projection) -> None:
    details: dict[str, Any] = {"value": body.value, "cap": body.cap}
    out.chunks.append((ChunkType.LIMIT_REACHED, {"reason": body.limit.value, "details": details}))
    out.messages.append(_notice(at, "limit_reached", limit=body.limit.value, **details))


@_for(LoopDetected)
def _loop_detected(at: _In, body: LoopDetected, out: Projection) -> None:
    details: dict[str, Any] = {"tool": body.tool, "count": body.count}
    out.chunks.append((ChunkType.LOOP_DETECTED, {"reason": body.action, "details": details}))
    out.messages.append(_notice(at, "loop_detected", action=body.action, **details))


@_for(RunPaused)
def _run_paused(at: _In, body: RunPaused, out: Projection) -> None:
    out.chunks.append(_status(RunStatus.PAUSED))
    if at.after.parent_run_id is None:
        out.workflow.update(status=WorkflowStatus.PAUSED)
        if body.reason in (PauseReason.LIMIT, PauseReason.LOOP):
            out.chunks.append(_complete("limited"))


@_for(RunResumed)
def _run_resumed(at: _In, body: RunResumed, out: Projection) -> None:
    out.chunks.append(_status(at.after.status))
    if at.after.parent_run_id is None:
        waiting = at.after.status is RunStatus.AWAITING_USER
        out.workflow.update(status=WorkflowStatus.WAITING if waiting else WorkflowStatus.RUNNING)


@_for(RunFailed)
def _run_failed(at: _In, body: RunFailed, out: Projection) -> None:
    out.chunks.append((ChunkType.ERROR, {"code": body.code, "message": body.message, "recoverable": body.recoverable}))
    out.messages.append(_notice(at, "error", content=body.message, code=body.code, recoverable=body.recoverable))
    out.chunks.append(_status(RunStatus.ERROR))
    if at.after.parent_run_id is None:
        out.chunks.append(_complete("error", body.message))
        out.workflow.update(status=WorkflowStatus.ERROR)


@_for(RunFinished)
def _run_finished(at: _In, body: RunFinished, out: Projection) -> None:
    out.chunks.append(_status(body.status))
    if body.status is not RunStatus.COMPLETED or body.summary:
        out.messages.append(_notice(at, "run_finished", content=body.summary or body.error, status=body.status.value))
    if at.after.parent_run_id is None:
        out.chunks.append(_complete(body.status.value, body.error))
        finals = {RunStatus.COMPLETED: WorkflowStatus.COMPLETED, RunStatus.ERROR: WorkflowStatus.ERROR}
        out.workflow.update(status=finals.get(body.status, WorkflowStatus.IDLE))
