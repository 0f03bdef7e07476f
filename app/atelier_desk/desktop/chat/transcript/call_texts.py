"""What the card of a call says, as text: the words of its head, and what stands in it when it is opened. No Qt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from atelier_desk.desktop.chat.transcript.entries import UNDER_WAY, Call, QuestionRow
from atelier_desk.desktop.questions.approval_text import bare_tool
from atelier_desk.support.i18n import _
from atelier_desk.support.number_format import duration
from atelier_desk.support.text import visible, visible_json
from atelier_desk.tools import failure_text
from atelier_desk.tools.call import summary_of
from atelier_desk.tools.sections import SHELL

SHOWN_CHARS = 20_000
"""Characters of arguments or result the card shows; the activity pane exports the rest."""
_CHOICES = frozenset({"operation", "type", "scope", "mode", "questionType"})
"""Parameters that take one of a few words of the tool."""
_CODE = re.compile(r"[A-Za-z_]+")
WORDS = "words"
"""In place of a language: sentences for people, whose lines are broken where the card ends."""


def pretty(value: Any) -> str:
    """A value as indented JSON, cut to what a card shows."""
    text = visible(value) if isinstance(value, str) else visible_json(value, 2)
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "\n…"


def call_title(call: Call) -> str:
    """The tool's name for people."""
    return _(call.presentation.title) or bare_tool(call.tool)


def informative_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """The values that tell a person something: not which operation of its tool a call is, nor a code like ``user_pref``."""
    return {name: value for name, value in arguments.items() if name not in _CHOICES or not _CODE.fullmatch(str(value))}


def call_text(call: Call, asked: QuestionRow | None = None) -> tuple[str, str]:
    """What the head says: what is done and with what, in the words of the tool; else its name and the values it was given.

    Args:
        asked: what the call asks the person, which stands whole below the head.
    """
    shown = call.presentation
    over = call.status == "ok" if asked is None else asked.status != "pending"
    said = shown.words(over=over) if shown.summary.text else summary_of(informative_arguments(call.arguments))
    first, rest = said.parts(_)
    return first or call_title(call), "" if asked is not None else rest


def command_end(call: Call) -> tuple[str, Literal["", "err"]] | None:
    """How a command came to its end and how long it took, when that was not well; None for other calls."""
    result = call.result
    if call.section != SHELL or not isinstance(result, dict) or call.status not in {"error", "timeout", "cancelled"}:
        return None
    ms = result.get("duration_ms")
    took = duration(ms if isinstance(ms, int) else call.duration_ms)
    if failure_text.stopped_by_user(result):
        return _("stopped by you · {time}", time=took), ""
    if result.get("code") == "timeout":
        return _("timed out · {time}", time=took), "err"
    if isinstance(status := result.get("exit_status"), int):
        return _("exit status {number} · {time}", number=status, time=took), "err"
    return None


def details_of(call: Call) -> list[tuple[str, str, str]]:
    """What an open card shows: title, text and language of each part, or ``WORDS``. What it gave comes when it is over."""
    found = [(_("Arguments"), pretty(call.arguments), "json")]
    if call.status in UNDER_WAY:
        return found
    if call.error and call.status != "rejected":  # the card says who rejected it and why; the error is written for the agent
        title = _("Error")
        if failure_text.stopped_by_user(call.result) or failure_text.denied_by(call.result):
            title = _("Stopped") if failure_text.stopped_by_user(call.result) else _("Denied")
        found.append((title, failure_text.explain(call_title(call), call.result, call.error), WORDS))
    if call.result is not None:
        title = _("Result (truncated)") if call.truncated else _("Result")
        found.append((title, pretty(call.result), "" if isinstance(call.result, str) else "json"))
    return found
