"""Text about permission rules: effect, scope, and the reason for a decision."""

from __future__ import annotations

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.permission import Action, Holds, RuleScope, Verdict
from atelier_desk.presentation.permission_profiles import profile_of
from atelier_desk.support.i18n import N_, _

DOES = {Action.ALLOW: N_("Allow"), Action.ASK: N_("Ask"), Action.DENY: N_("Deny")}
"""Effect of a rule on the calls it covers."""


def always_text(where: Holds, what: str) -> str:
    """A choice that allows ``what`` from now on, and where; also text of the stored rule."""
    if where.scope is RuleScope.FOLDER:
        return _("Always in this folder: {what}", what=what)
    if where.scope is RuleScope.WORKFLOW:
        return _("Always in this workflow: {what}", what=what)
    return _("Always, everywhere: {what}", what=what)


def where_text(where: Holds, name: str = "") -> str:
    """Scope of a rule; ``name`` is that of its workflow or agent, by default its id."""
    texts = {
        RuleScope.RUN: N_("In one run"),
        RuleScope.WORKFLOW: N_("In the workflow {name}"),
        RuleScope.FOLDER: N_("In the folder {name}"),
        RuleScope.AGENT: N_("For the agent {name}"),
        RuleScope.ALWAYS: N_("Everywhere"),
    }
    return _(texts[where.scope], name=name or where.scope_id)


REASONS = {
    "manual": N_("The profile “Ask every time” asks before every call."),
    "risk_high": N_("High-risk calls always need approval."),
    "repaired": N_("The model wrote invalid arguments, which were repaired. Check them before they are used."),
    "protected": N_("The call changes a file that programs run or that contains instructions for agents."),
    "unparsed": N_("The command could not be parsed, so its effect is unknown."),
    "opaque": N_("The call starts other programs or a script, whose effects cannot be checked."),
    "installs": N_("The call installs a package, whose scripts run on this computer."),
    "altered": N_("The MCP server has changed the description of this tool since you approved it. See Settings → MCP."),
    "unconfined": N_("The call would run outside the sandbox or with network access."),
    "repository": N_(
        "This git repository's settings may run programs or use files outside it. An approval is valid until the "
        "settings change."
    ),
    "denied": N_("The call could access data that a rule denies, and this system cannot prevent it."),
    "tainted": N_(
        "The call sends data out or writes outside the workspace, and the team has read from untrusted sources."
    ),
    "outside": N_(
        "This location is outside the workspace folders. This tool never works there, whatever the permissions."
    ),
}
"""Reasons to ask or deny, by ``Verdict.reason``, except the profile's."""


def verdict_text(said: Verdict, mode: ApprovalMode) -> str:
    """What a profile would do with a call, and why."""
    action = _(DOES[said.action])
    if said.rule:
        text = _("{action}: the rule “{rule}” decides.", action=action, rule=said.rule)
    elif said.reason in REASONS:
        text = _("{name}: {text}", name=action, text=_(REASONS[said.reason]))
    else:
        text = _(
            "{action}: no rule applies, so the profile “{profile}” decides.",
            action=action,
            profile=_(profile_of(mode).title),
        )
    return f"{text} ({said.about})" if said.about else text
