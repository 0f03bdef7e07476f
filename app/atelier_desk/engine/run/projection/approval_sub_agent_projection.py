"""Projections of approvals and sub-agents."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope
from atelier_desk.domain.events.run import (
    ApprovalAskedAgain,
    ApprovalDecided,
    ApprovalRequested,
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildStarted,
    CompactionUndone,
    EntryPinned,
    ParentAnswered,
    ParentAsked,
    RightsNarrowed,
)
from atelier_desk.domain.permission import Action
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.sub_agent import ChildState, ChildStatus
from atelier_desk.domain.workflow import MessageRole, WorkflowStatus
from atelier_desk.engine.run.projection import audit
from atelier_desk.engine.run.projection.projection_base import (
    Projection,
    ProjectionInput,
    call_place,
    lineage,
    message,
    notice,
    on,
    waiting_or_at_work,
)


@on(ApprovalRequested)
def _approval_requested(at: ProjectionInput, body: ApprovalRequested, out: Projection) -> None:
    pending = at.totals.pending_approvals + 1
    out.payloads.append(_required(at, body.approval, pending))
    out.approvals.append(body.approval)
    out.workflow.update(pending_approvals=pending, status=WorkflowStatus.WAITING)


def _required(at: ProjectionInput, approval: ApprovalRequest, pending: int) -> payloads.ValidationRequired:
    return payloads.ValidationRequired(
        validation_id=approval.id,
        **call_place(at, approval.call_id),
        type=approval.kind.value,
        tool=approval.tool,
        operation=approval.operation,
        risk_level=approval.risk,
        reason=approval.reason,
        arguments=approval.arguments,
        details=approval.details,
        effect=approval.effect,
        presentation=approval.presentation,
        subjects=approval.subjects.model_dump(mode="json", exclude_defaults=True),
        lineage=lineage(at.after),
        timeout_s=approval.timeout_s,
        round=approval.round,
        pending=pending,
    )


def _asked(at: ProjectionInput, approval_id: str) -> ApprovalRequest | None:
    return next((request for request in (at.before.requests if at.before else ()) if request.id == approval_id), None)


@on(ApprovalDecided)
def _approval_decided(at: ProjectionInput, body: ApprovalDecided, out: Projection) -> None:
    pending = max(0, at.totals.pending_approvals - 1)
    out.payloads.append(
        payloads.ValidationResponse(
            validation_id=body.approval_id,
            call_id=body.call_id,
            status=body.status.value,
            decided_by=body.decided_by,
            edited=body.arguments is not None,
            scope=body.scope.value,
            pending=pending,
            note=body.note,
        )
    )
    asked = _asked(at, body.approval_id)
    if asked is not None:
        decided = {
            "status": body.status,
            "edited": body.arguments,
            "scope": body.scope,
            "note": body.note,
            "decided_by": body.decided_by,
            "seen_ms": body.seen_ms,
            "decided_at": at.event.time,
        }
        out.approvals.append(asked.model_copy(update=decided))
        audit.decided(at, body, asked, out)
    if body.scope is ApprovalScope.ALWAYS:
        out.rules += body.rules
    # A stopped run sets its workflow's status in the same commit.
    out.workflow.update(waiting_or_at_work(at, pending_approvals=pending))


@on(ApprovalAskedAgain)
def _approval_asked_again(at: ProjectionInput, body: ApprovalAskedAgain, out: Projection) -> None:
    again = next((request for request in at.after.requests if request.id == body.approval_id), None)
    if again is not None:
        out.payloads.append(_required(at, again, at.totals.pending_approvals))
        out.approvals.append(again)


def _child(at: ProjectionInput, child_id: str) -> ChildState | None:
    return at.after.child(child_id)


def _named(child: ChildState) -> dict[str, Any]:
    """Return the fields of ``payloads.SubAgent``."""
    return {
        "sub_agent_id": child.id,
        "sub_agent_name": child.name,
        "call_id": child.call_id,
        "task_description": child.title,
    }


@on(ChildStarted)
def _child_started(at: ProjectionInput, body: ChildStarted, out: Projection) -> None:
    child = _child(at, body.child_id)
    if child is not None:
        kind, withheld = child.kind.value, tuple(child.withheld)
        start = payloads.SubAgentStart(
            **_named(child), kind=kind, stage=child.stage, background=child.background, withheld=withheld
        )
        out.payloads.append(start)


@on(ChildFinished)
def _child_finished(at: ProjectionInput, body: ChildFinished, out: Projection) -> None:
    child = _child(at, body.child_id)
    if child is None:
        return
    well = body.status is ChildStatus.COMPLETED
    kind = payloads.SubAgentComplete if well else payloads.SubAgentError
    error = "" if well else body.error or body.status.value
    out.payloads.append(
        kind(**_named(child), status=body.status.value, report=body.report, metrics=child.metrics, error=error)
    )


@on(ChildAsked)
def _child_asked(at: ProjectionInput, body: ChildAsked, out: Projection) -> None:
    child = _child(at, body.child_id)
    if child is not None:
        out.payloads.append(payloads.SubAgentQuestion(**_named(child), question=body.message))


@on(ChildAnswered)
def _child_answered(at: ProjectionInput, body: ChildAnswered, out: Projection) -> None:
    child = _child(at, body.child_id)
    if child is not None:
        out.payloads.append(payloads.SubAgentAnswer(**_named(child), content=body.text, by=body.by))


@on(ParentAsked)
def _parent_asked(at: ProjectionInput, body: ParentAsked, out: Projection) -> None:
    out.messages.append(message(at, MessageRole.ASSISTANT, kind="to_parent", content=body.message))


@on(ParentAnswered)
def _parent_answered(at: ProjectionInput, body: ParentAnswered, out: Projection) -> None:
    out.messages.append(message(at, MessageRole.USER, kind="from_parent", content=body.text, details={"by": body.by}))


@on(EntryPinned)
def _entry_pinned(at: ProjectionInput, body: EntryPinned, out: Projection) -> None:
    reason = "pinned" if body.pinned else "unpinned"
    out.payloads.append(payloads.ContextChanged(reason=reason, origin=body.origin, message_id=body.message_id))
    if body.message_id:
        out.pins[body.message_id] = body.pinned


@on(CompactionUndone)
def _compaction_undone(at: ProjectionInput, body: CompactionUndone, out: Projection) -> None:
    out.payloads.append(payloads.ContextChanged(reason="undone", origin=body.origin))


@on(RightsNarrowed)
def _rights_narrowed(at: ProjectionInput, body: RightsNarrowed, out: Projection) -> None:
    """Add a notice where a person withdrew rights of the run."""
    known = (*at.before.approvals.rules, *at.before.granted) if at.before else ()
    withdrawn = [rule.text for rule in known if rule.id in body.withdrawn]
    details: dict[str, Any] = {
        "denied": [rule.text for rule in body.rules if rule.action is Action.DENY],
        "asked": list(
            dict.fromkeys([*(rule.text for rule in body.rules if rule.action is not Action.DENY), *withdrawn])
        ),
        "folders": list(body.folders),
        "untrusted": list(body.untrusted),
        "stricter": body.mode is not None or body.settings is not None,
    }
    row = notice(at, "rights_narrowed", **details)
    out.payloads.append(payloads.RightsNarrowed(details=details, message_id=row.id))
    out.messages.append(row)
