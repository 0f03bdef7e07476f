"""Titles of spans and events of a run, for timeline and replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.questions.approval_text import bare_tool
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.domain.events.run import LABELS
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span, TimelineMark

_WAITS = {
    "user": N_("Waiting for you"),
    "approval": N_("Waiting for approval"),
    "parent": N_("Waiting for the parent agent"),
    "children": N_("Waiting for sub-agents"),
}
_PAUSES = {
    "user": N_("Paused"),
    "limit": N_("Limit reached"),
    "loop": N_("Stopped: repeating itself"),
    "step": N_("Paused: step mode"),
    "interrupted": N_("Interrupted"),
}
STATUS_WORDS = {
    "ok": N_("done"),
    "error": N_("failed"),
    "cut_off": N_("cut off"),
    "unknown": N_("effect unknown"),
    "cancelled": N_("stopped"),
    "timeout": N_("timed out"),
    "rejected": N_("rejected"),
    "running": N_("running"),
}
_ENDED = {"cancelled": N_("{name} was stopped"), "abandoned": N_("{name} gave up"), "error": N_("{name} failed")}
"""Endings of a run other than completion."""
_OF_AGENT = frozenset({"run_started", "model_replied", "run_finished"})
_OF_SOMETHING = frozenset(
    {
        "task_changed",
        "approval_requested",
        "approval_decided",
        "child_started",
        "child_finished",
        "child_asked",
        "child_answered",
        "limits_raised",
    }
)
"""Kinds of events followed by the name of their object."""
_NOTABLE: dict[str, Role] = {
    "user_message": "accent",
    "child_started": "accent",
    "child_finished": "accent",
    "question_asked": "warn",
    "approval_requested": "warn",
    "parent_asked": "warn",
    "limit_reached": "warn",
    "loop_detected": "warn",
    "servers_lacking": "warn",
    "run_paused": "warn",
    "run_failed": "err",
    "run_finished": "ok",
}


def span_title(span: Span) -> str:
    """A span in a few words: the tool's title, the model request, or what was waited for."""
    if span.kind == "tool":
        return _(span.title) or bare_tool(span.label)
    if span.kind == "model":
        return _("Model request")
    words = _WAITS if span.kind == "wait" else _PAUSES
    return _(words.get(span.label, _PAUSES["user"] if span.kind == "paused" else _WAITS["user"]))


def bar_title(span: Span) -> str:
    """A span in a word, for a narrow bar."""
    return _("Model") if span.kind == "model" else span_title(span)


def mark_title(mark: TimelineMark, agent: str = "") -> str:
    """An event in a few words; ``agent`` is the name of its run."""
    if mark.kind == "run_paused":
        return _(_PAUSES.get(mark.label, _PAUSES["user"]))
    text = _ENDED.get(mark.label) if mark.kind == "run_finished" else None
    text = text or LABELS.get(mark.kind)
    if text is None:
        return mark.kind.replace("_", " ")
    name = agent if mark.kind in _OF_AGENT else _(mark.title) or bare_tool(mark.label) or agent
    if mark.kind in _OF_SOMETHING:
        return _("{name}: {text}", name=_(text), text=name) if name else _(text)
    return _(text, name=name)


def mark_role(mark: TimelineMark) -> Role | None:
    """The colour of an event that gets a tick of its own, None for ordinary ones."""
    if mark.kind == "run_finished" and mark.label in _ENDED:
        return "err" if mark.label == "error" else "muted"
    return _NOTABLE.get(mark.kind)
