"""Text of an approval request on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atelier_desk.domain.approval import NOBODY_TO_ASK, ApprovalRequest, ApprovalStatus, OnTimeout
from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.permission import Holds, RuleScope
from atelier_desk.presentation.permission_rule_text import always_text
from atelier_desk.presentation.undo_availability_text import undo_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import shorten, visible, visible_json

SHOWN = 160
"""Characters of a call and of its result on its line."""
REASONS = {
    "manual": N_("the profile asks before every call"),
    "selective": N_("the profile asks before calls of this kind"),
    "risk_high": N_("high-risk calls always need approval"),
    "repaired": N_("the arguments had to be repaired"),
    "protected": N_("the call changes a file that programs run or that contains instructions for agents"),
    "unparsed": N_("the command could not be parsed"),
    "opaque": N_("the call starts other programs or a script, whose effects cannot be checked"),
    "installs": N_("the call installs a package, whose scripts run on this computer"),
    "altered": N_(
        "the server has changed the description of this tool since you approved it; to review the change: "
        "atelier mcp tools SERVER"
    ),
    "unconfined": N_("the call would run outside the sandbox or with network access"),
    "repository": N_(
        "the git settings of this repository may run programs or use files outside it; an approval is valid until "
        "these settings change"
    ),
    "denied": N_("the call could access data that a rule denies access to, and this system cannot prevent it"),
    "tainted": N_(
        "the call sends data out or writes outside the workspace, and the team has read from untrusted sources"
    ),
}
"""The rule that asked, by ``ApprovalRequest.reason``."""
RISKS = {"low": N_("low risk"), "medium": N_("medium risk"), "high": N_("high risk")}
STATES = {
    "pending": N_("waiting"),
    "approved": N_("approved"),
    "rejected": N_("rejected"),
    "cancelled": N_("cancelled"),
}
DECIDERS = {"user": N_("by you"), "timeout": N_("no decision was made in time"), "stop": N_("the run was stopped")}
TIMEOUTS = {
    OnTimeout.REJECT: N_("Rejected if there is no decision within {seconds} s."),
    OnTimeout.APPROVE: N_("Approved if there is no decision within {seconds} s."),
    OnTimeout.ASK_AGAIN: N_("You will be asked again if you do not decide within {seconds} s."),
}


def reason(code: str) -> str:
    """The rule that asked, in words; an unknown code is returned unchanged."""
    return _(REASONS[code]) if code in REASONS else code


def risk(asked: ApprovalRequest) -> str:
    """Risk of a call; always high when a repository's own settings could start programs."""
    name = "high" if asked.reason == "repository" else asked.risk
    return _(RISKS[name]) if name in RISKS else name


def lineage(above: Sequence[Any], name: str) -> str:
    """Agents from the root to the requesting one.

    ``above`` holds ``Ancestor`` or their JSON objects.
    """
    names = [each["agent_name"] if isinstance(each, dict) else each.agent_name for each in above]
    return " → ".join([*names, name or _("The agent")])


def call_text(shown: Presentation, tool: str, arguments: object, *, over: bool = False) -> str:
    """A call on one line: its tool's words, else its title or name, with the arguments."""
    words = shown.words(over=over)
    return (
        short(words.localized(_))
        if words.parts(_)[0]
        else " ".join(filter(None, (_(shown.title) or tool, short(arguments))))
    )


def asked_for(asked: ApprovalRequest) -> str:
    """The call of a request on one line, in its tool's words."""
    return call_text(asked.presentation, asked.tool, asked.arguments)


def short(value: Any) -> str:
    """A value on one line of at most ``SHOWN`` characters; empty for an empty value."""
    if value in (None, {}, ""):
        return ""
    text = visible(value) if isinstance(value, str) else visible_json(value)
    text = " ".join(text.split())
    return shorten(text, SHOWN)


def outcome(asked: ApprovalRequest) -> str:
    """Outcome of a request: by whom and why."""
    return decision(asked.status.value, asked.decided_by, asked.note)


def decision(status: str, decided_by: str, note: str = "", edited: bool = False) -> str:
    """A state and the reason for it; only a person's reason: the program's are for agents."""
    text = _(STATES[status]) if status in STATES else status
    decider = N_("there was nobody to ask") if note == NOBODY_TO_ASK else DECIDERS.get(decided_by, "")
    if decider:
        text += f" ({_(decider)})"
    if edited:
        text += ", " + _("with edited arguments")
    own_reason = note if decided_by == "user" and note != NOBODY_TO_ASK else ""
    return _("{name}: {text}", name=text, text=own_reason) if own_reason else text


def folder_text(where: Holds) -> str:
    """The folder that "this folder" means, appended to a choice; otherwise empty."""
    return f" ({where.scope_id})" if where.scope is RuleScope.FOLDER else ""


def described(asked: ApprovalRequest) -> list[str]:
    """Lines with everything needed to decide: agent, call, reason, arguments, timeout."""
    lines = [
        _(
            "{agents} asks for your approval: {call}",
            agents=lineage(asked.lineage, asked.agent_name),
            call=asked_for(asked),
        ),
        f"  {risk(asked)} · {reason(asked.reason)}" + (f" ({asked.about})" if asked.about else ""),
    ]
    if asked.status is ApprovalStatus.PENDING and (undo := undo_text(asked)):
        lines.append(f"  {undo}")
    if asked.server:
        lines.append("  " + _("Server: {name}", name=asked.server))
    if asked.round > 1:
        lines.append("  " + _("Asked {count} times", count=asked.round))
    lines += [f"  {line}" for line in visible_json(asked.arguments, 2).split("\n")]
    if asked.always and asked.status is ApprovalStatus.PENDING:
        lines.append(f"  {always_text(asked.holds, ' · '.join(asked.always))}{folder_text(asked.holds)}")
    if asked.timeout_s and asked.status is ApprovalStatus.PENDING:
        left = max(0.0, asked.timeout_s - asked.seen_ms / 1000)
        lines.append("  " + _(TIMEOUTS[asked.on_timeout], seconds=round(left)))
    return lines
