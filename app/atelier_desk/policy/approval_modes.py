"""How two answers of the owner combine, and which waiting calls one answer may allow together."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import RISKS, ApprovalFlags, ApprovalRequest, ApprovalSettings, ApprovalStatus, RiskName

_STRICTNESS = {mode: place for place, mode in enumerate(ApprovalMode)}


def risk_of(policy: ApprovalSettings, tool: str, own: RiskName) -> RiskName:
    """A tool's risk: the owner's choice, else the tool's own."""
    return policy.risks.get(tool, own)


def stricter(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode:
    """The mode of the two that asks more."""
    return max(one, other, key=_STRICTNESS.__getitem__)


def stricter_settings(held: ApprovalSettings, chosen: ApprovalSettings) -> dict[str, object]:
    """Of the settings that say what is asked about, those of the two that ask more."""
    flags = {name: getattr(held.flags, name) or getattr(chosen.flags, name) for name in ApprovalFlags.model_fields}
    risks: dict[str, RiskName] = {}
    for tool in (*held.risks, *chosen.risks):
        both = [each.risks[tool] for each in (held, chosen) if tool in each.risks]
        risk = max(both, key=RISKS.index)
        # What one of them calls low has its own risk for the other, which is no lower.
        if len(both) == 2 or risk != RISKS[0]:
            risks[tool] = risk
    return {
        "flags": ApprovalFlags(**flags),
        "auto_approve_low": held.auto_approve_low and chosen.auto_approve_low,
        "always_confirm_high": held.always_confirm_high or chosen.always_confirm_high,
        "risks": risks,
    }


_PLAIN = frozenset({"manual", "selective"})
"""Reasons to ask that say nothing about the call itself: the profile asks about its kind."""


def may_go_together(asked: ApprovalRequest) -> bool:
    """Whether one yes may allow this call along with others: the profile alone asks about it, and its risk is not high.

    What asks each time (a protected name, taint, a script, a rule that asks) has no rule that could allow it, whatever reason is shown.
    What does not fit into its line is looked at alone: nobody allows the end of a command that is not there to be read.
    """
    plain = asked.status is ApprovalStatus.PENDING and asked.reason in _PLAIN and asked.risk != "high" and bool(asked.always)
    return plain and not any(str(value).endswith("…") for value in asked.presentation.summary.params.values())


def together(waiting: Iterable[ApprovalRequest]) -> list[tuple[ApprovalRequest, ...]]:
    """Requests as they are shown: those of one run that may go together as one, any other alone; in the order they came."""
    groups: dict[str, list[ApprovalRequest]] = {}
    for asked in waiting:
        groups.setdefault(f"run {asked.run_id}" if may_go_together(asked) else f"call {asked.id}", []).append(asked)
    return [tuple(group) for group in groups.values()]
