"""Shared by projections: totals before an event, changes by one event, and the registry of projectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.audit import AuditEntry
from atelier_desk.domain.events.run import EventBody, EventNotice, RunEvent
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.payloads import Payload
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, RunStatus, ToolExecution, WorkflowStatus
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.calls.stable_record_ids import stable_id


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Totals of the workflow before the event; included in stream events of type ``usage``.

    ``teams``: by root run, usage of it and everything below it; the one that changed last is the last.
    """

    usage: Usage = field(default_factory=Usage)
    pending_questions: int = 0
    pending_approvals: int = 0
    teams: Mapping[str, Usage] = field(default_factory=dict)

    def after(self, projection: Projection) -> RunTotals:
        """Return the totals after an event."""
        names = ("usage", "pending_questions", "pending_approvals")
        changed: dict[str, Any] = {name: projection.workflow[name] for name in names if name in projection.workflow}
        if projection.team is not None:
            root, usage = projection.team
            changed["teams"] = {**{each: used for each, used in self.teams.items() if each != root}, root: usage}
        return replace(self, **changed) if changed else self


@dataclass
class Projection:
    """Everything one event changes outside the journal.

    ``payloads``: its stream events; ``workflow``: changed fields of the workflow's row; ``team``: new total of a root
    run with everything below it; ``pins``: by message id, whether it is pinned.
    """

    payloads: list[Payload] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    executions: list[ToolExecution] = field(default_factory=list)
    questions: list[UserQuestion] = field(default_factory=list)
    approvals: list[ApprovalRequest] = field(default_factory=list)
    audit: list[AuditEntry] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    deleted_tasks: list[str] = field(default_factory=list)
    deleted_messages: list[str] = field(default_factory=list)
    rules: list[PermissionRule] = field(default_factory=list)
    matched_rules: dict[str, datetime] = field(default_factory=dict)
    pins: dict[str, bool] = field(default_factory=dict)
    workflow: dict[str, Any] = field(default_factory=dict)
    team: tuple[str, Usage] | None = None


@dataclass(frozen=True, slots=True)
class ProjectionInput:
    event: RunEvent
    before: RunState | None
    after: RunState
    totals: RunTotals


projectors: dict[str, Callable[[ProjectionInput, object, Projection], None]] = {}


def on(
    kind: type[EventBody],
) -> Callable[
    [Callable[[ProjectionInput, Any, Projection], None]], Callable[[ProjectionInput, object, Projection], None]
]:
    def register(
        function: Callable[[ProjectionInput, object, Projection], None],
    ) -> Callable[[ProjectionInput, object, Projection], None]:
        projectors[kind.model_fields["type"].default] = function
        return function

    return register


def message(at: ProjectionInput, role: MessageRole, **fields: Any) -> Message:
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


def notice(at: ProjectionInput, kind: str, content: str = "", **details: object) -> Message:
    return message(at, MessageRole.NOTICE, kind=kind, content=content, details=details)


def add_notice(at: ProjectionInput, body: EventBody, shown: EventNotice, out: Projection) -> None:
    """Show an event with the notice that its class declares."""
    details = {**shown._asdict(), "title": body.label, "values": body.model_dump(mode="json", exclude={"type"})}
    # Its place is that of its own stream event, after what a projection showed of the same event.
    own = {"id": stable_id(at.event.id, "notice"), "seq": at.event.stream_from + len(out.payloads)}
    row = notice(at, "notice", **details).model_copy(update=own)
    out.payloads.append(payloads.TextNotice(details=details, message_id=row.id))
    out.messages.append(row)


def call_place(at: ProjectionInput, call_id: str) -> dict[str, Any]:
    """Identify a call for stream events: its id, the reply that made it, and its index there."""
    index = next((number for number, call in enumerate(at.after.calls) if call.call.id == call_id), 0)
    return {"call_id": call_id, "message_id": at.after.message_id, "index": index}


def waiting_or(at: ProjectionInput, status: WorkflowStatus, **changed: int) -> dict[str, object]:
    """Return fields of the workflow's row.

    ``waiting`` while a question or request of any agent is open, else ``status``.
    """
    questions = changed.get("pending_questions", at.totals.pending_questions)
    approvals = changed.get("pending_approvals", at.totals.pending_approvals)
    return {**changed, "status": WorkflowStatus.WAITING if questions or approvals else status}


def waiting_or_at_work(at: ProjectionInput, **changed: int) -> dict[str, object]:
    """Return ``waiting_or`` for a run that got an answer: it works, unless it is paused."""
    paused = at.after.status is RunStatus.PAUSED
    return waiting_or(at, WorkflowStatus.PAUSED if paused else WorkflowStatus.RUNNING, **changed)


def lineage(state: RunState) -> tuple[dict[str, str], ...]:
    """Return the runs above, for stream events: root first."""
    return tuple({"run_id": ancestor.run_id, "agent_name": ancestor.agent_name} for ancestor in state.lineage)
