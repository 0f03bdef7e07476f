"""Text of the audit trail: decisions, who made them, and why."""

from __future__ import annotations

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.audit import AuditDecision, AuditEntry
from atelier_desk.domain.permission import Action, Verdict
from atelier_desk.presentation.permission_profiles import profile_of
from atelier_desk.support.i18n import N_, _

DECISIONS = {
    AuditDecision.ALLOWED: N_("Allowed"),
    AuditDecision.APPROVED: N_("Approved"),
    AuditDecision.REJECTED: N_("Rejected"),
    AuditDecision.CANCELLED: N_("Stopped"),
    AuditDecision.DENIED: N_("Denied"),
}
"""``Allowed`` and ``Denied`` are automatic; the others followed a question to a person."""
_BY = {
    (AuditDecision.APPROVED, "user"): N_("Approved by you"),
    (AuditDecision.APPROVED, "timeout"): N_("Approved automatically: no decision was made in time"),
    (AuditDecision.REJECTED, "user"): N_("Rejected by you"),
    (AuditDecision.REJECTED, "timeout"): N_("Rejected automatically: no decision was made in time"),
    (AuditDecision.REJECTED, "nobody"): N_("Rejected: nobody was available to ask"),
    (AuditDecision.CANCELLED, "stop"): N_("Stopped before you decided"),
}
REASONS = {
    "risk_high": N_("High risk"),
    "protected": N_("Protected file"),
    "tainted": N_("Untrusted content was read earlier"),
    "repaired": N_("Arguments were repaired"),
    "unparsed": N_("Command could not be parsed"),
    "opaque": N_("Starts other programs"),
    "repository": N_("Settings of the git repository"),
    "outside": N_("Outside the workspace folders"),
    "installs": N_("Installs a package"),
    "altered": N_("Tool changed by its server since you approved it"),
    "denied": N_("Could access data that a rule denies"),
    "unconfined": N_("Outside the sandbox or with network access"),
}
"""Reasons to ask although a rule or the profile allows a call."""
_BY_PROFILE = frozenset({"plan", "mode", "selective", "manual"})
_MODES = frozenset(mode.value for mode in ApprovalMode)


def decision(entry: AuditEntry) -> str:
    """The decision about a call and, if a person was asked, who made it."""
    text = _(_BY.get((entry.decision, entry.decided_by), DECISIONS[entry.decision]))
    return _("{decision}, with edited arguments", decision=text) if entry.edited else text


_DECIDERS = {
    "user": N_("You"),
    "timeout": N_("No decision in time"),
    "nobody": N_("Nobody available"),
    "stop": N_("The run was stopped"),
}
_EFFECTS = {
    "read": N_("reads"),
    "write": N_("writes"),
    "execute": N_("runs"),
    "network": N_("sends"),
    "interact": N_("asks"),
    "spawn": N_("starts agents"),
}
_RISKS = {"low": N_("low risk"), "medium": N_("medium risk"), "high": N_("high risk")}


def columns(entry: AuditEntry) -> dict[str, str]:
    """Text of an entry's codes, by column of ``domain.audit.as_csv``."""
    mode = entry.mode
    return {
        "decision": _(DECISIONS[entry.decision]),
        "decided_by": _(_DECIDERS.get(entry.decided_by, entry.decided_by)),
        "profile": _(profile_of(ApprovalMode(mode)).title) if mode in _MODES else mode,
        "reason": why(entry),
        "effect": _(_EFFECTS.get(entry.effect, entry.effect)),
        "risk": _(_RISKS.get(entry.risk, entry.risk)),
    }


def why(entry: AuditEntry) -> str:
    """What decided or asked: a rule, a check that always asks, or the profile."""
    if entry.rule:
        return _("Rule “{rule}”", rule=entry.rule)
    if entry.reason in _BY_PROFILE and entry.mode in _MODES:
        return _("Profile “{profile}”", profile=_(profile_of(ApprovalMode(entry.mode)).title))
    return _(REASONS[entry.reason]) if entry.reason in REASONS else entry.reason


_ACTED = {Action.ALLOW: N_("allowed"), Action.ASK: N_("asked"), Action.DENY: N_("denied")}


def acted(verdict: Verdict) -> str:
    """What a verdict does with its call."""
    return _(_ACTED[verdict.action])


def ground(verdict: Verdict) -> str:
    """Basis of a verdict: a rule, a check that always asks, or the profile."""
    if verdict.rule:
        return _("Rule “{rule}”", rule=verdict.rule)
    return _(REASONS[verdict.reason]) if verdict.reason in REASONS else _("Profile")
