"""Permission rules in a person's words: what a rule does, where it holds, when it was used last, and what decided a call."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atelier_desk.desktop.panes.wording import ago
from atelier_desk.desktop.questions.approval_wording import REASONS
from atelier_desk.desktop.widgets.basic import PillKind
from atelier_desk.domain.base import utc_now
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope, Verdict
from atelier_desk.i18n import N_, _
from atelier_desk.profile_words import Profile

ACTIONS = {Action.ALLOW: N_("Allow"), Action.ASK: N_("Ask"), Action.DENY: N_("Forbid")}
KINDS: dict[Action, PillKind] = {Action.ALLOW: "ok", Action.ASK: "warn", Action.DENY: "err"}


def scope(rule: PermissionRule, names: Mapping[str, str]) -> str:
    """Where a rule holds; ``names`` are those of workflows and agents by their ids."""
    name = names.get(rule.scope_id, rule.scope_id)
    if rule.scope is RuleScope.WORKFLOW:
        return _("In the workflow {name}", name=name)
    if rule.scope is RuleScope.AGENT:
        return _("For the agent {name}", name=name)
    return _("In one run") if rule.scope is RuleScope.RUN else _("Everywhere")


def used(rule: PermissionRule) -> str:
    """When it decided a call last."""
    return _("used {when}", when=ago(rule.last_matched_at)) if rule.last_matched_at else _("never used")


def unused(rule: PermissionRule, now: datetime | None = None) -> bool:
    """Whether it decided nothing for so long that it may be superfluous."""
    from atelier_desk.engine.services.permissions import UNUSED_AFTER

    return rule.used_or_made < (now or utc_now()) - UNUSED_AFTER


def verdict(said: Verdict, profile: Profile) -> str:
    """What would become of a call, and what decides it."""
    action = _(ACTIONS[said.action])
    if said.rule:
        text = _("{action}: the rule “{rule}” decides.", action=action, rule=said.rule)
    elif said.reason in REASONS:
        text = _("{name}: {text}", name=action, text=_(REASONS[said.reason]))
    else:
        text = _("{action}: no rule is about it, so the profile “{profile}” decides.", action=action, profile=_(profile.title))
    return f"{text} ({said.about})" if said.about else text
