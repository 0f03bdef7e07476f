"""Events of approvals."""

from __future__ import annotations

from typing import Literal

from atelier_desk.domain.approval import ApprovalRequest, Decision
from atelier_desk.domain.events.base_event import Event
from atelier_desk.domain.permission import DecisionRecord
from atelier_desk.support.i18n import N_


class ApprovalRequested(Event):
    """A call must not run before a person approves; ``grounds``: see ``ToolCallStarted``."""

    type: Literal["approval_requested"] = "approval_requested"
    label = N_("Approval requested")
    approval: ApprovalRequest
    grounds: DecisionRecord | None = None


class ApprovalDecided(Event, Decision):
    """A person, or the timeout, decided about one call.

    Attributes:
        scope: ``run`` applied ``rules`` to this run and later sub-agents, ``always`` stored them.
        seen_ms: how long the card was visible before.
    """

    type: Literal["approval_decided"] = "approval_decided"
    label = N_("Approval decision")
    approval_id: str
    call_id: str
    seen_ms: int = 0


class ApprovalAskedAgain(Event):
    """Nobody decided in time, and the user wants to be asked again: the time restarts."""

    type: Literal["approval_asked_again"] = "approval_asked_again"
    label = N_("Approval requested again")
    approval_id: str
    call_id: str
