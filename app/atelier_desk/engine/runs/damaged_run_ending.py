"""End runs whose events are missing or damaged: no event can follow, so only their rows record the end."""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.domain.approval import ApprovalStatus
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.workflow import Message, MessageRole, Run, RunStatus, WorkflowStatus
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.storage.damage_report import CODE
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.support.i18n import N_, _

ENDED = N_(
    "The record of this turn is damaged, so the turn was stopped. The readable part is kept for you, but agents no "
    "longer see it."
)


def is_damage(error: AtelierError) -> bool:
    """Whether rows are missing or damaged."""
    return error.code == CODE


async def end_unread(env: RunEnvironment, top: Run) -> set[str]:
    """End a run and everything below it through their rows, close what is open, and explain it in the transcript.

    Returns the ids of the ended runs.

    Raises:
        StorageError: nothing was written.
    """
    repos, now, why = env.repos, env.clock.now(), _(ENDED)
    rows = await repos.runs.teams([top.correlation_id or top.id])
    ended = {row.id: row for row in _below(top, rows) if not row.status.final}
    notice = Message(
        workflow_id=top.workflow_id, run_id=top.id, seq=0, role=MessageRole.NOTICE, kind="run_finished", content=why,
        agent_name=top.agent_name, details={"status": RunStatus.CANCELLED.value}, created_at=now,
    )  # fmt: skip

    async def commit() -> Commit:
        workflow = await repos.workflows.get(top.workflow_id)
        questions = [each for each in await repos.questions.pending(top.workflow_id) if each.run_id in ended]
        approvals = [each for each in await repos.approvals.pending(top.workflow_id) if each.run_id in ended]
        changes = {
            "pending_questions": max(0, workflow.pending_questions - len(questions)),
            "pending_approvals": max(0, workflow.pending_approvals - len(approvals)),
            "updated_at": now,
        }
        over = {"status": RunStatus.CANCELLED, "error": why, "updated_at": now}
        return Commit(
            runs=tuple(row.model_copy(update=over) for row in ended.values()),
            workflow=changes if top.parent_run_id else {**changes, "status": WorkflowStatus.IDLE},
            messages=(notice.model_copy(update={"seq": workflow.stream_seq}),),
            questions=tuple(
                each.model_copy(update={"status": QuestionStatus.SKIPPED, "answered_at": now}) for each in questions
            ),
            approvals=tuple(
                each.model_copy(
                    update={"status": ApprovalStatus.CANCELLED, "note": why, "decided_by": "stop", "decided_at": now}
                )
                for each in approvals
            ),
            clear_partial=tuple(ended),
        )

    written = await env.journal.write_rows(top.workflow_id, commit)
    status = payloads.RunStatusChanged(status=RunStatus.CANCELLED.value, message_id=notice.id, content=why)
    _publish(
        env,
        top,
        status,
        *([] if top.parent_run_id else [payloads.WorkflowComplete(status=RunStatus.CANCELLED.value, error=why)]),
    )
    env.bus.changed("workflow", top.workflow_id)
    for question in written.questions:
        env.bus.changed("question", question.id)
    for approval in written.approvals:
        env.bus.changed("approval", approval.id)
    return set(ended)


def _below(top: Run, rows: Sequence[Run]) -> list[Run]:
    """Return a run and those below it."""
    found = [top]
    for each in found:
        found += [row for row in rows if row.parent_run_id == each.id]
    return found


def _publish(env: RunEnvironment, run: Run, *said: payloads.Payload) -> None:
    for each in said:
        env.bus.publish(
            StreamEvent(
                seq=env.journal.last_stream_seq(run.workflow_id),
                time=env.clock.now(),
                workflow_id=run.workflow_id,
                run_id=run.id,
                parent_run_id=run.parent_run_id,
                correlation_id=run.correlation_id,
                agent_id=run.agent_id,
                agent_name=run.agent_name,
                depth=run.depth,
                durable=False,
                chunk_type=each.chunk,
                data=each.json_fields(),
            )
        )
