"""Which calls need a person's yes. Pure: a policy and the facts of one call give the rule that asks, or none."""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalKind, ApprovalPolicy, RiskName

_STRICTNESS = {mode: place for place, mode in enumerate(ApprovalMode)}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a call: ``changes`` is true when it may change anything, ``repaired`` when its arguments were mended."""

    tool: str
    kind: ApprovalKind
    risk: RiskName
    section: str = ""
    server: str = ""
    changes: bool = False
    repaired: bool = False


def reason(policy: ApprovalPolicy, facts: Facts, allowed: frozenset[str] = frozenset()) -> str | None:
    """The rule that asks for a yes (``risk_high``, ``repaired``, ``manual`` or ``selective``), or None when the call may run.

    ``allowed`` are the tools a person allowed for the whole run. Source of the rules: reference "originals", 1.3.
    """
    if facts.tool in allowed or _has_rule(policy, facts):
        return None
    if facts.risk == "high" and policy.always_confirm_high:
        return "risk_high"
    if policy.mode is ApprovalMode.AUTO:
        return None
    if facts.risk == "low" and policy.auto_approve_low:
        return None
    if policy.mode is ApprovalMode.MANUAL:
        return "manual"
    if policy.flags.asks(facts.kind):
        return "selective"
    return "repaired" if facts.repaired and facts.changes else None


def _has_rule(policy: ApprovalPolicy, facts: Facts) -> bool:
    names = {"tool": facts.tool, "section": facts.section, "server": facts.server}
    return any(names[rule.what] == rule.target for rule in policy.allowed)


def risk_of(policy: ApprovalPolicy, tool: str, own: RiskName) -> RiskName:
    """A tool's risk: the owner's choice, else the tool's own."""
    return policy.risks.get(tool, own)


def stricter(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode:
    """The mode of the two that asks more."""
    return max(one, other, key=_STRICTNESS.__getitem__)
