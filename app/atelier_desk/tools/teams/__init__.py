"""Planning tools: spawn sub-agents, delegate to agents, run them in parallel, and plan with tool sections."""

from __future__ import annotations

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.support.i18n import N_
from atelier_desk.tools.registry.sections import PLANNING, section

section(
    PLANNING,
    order=20,
    name=N_("Teams and planning"),
    description=N_("Plan actions, start agents, delegate and run tasks in parallel"),
    kind=ApprovalKind.SUB_AGENT,
)
