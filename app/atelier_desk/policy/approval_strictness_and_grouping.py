"""Combine approval settings, and group pending calls that one approval may allow together."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import (
    RISKS,
    ApprovalFlags,
    ApprovalRequest,
    ApprovalSettings,
    ApprovalStatus,
    RiskName,
)

_STRICTNESS = {mode: place for place, mode in enumerate(ApprovalMode)}


def risk_of(policy: ApprovalSettings, tool: str, own: RiskName) -> RiskName:
    """Return a tool's risk: the user's setting, otherwise the tool's own."""
    return policy.risks.get(tool, own)


def stricter(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode:
    """Return the stricter of two modes: the one that asks more."""
    return max(one, other, key=_STRICTNESS.__getitem__)


def stricter_settings(held: ApprovalSettings, chosen: ApprovalSettings) -> dict[str, object]:
    """Return, per setting that decides what is asked, the stricter of two values."""
    flags = {name: getattr(held.flags, name) or getattr(chosen.flags, name) for name in ApprovalFlags.model_fields}
    risks: dict[str, RiskName] = {}
    for tool in (*held.risks, *chosen.risks):
        both = [each.risks[tool] for each in (held, chosen) if tool in each.risks]
        risk = max(both, key=RISKS.index)
        # A tool that only one of them calls low has its own risk in the other, which is not lower.
        if len(both) == 2 or risk != RISKS[0]:
            risks[tool] = risk
    return {
        "flags": ApprovalFlags(**flags),
        "auto_approve_low": held.auto_approve_low and chosen.auto_approve_low,
        "always_confirm_high": held.always_confirm_high or chosen.always_confirm_high,
        "risks": risks,
    }


_PLAIN = frozenset({"manual", "selective"})
"""Reasons to ask that concern the profile only, not the call itself."""


def may_approve_together(asked: ApprovalRequest) -> bool:
    """Whether one approval may cover this call along with others: only the profile asks about it, and its risk is not
    high.

    Calls that always ask (a protected name, taint, a script, a rule that asks) are excluded, whatever reason is
    displayed. So are calls that do not fit on their line: nobody can approve the end of a command that is not visible.
    """
    plain = (
        asked.status is ApprovalStatus.PENDING
        and asked.reason in _PLAIN
        and asked.risk != "high"
        and bool(asked.always)
    )
    return plain and not any(str(value).endswith("…") for value in asked.presentation.summary.params.values())


def together(waiting: Iterable[ApprovalRequest]) -> list[tuple[ApprovalRequest, ...]]:
    """Group requests for display, in order: those of one run that may go together, any other alone."""
    groups: dict[str, list[ApprovalRequest]] = {}
    for asked in waiting:
        groups.setdefault(f"run {asked.run_id}" if may_approve_together(asked) else f"call {asked.id}", []).append(
            asked
        )
    return [tuple(group) for group in groups.values()]
