"""Project events to stream events and listed rows. Pure: a replay gives the same objects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from atelier_desk.domain import final_answer_schema
from atelier_desk.domain.events.run import (
    CallStatus,
    ContextCompacted,
    ImagesRejected,
    Injected,
    LimitReached,
    LoopDetected,
    MediaPaid,
    MemoryExtractionDone,
    ModelReplied,
    ModelRetried,
    OutputShown,
    PauseReason,
    PictureDescribed,
    QuestionAnswered,
    QuestionAsked,
    ReplyCutOff,
    RequestLost,
    RunEvent,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    SampledForServer,
    ServersLacking,
    TaskChanged,
    TitleGenerated,
    ToolCallFinished,
    ToolCallStarted,
    ToolsRefused,
    UserMessage,
)
from atelier_desk.domain.model_messages import LOADING, Usage
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.workflow import MessageRole, RunStatus, ToolExecution, WorkflowStatus, handed_over
from atelier_desk.engine.run.projection import approval_sub_agent_projection, audit, user_message_queue
from atelier_desk.engine.run.projection.projection_base import (
    Projection,
    ProjectionInput,
    RunTotals,
    add_notice,
    call_place,
    lineage,
    message,
    notice,
    on,
    projectors,
    waiting_or,
    waiting_or_at_work,
)
from atelier_desk.engine.run.reducer.conversation_entries import EntryKind
from atelier_desk.engine.run.reducer.reduce import ARE_YOU_DONE
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.presentation.run_notices import FIX_ANSWER, PICTURES_LEFT_OUT, PICTURES_REFUSED, TOOLS_REFUSED
from atelier_desk.tools.calls.stable_record_ids import stable_id

__all__ = ["Projection", "RunTotals", "approval_sub_agent_projection", "project", "project_task"]


def project(event: RunEvent, before: RunState | None, after: RunState, totals: RunTotals) -> Projection:
    """Return the projection of one event, given the run's state before and after it and the workflow's totals before
    it.
    """
    at, out = ProjectionInput(event, before, after, totals), Projection()
    projector = projectors.get(event.body.type)
    if projector is not None:
        projector(at, event.body, out)
    if event.body.notice is not None:
        add_notice(at, event.body, event.body.notice, out)
    user_message_queue.follow(at, out)
    changed = before is not None and before.status is not after.status
    if changed and not any(isinstance(said, payloads.RunStatusChanged) for said in out.payloads):
        out.payloads.append(_status(after.status))
    return out


def project_task(body: TaskChanged) -> Projection:
    """Return the projection of a person's task change, which belongs to no run."""
    deleted = body.action == "delete"
    return Projection(
        payloads=[_task_news(body)],
        tasks=[] if deleted else [body.task],
        deleted_tasks=[body.task.id] if deleted else [],
    )


def _status(status: RunStatus) -> payloads.RunStatusChanged:
    return payloads.RunStatusChanged(status=status.value)


def _reply(message_id: str, content: str, **more: Any) -> payloads.MessageAdded:
    return payloads.MessageAdded(message_id=message_id, role=MessageRole.ASSISTANT.value, content=content, **more)


@on(RunStarted)
def _run_started(at: ProjectionInput, body: RunStarted, out: Projection) -> None:
    if body.parent_run_id is None:
        out.payloads.append(payloads.WorkflowStart())
        out.workflow.update(status=WorkflowStatus.RUNNING, head_run_id=at.event.run_id)
    out.payloads.append(_status(RunStatus.PROCESSING))


@on(UserMessage)
def _user_message(at: ProjectionInput, body: UserMessage, out: Projection) -> None:
    if not user_message_queue.waits(at.after, body.message_id):
        user_message_queue.append_message(at, body, out)


@on(ModelReplied)
def _model_replied(at: ProjectionInput, body: ModelReplied, out: Projection) -> None:
    reply = body.reply
    finish = reply.finish_reason
    # A reply with only tool calls has nothing to show.
    if reply.content or reply.reasoning or not reply.tool_calls:
        out.payloads.append(
            _reply(
                body.message_id,
                reply.content,
                finish_reason=finish.value,
                reasoning=reply.reasoning,
                reasoning_ms=body.reasoning_ms,
                model=reply.model or at.after.agent.model,
                provider=body.provider,
            )
        )
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
            details={} if finish.complete else {"finish_reason": finish.value},
        )
    )
    if at.after.parent_run_id is None:
        out.workflow.update(context_tokens=body.context_tokens)
    _count(
        at,
        body.usage,
        out,
        message_id=body.message_id,
        context_tokens=body.context_tokens,
        context_window=body.context_window,
    )


def _count(at: ProjectionInput, added: Usage, out: Projection, **told: Any) -> None:
    """Add usage to the totals and emit it, so that live and stored figures agree."""
    total, root = at.totals.usage + added, at.after.root_run_id
    team = at.totals.teams.get(root, Usage()) + added
    out.workflow.update(usage=total)
    out.team = (root, team)
    out.payloads.append(
        payloads.UsageUpdated(
            tokens_input=added.tokens_input,
            tokens_output=added.tokens_output,
            cost=added.known_cost,
            estimated=added.estimated,
            own=_sum(at.after.usage),
            run=_sum(at.after.total.usage),
            team=_sum(team),
            workflow=_sum(total),
            **told,
        )
    )


def _count_part(at: ProjectionInput, added: Usage, out: Projection) -> None:
    """Count usage without a complete reply."""
    if added.tokens_input or added.tokens_output or added.cost:
        _count(at, added, out)


def _sum(usage: Usage) -> payloads.UsageTotals:
    return payloads.UsageTotals(
        tokens_input=usage.tokens_input, tokens_output=usage.tokens_output, cost=usage.known_cost
    )


@on(ReplyCutOff)
def _reply_cut_off(at: ProjectionInput, body: ReplyCutOff, out: Projection) -> None:
    if body.content or body.reasoning:  # otherwise only pieces of a call arrived, and there is nothing to show
        out.payloads.append(_reply(body.message_id, body.content, reasoning=body.reasoning, cut_off=True))
        row = message(
            at,
            MessageRole.ASSISTANT,
            id=body.message_id,
            kind="cut_off",
            content=body.content,
            reasoning=body.reasoning,
            usage=body.usage,
            details={"reason": body.reason},
        )
        out.messages.append(row)
    _count_part(at, body.usage, out)


@on(TitleGenerated)
@on(MemoryExtractionDone)
@on(PictureDescribed)
@on(MediaPaid)
@on(SampledForServer)
@on(RequestLost)
def _count_side_usage(
    at: ProjectionInput,
    body: TitleGenerated | MemoryExtractionDone | PictureDescribed | MediaPaid | SampledForServer | RequestLost,
    out: Projection,
) -> None:
    _count_part(at, body.usage, out)


@on(ModelRetried)
def _model_retried(at: ProjectionInput, body: ModelRetried, out: Projection) -> None:
    details: dict[str, object] = {"attempt": body.attempt, "delay_s": body.delay_s}
    _retry(at, out, body.reason, details)


def _retry(at: ProjectionInput, out: Projection, reason: str, details: dict[str, Any], topic: str = "retry") -> None:
    """Maintain one transcript item per ``topic``: each attempt replaces the previous one."""
    row = notice(at, "retry", reason=reason, **details)
    row = row.model_copy(update={"id": stable_id(f"{at.event.run_id}:{at.after.retried_since}", topic)})
    out.payloads.append(payloads.Retry(reason=reason, details=details, message_id=row.id))
    if reason != LOADING:
        # Loading a model is shown meanwhile, but not kept in the conversation.
        out.messages.append(row)


@on(ToolsRefused)
def _tools_refused(at: ProjectionInput, body: ToolsRefused, out: Projection) -> None:
    _retry(at, out, TOOLS_REFUSED, {"attempt": 2, "delay_s": 0.0, "message": body.reason}, TOOLS_REFUSED)


@on(ImagesRejected)
def _pictures_refused(at: ProjectionInput, body: ImagesRejected, out: Projection) -> None:
    reason = PICTURES_LEFT_OUT if body.entries else PICTURES_REFUSED
    details = {
        "attempt": 2,
        "delay_s": 0.0,
        "message": body.reason,
        **({"pictures": list(body.names)} if body.entries else {}),
    }
    _retry(at, out, reason, details, reason)


@on(ToolCallStarted)
def _tool_started(at: ProjectionInput, body: ToolCallStarted, out: Projection) -> None:
    out.payloads.append(
        payloads.ToolStart(
            **call_place(at, body.call_id),
            tool=body.tool,
            arguments=body.arguments,
            section=body.section,
            effect=body.effect,
            risk=body.risk,
            presentation=body.presentation,
            server=body.server,
            via=body.via,
            taint=body.taint,
        )
    )
    out.executions.append(_execution(at, body, at.event.time))
    audit.judged(at, body, out)
    if body.verdict is not None and body.verdict.rule_id:
        out.matched_rules[body.verdict.rule_id] = at.event.time


def _execution(
    at: ProjectionInput, intent: ToolCallStarted, started_at: datetime, *, tainted: str = "", **result: Any
) -> ToolExecution:
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
        taint=intent.taint or tainted,
        arguments=intent.arguments,
        iteration=at.after.iterations,
        started_at=started_at,
        **result,
    )


@on(ToolCallFinished)
def _tool_finished(at: ProjectionInput, body: ToolCallFinished, out: Projection) -> None:
    call = at.before.call(body.call_id) if at.before else None
    out.payloads.append(
        payloads.ToolEnd(
            call_id=body.call_id,
            tool=body.tool,
            success=body.status is CallStatus.OK,
            status=body.status.value,
            result=body.result,
            duration_ms=body.duration_ms,
            truncated=body.truncated,
            error=body.error,
            parts=body.parts,
        )
    )
    intent = call.intent if call and call.intent else ToolCallStarted(call_id=body.call_id, tool=body.tool)
    out.executions.append(
        _execution(
            at,
            intent,
            (call.started_at if call else None) or at.event.time,
            tainted=", ".join(body.tainted),
            result=body.result,
            parts=body.parts,
            error=body.error,
            status=body.status.value,
            truncated=body.truncated,
            duration_ms=body.duration_ms,
        )
    )


@on(OutputShown)
def _output_shown(at: ProjectionInput, body: OutputShown, out: Projection) -> None:
    out.payloads.append(_reply(body.message_id, body.content, output_type=body.output_type))
    out.messages.append(
        message(
            at,
            MessageRole.ASSISTANT,
            id=body.message_id,
            kind="output",
            content=body.content,
            details={"output_type": body.output_type},
        )
    )


def _task_news(body: TaskChanged) -> payloads.TaskNews:
    kinds: dict[str, type[payloads.TaskNews]] = {
        "create": payloads.TaskCreate,
        "update": payloads.TaskUpdate,
        "complete": payloads.TaskComplete,
        "delete": payloads.TaskDelete,
    }
    task = body.task
    return kinds[body.action](
        task_id=task.id, task_name=task.name, task_status=task.status.value, task_priority=task.priority
    )


@on(TaskChanged)
def _task_changed(at: ProjectionInput, body: TaskChanged, out: Projection) -> None:
    changed = project_task(body)
    out.payloads += changed.payloads
    out.tasks += changed.tasks
    out.deleted_tasks += changed.deleted_tasks


@on(QuestionAsked)
def _question_asked(at: ProjectionInput, body: QuestionAsked, out: Projection) -> None:
    question = body.question
    pending = at.totals.pending_questions + 1
    out.payloads.append(payloads.UserQuestionStart(user_question=_asked(at, question), pending=pending))
    out.payloads.append(_status(RunStatus.AWAITING_USER))
    out.questions.append(question)
    out.workflow.update(pending_questions=pending, status=WorkflowStatus.WAITING)


def _asked(at: ProjectionInput, question: UserQuestion) -> payloads.AskedQuestion:
    spec = question.spec
    return payloads.AskedQuestion(
        question_id=question.id,
        call_id=question.call_id,
        question=spec.question,
        question_type=spec.question_type.value,
        text_required=spec.text_required,
        options=tuple({"id": option.id, "label": option.label} for option in spec.options),
        text_placeholder=spec.text_placeholder,
        context=spec.context,
        agent_name=at.after.agent.name,
        lineage=lineage(at.after),
    )


@on(QuestionAnswered)
def _question_answered(at: ProjectionInput, body: QuestionAnswered, out: Projection) -> None:
    pending = max(0, at.totals.pending_questions - 1)
    answer = ""
    asked = next((q for q in (at.before.questions if at.before else ()) if q.id == body.question_id), None)
    if asked is not None:
        answered = {
            "status": body.status,
            "selected_options": body.selected_options,
            "text_response": body.text_response,
            "answered_at": at.event.time,
        }
        over = asked.model_copy(update=answered)
        out.questions.append(over)
        answer = over.answer
    out.payloads.append(
        payloads.UserQuestionComplete(
            question_id=body.question_id, status=body.status.value, pending=pending, answer=answer
        )
    )
    out.workflow.update(pending_questions=pending)
    if at.after.status is RunStatus.PROCESSING:
        out.payloads.append(_status(RunStatus.PROCESSING))
    if at.after.status in (RunStatus.PROCESSING, RunStatus.PAUSED):
        out.workflow.update(waiting_or_at_work(at, pending_questions=pending))


@on(ContextCompacted)
def _context_compacted(at: ProjectionInput, body: ContextCompacted, out: Projection) -> None:
    details: dict[str, object] = {
        "dropped": len(body.dropped),
        "tokens_before": body.tokens_before,
        "tokens_after": body.tokens_after,
    }
    shown = {**details, "summary": body.summary} if body.summary else details
    out.payloads.append(payloads.ContextCompacted(reason=body.method, details=shown))
    out.messages.append(notice(at, "context_compacted", content=body.summary, method=body.method, **details))
    _count_part(at, body.usage, out)


@on(Injected)
def _injected(at: ProjectionInput, body: Injected, out: Projection) -> None:
    """Explain why an agent that had answered continues, since a person sees two answers."""
    if body.reason not in (ARE_YOU_DONE, FIX_ANSWER):
        return
    details: dict[str, Any] = {"tasks": len(at.after.open_tasks)} if body.reason == ARE_YOU_DONE else {}
    row = notice(at, "nudge", reason=body.reason, **details)
    out.payloads.append(payloads.Nudge(reason=body.reason, details=details, message_id=row.id))
    out.messages.append(row)


@on(LimitReached)
def _limit_reached(at: ProjectionInput, body: LimitReached, out: Projection) -> None:
    details: dict[str, Any] = {"value": body.value, "cap": body.cap}
    if body.needed:
        details |= {"needed": body.needed, "left": body.left}
    out.payloads.append(payloads.LimitReached(reason=body.limit.value, details=details))
    out.messages.append(notice(at, "limit_reached", limit=body.limit.value, **details))


@on(LoopDetected)
def _loop_detected(at: ProjectionInput, body: LoopDetected, out: Projection) -> None:
    details: dict[str, Any] = {"tool": body.tool, "count": body.count}
    out.payloads.append(payloads.LoopDetected(reason=body.action, details=details))
    out.messages.append(notice(at, "loop_detected", action=body.action, **details))


@on(ServersLacking)
def _servers_lacking(at: ProjectionInput, body: ServersLacking, out: Projection) -> None:
    if not body.problems:
        return
    details: dict[str, Any] = {"problems": [each.model_dump(mode="json") for each in body.problems]}
    row = notice(at, "servers_lacking", **details)
    out.payloads.append(payloads.ServersLacking(details=details, message_id=row.id))
    out.messages.append(row)


@on(RunPaused)
def _run_paused(at: ProjectionInput, body: RunPaused, out: Projection) -> None:
    if body.reason is PauseReason.INTERRUPTED:
        _interrupted(at, body, out)
        return
    out.payloads.append(_status(RunStatus.PAUSED))
    root = at.after.parent_run_id is None
    if body.reason is PauseReason.LIMIT and not root:
        # Others may continue working, but somebody has to decide.
        out.workflow.update(status=WorkflowStatus.WAITING)
    elif body.reason is not PauseReason.USER or root:
        # Only what the inbox lists waits for a person.
        out.workflow.update(waiting_or(at, WorkflowStatus.PAUSED))
    if root and body.reason in (PauseReason.LIMIT, PauseReason.LOOP):
        out.payloads.append(payloads.WorkflowComplete(status="limited"))


def _interrupted(at: ProjectionInput, body: RunPaused, out: Projection) -> None:
    """Mark the workflow as interrupted if any of its agents was, unless a person's answer is also pending."""
    out.payloads.append(payloads.RunStatusChanged(status=RunStatus.INTERRUPTED.value, ended=body.ended or ""))
    out.messages.append(notice(at, "run_interrupted", ended=body.ended))
    out.workflow.update(waiting_or(at, WorkflowStatus.INTERRUPTED))


@on(RunResumed)
def _run_resumed(at: ProjectionInput, body: RunResumed, out: Projection) -> None:
    out.payloads.append(_status(at.after.status))
    out.workflow.update(waiting_or(at, WorkflowStatus.RUNNING))


@on(RunFailed)
def _run_failed(at: ProjectionInput, body: RunFailed, out: Projection) -> None:
    fields: dict[str, Any] = body.model_dump(include={"code", "recoverable", "words", "detail", "provider"})
    fields |= {"model_provider": at.after.agent.provider, "model": at.after.agent.model}
    out.payloads.append(payloads.Failure(message=body.message, **fields))
    out.messages.append(notice(at, "error", content=body.message, agent_id=at.after.agent_id, **fields))
    out.payloads.append(_status(RunStatus.ERROR))
    if at.after.parent_run_id is None:
        out.payloads.append(payloads.WorkflowComplete(status="error", error=body.message))
        out.workflow.update(status=WorkflowStatus.ERROR)


def _last_reply_text(state: RunState) -> str:
    """Return the text of the run's last reply."""
    return next((entry.text for entry in reversed(state.entries) if entry.kind is EntryKind.REPLY), "")


_ENDED = {
    RunStatus.COMPLETED: WorkflowStatus.COMPLETED,
    RunStatus.ERROR: WorkflowStatus.ERROR,
    RunStatus.ABANDONED: WorkflowStatus.ERROR,
}
"""A workflow's status after its run. An agent that gave up needs its person as much as one that failed."""


@on(RunFinished)
def _run_finished(at: ProjectionInput, body: RunFinished, out: Projection) -> None:
    status = _status(body.status)
    if body.misfit:
        details = {"problem": body.misfit}
        entry = notice(at, "misfit", **details).model_copy(update={"id": stable_id(at.event.id, "misfit")})
        out.payloads.append(payloads.Misfit(details=details, message_id=entry.id))
        out.messages.append(entry)
    answer = handed_over(body.summary, body.result) if body.status is RunStatus.COMPLETED else ""
    if answer and answer.strip() not in _last_reply_text(at.after):
        row = message(at, MessageRole.ASSISTANT, kind="output", content=answer, details={"output_type": "result"})
        out.payloads.append(_reply(row.id, answer, output_type="result"))
        out.messages.append(row)
    if body.status is not RunStatus.COMPLETED:
        row = notice(at, "run_finished", content=body.summary or body.error, status=body.status.value)
        status = status.model_copy(update={"message_id": row.id, "content": row.content})
        out.messages.append(row)
    out.payloads.append(status)
    if at.after.parent_run_id is None:
        cut_short = body.status is RunStatus.COMPLETED and not at.after.finish.complete
        finish = at.after.finish.value if cut_short else ""
        fits = body.status is RunStatus.COMPLETED and not body.misfit and at.after.agent.answer_schema is not None
        data = final_answer_schema.read(body.result) if fits else None
        out.payloads.append(
            payloads.WorkflowComplete(status=body.status.value, error=body.error, finish_reason=finish, answer=data)
        )
        out.workflow.update(status=_ENDED.get(body.status, WorkflowStatus.IDLE))
