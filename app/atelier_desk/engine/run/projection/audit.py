"""What the audit trail keeps of an event: the verdict of a call that runs or is forbidden, or what was said when a person was asked."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.approval import NOBODY_TO_ASK, ApprovalRequest, ApprovalStatus
from atelier_desk.domain.audit import AuditDecision, AuditEntry, cut, detail_of, hide_secrets
from atelier_desk.domain.call import Subjects
from atelier_desk.domain.events.run import ApprovalDecided, ToolCallStarted
from atelier_desk.domain.permission import Action
from atelier_desk.engine.run.projection.projection import Projection, ProjectionInput
from atelier_desk.llm.secrets import redact

_SAID = {
    ApprovalStatus.APPROVED: AuditDecision.APPROVED,
    ApprovalStatus.REJECTED: AuditDecision.REJECTED,
    ApprovalStatus.CANCELLED: AuditDecision.CANCELLED,
}


def judged(at: ProjectionInput, body: ToolCallStarted, out: Projection) -> None:
    """A call whose verdict stands. One that a person allowed has its entry already, and one that could not run, so that nobody was asked,
    was not decided about."""
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
    """What a person said, or the time or the stop that came before."""
    edited = body.arguments is not None
    subjects = Subjects() if edited else asked.subjects
    texts = _texts(subjects, asked.arguments if body.arguments is None else body.arguments, asked.rule, asked.about)
    by = "nobody" if body.note == NOBODY_TO_ASK else body.decided_by
    # Other notes are the program's own words for the agent.
    note = cut(redact(hide_secrets(body.note))) if by == "user" else ""
    said = {"decision": _SAID[body.status], "decided_by": by, "note": note, "edited": edited, "reason": asked.reason}
    out.audit.append(_entry(at, asked, **said, **texts))


def _texts(subjects: Subjects, arguments: dict[str, Any], rule: str, about: str) -> dict[str, str]:
    """Keys are hidden before a text is cut: half a key is no longer known as one."""
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
