"""Permission rules in words: effect, scope, last use, and what decided a call."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.permission import Action, PermissionRule, Verdict
from atelier_desk.engine.services.permissions import UNUSED_AFTER
from atelier_desk.presentation.permission_profiles import Profile
from atelier_desk.presentation.permission_rule_text import DOES, verdict_text, where_text
from atelier_desk.support.i18n import _
from atelier_desk.workspace.repository_inspection import RULE as GIT_SETTINGS

ACTIONS = DOES
KINDS: dict[Action, PillKind] = {Action.ALLOW: "ok", Action.ASK: "warn", Action.DENY: "err"}


def scope(rule: PermissionRule, names: Mapping[str, str]) -> str:
    """A rule's scope; ``names`` maps workflow and agent ids to names."""
    return where_text(rule.where, names.get(rule.scope_id, ""))


def repository(rule: PermissionRule) -> str:
    """The git repository whose settings a rule allows; empty for other rules. Its path follows the hash."""
    name, _bracket, rest = rule.text.partition("(")
    return rest.removesuffix(")").partition(" ")[2] if name == GIT_SETTINGS else ""


def used(rule: PermissionRule) -> str:
    """When it last decided a call."""
    return _("used {when}", when=ago(rule.last_matched_at)) if rule.last_matched_at else _("never used")


def unused(rule: PermissionRule, now: datetime | None = None) -> bool:
    """Whether it was unused for so long that it may be superfluous."""
    return rule.used_or_made < (now or utc_now()) - UNUSED_AFTER


def verdict(decision: Verdict, profile: Profile) -> str:
    """The outcome of a call, and what decides it."""
    return verdict_text(decision, profile.mode)
