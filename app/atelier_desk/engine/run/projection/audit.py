"""Audit entries of events: the verdict of a call that runs or is denied, or the person's decision."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.approval import NOBODY_TO_ASK, ApprovalRequest, ApprovalStatus
from atelier_desk.domain.audit import AuditDecision, AuditEntry, cut, detail_of, hide_secrets
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.events.run import ApprovalDecided, ToolCallStarted
from atelier_desk.domain.permission import Action
from atelier_desk.engine.run.projection.projection_base import Projection, ProjectionInput
from atelier_desk.llm.secrets import redact

_DECISIONS = {
    ApprovalStatus.APPROVED: AuditDecision.APPROVED,
    ApprovalStatus.REJECTED: AuditDecision.REJECTED,
    ApprovalStatus.CANCELLED: AuditDecision.CANCELLED,
}


def judged(at: ProjectionInput, body: ToolCallStarted, out: Projection) -> None:
    """Add the entry of a final verdict. Approved calls already have one, and invalid calls were not decided about."""
    verdict = body.verdict
    if verdict is None or verdict.action is Action.ASK:
        return
    before = at.before.call(body.call_id) if at.before is not None else None
    if verdict.action is Action.ALLOW and before is not None and before.allowed:
        return
    decision = AuditDecision.DENIED if verdict.action is Action.DENY else AuditDecision.ALLOWED
    texts = _texts(body.subjects, body.arguments, verdict.rule, verdict.about)
    out.audit.append(_entry(at, body, decision=decision, reason=verdict.reason, **texts))


def decided(at: ProjectionInput, body: ApprovalDecided, asked: ApprovalRequest, out: Projection) -> None:
    """Add the entry of a person's decision, or of the timeout or stop that preempted it."""
    edited = body.arguments is not None
    subjects = Subjects() if edited else asked.subjects
    texts = _texts(subjects, asked.arguments if body.arguments is None else body.arguments, asked.rule, asked.about)
    by = "nobody" if body.note == NOBODY_TO_ASK else body.decided_by
    # Other notes are the program's own texts for the agent.
    note = cut(redact(hide_secrets(body.note))) if by == "user" else ""
    fields = {
        "decision": _DECISIONS[body.status],
        "decided_by": by,
        "note": note,
        "edited": edited,
        "reason": asked.reason,
    }
    out.audit.append(_entry(at, asked, **fields, **texts))


def _texts(subjects: Subjects, arguments: dict[str, object], rule: str, about: str) -> dict[str, str]:
    """Return the texts; keys are hidden before cutting, because half a key is no longer recognised."""
    texts = {"detail": detail_of(subjects, arguments), "rule": rule, "about": hide_secrets(about)}
    return {name: cut(redact(text)) for name, text in texts.items()}


def _entry(at: ProjectionInput, call: ToolCallStarted | ApprovalRequest, **said: Any) -> AuditEntry:
    state = at.after
    return AuditEntry(
        id=at.event.id,
        workflow_id=at.event.workflow_id,
        run_id=at.event.run_id,
        call_id=call.call_id,
        message_id=state.message_id,
        agent_id=state.agent_id,
        agent_name=state.agent.name,
        tool=call.tool,
        server=call.server,
        effect=call.effect,
        risk=call.risk,
        mode=state.approvals.mode.value,
        created_at=at.event.time,
        **said,
    )
