"""The texts of a tool call's card: its head, and the parts shown when opened. No Qt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from atelier_desk.desktop.questions.approval_text import bare_tool
from atelier_desk.presentation import call_failure_text
from atelier_desk.presentation.rows.transcript_entries import UNDER_WAY, Call, QuestionRow
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import duration
from atelier_desk.support.visible_and_shortened_text import shorten, visible, visible_json
from atelier_desk.tools.definition.call_description import summary_of
from atelier_desk.tools.registry.sections import SHELL

SHOWN_CHARS = 20_000
"""Maximum characters of arguments or result in the card; the activity pane exports all."""
MAX_NAME = 200
"""Maximum characters of a task's name in a head."""
_CHOICES = frozenset({"operation", "type", "scope", "mode", "questionType"})
"""Parameters whose values are keywords of the tool."""
_CODE = re.compile(r"[A-Za-z_]+")
WORDS = "words"
"""In place of a language: prose, which wraps at the card's edge."""


def pretty(value: object) -> str:
    """A value as indented JSON, cut to what a card shows."""
    text = visible(value) if isinstance(value, str) else visible_json(value, 2)
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "\n…"


def call_title(call: Call) -> str:
    """The tool's display name."""
    return _(call.presentation.title) or bare_tool(call.tool)


def informative_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """The argument values useful to a person: neither the operation of the tool nor codes like ``user_pref``."""
    return {name: value for name, value in arguments.items() if name not in _CHOICES or not _CODE.fullmatch(str(value))}


def call_text(call: Call, asked: QuestionRow | None = None) -> tuple[str, str]:
    """The head's text: what is done with what, as described by the tool; else its name and arguments.

    Args:
        asked: the call's question, shown in full below the head.
    """
    shown = call.presentation
    over = call.status == "ok" if asked is None else asked.status != "pending"
    text = shown.words(over=over) if shown.summary.text else summary_of(informative_arguments(call.arguments))
    first, rest = text.parts(_)
    if over and not rest and isinstance(call.result, dict) and isinstance(task := call.result.get("task"), dict):
        rest = visible(shorten(str(task.get("name", "")), MAX_NAME))  # its input only has the id
    return first or call_title(call), "" if asked is not None else rest


def command_end(call: Call) -> tuple[str, Literal["", "err"]] | None:
    """How a command ended and how long it took, if it did not succeed; None for other calls."""
    result = call.result
    if call.section != SHELL or not isinstance(result, dict) or call.status not in {"error", "timeout", "cancelled"}:
        return None
    ms = result.get("duration_ms")
    elapsed = duration(ms if isinstance(ms, int) else call.duration_ms)
    if call_failure_text.stopped_by_user(result):
        return _("stopped by you · {time}", time=elapsed), ""
    if result.get("code") == "timeout":
        return _("timed out · {time}", time=elapsed), "err"
    if isinstance(status := result.get("exit_status"), int):
        return _("exit status {number} · {time}", number=status, time=elapsed), "err"
    return None


def details_of(call: Call) -> list[tuple[str, str, str]]:
    """The parts of an open card: title, text and language or ``WORDS``. The result follows when the call has ended."""
    found = [(_("Arguments"), pretty(call.arguments), "json")]
    if call.status in UNDER_WAY:
        return found
    # The card shows who rejected it and why; the error is written for the agent.
    if call.error and call.status != "rejected":
        title = _("Error")
        if call_failure_text.stopped_by_user(call.result) or call_failure_text.denied_by(call.result):
            title = _("Stopped") if call_failure_text.stopped_by_user(call.result) else _("Denied")
        found.append((title, call_failure_text.explain(call_title(call), call.result, call.error), WORDS))
    if call.result is not None:
        title = _("Result (truncated)") if call.truncated else _("Result")
        found.append((title, pretty(call.result), "" if isinstance(call.result, str) else "json"))
    return found
