"""How two answers of the owner combine: a tool's risk, and which of two modes asks more."""

from __future__ import annotations

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy, RiskName

_STRICTNESS = {mode: place for place, mode in enumerate(ApprovalMode)}


def risk_of(policy: ApprovalPolicy, tool: str, own: RiskName) -> RiskName:
    """A tool's risk: the owner's choice, else the tool's own."""
    return policy.risks.get(tool, own)


def stricter(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode:
    """The mode of the two that asks more."""
    return max(one, other, key=_STRICTNESS.__getitem__)
