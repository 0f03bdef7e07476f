"""Labels and icons of an agent's state."""

from __future__ import annotations

from atelier_desk.desktop.chat.markdown.plain_text import one_line
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.presentation.rows.team_state import AgentUsage, Member
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import cost, duration, tokens
from atelier_desk.support.visible_and_shortened_text import visible

RUN_WORDS = {
    "planned": N_("planned"),
    "not_run": N_("not run"),
    "processing": N_("running"),
    "awaiting_user": N_("waiting for you"),
    "awaiting_approval": N_("waiting for approval"),
    "awaiting_children": N_("waiting for sub-agents"),
    "awaiting_parent": N_("asking its parent agent"),
    "waiting": N_("waiting for you"),
    "paused": N_("paused"),
    "interrupted": N_("interrupted"),
    "limited": N_("limit reached"),
    "completed": N_("done"),
    "error": N_("failed"),
    "cancelled": N_("stopped"),
    "abandoned": N_("gave up"),
}
_PAUSE_WORDS = {
    "limit": N_("limit reached"),
    "loop": N_("paused: repeating itself"),
    "step": N_("paused: step mode"),
}
STATE_ICONS: dict[str, tuple[str, Role, PillKind]] = {
    "planned": ("circle-dashed", "muted", ""),
    "not_run": ("minus", "muted", ""),
    "processing": ("loader-circle", "accent", "accent"),
    "awaiting_user": ("circle-help", "warn", "warn"),
    "awaiting_approval": ("shield", "warn", "warn"),
    "awaiting_children": ("users", "accent", "accent"),
    "awaiting_parent": ("message-square", "warn", "warn"),
    "paused": ("pause", "warn", "warn"),
    "interrupted": ("power", "warn", "warn"),
    "completed": ("check", "ok", "ok"),
    "error": ("circle-x", "err", "err"),
    "cancelled": ("circle-stop", "muted", ""),
    "abandoned": ("x", "muted", ""),
}


def state_text(member: Member) -> str:
    """The state in up to three words."""
    if member.status == "paused" and member.pause in _PAUSE_WORDS:
        return _(_PAUSE_WORDS[member.pause])
    return _(RUN_WORDS.get(member.status, member.status))


def state_icon(member: Member) -> tuple[str, Role, PillKind]:
    """Icon, its colour, and the pill style of the state."""
    if member.at_limit:
        return "octagon-x", "warn", "warn"
    return STATE_ICONS.get(member.status, ("circle-help", "warn", "warn"))


def doing(member: Member) -> str:
    """Its current activity: command, tool or question; empty if the state says it all."""
    if member.over:
        return member.error if member.status == "error" else ""
    if (current := member.current_call) is not None:
        words = one_line(current.localized(_))
        return words if current.params and current.parts(_)[0] else " · ".join((_(member.current_tool), words))
    return _(member.current_tool) or one_line(member.question) or one_line(next(iter(member.questions.values()), ""))


def figures(usage: AgentUsage) -> str:
    """Elapsed time, tokens and cost, if any."""
    parts = [duration(usage.elapsed_ms)] if usage.elapsed_ms else []
    if usage.tokens:
        parts.append(ngettext("{number} token", "{number} tokens", usage.tokens, number=tokens(usage.tokens)))
    if usage.cost:
        parts.append(cost(usage.cost))
    return " · ".join(parts)


def task(member: Member) -> str:
    """Its task in a few words, without Markdown."""
    return one_line(member.title)


def spoken(member: Member, usage: AgentUsage) -> str:
    """All texts of a row, for a screen reader."""
    return visible(
        ", ".join(filter(None, (member.name or _("Agent"), state_text(member), doing(member), figures(usage))))
    )
