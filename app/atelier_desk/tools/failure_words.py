"""Why a call failed, in the reader's language, where that is known; what the model reads of the same is in its result."""

from __future__ import annotations

from typing import Any

from atelier_desk.i18n import _, language


def timed_out(result: Any) -> bool:
    """Whether a call's result says that it was stopped because its time was over."""
    return isinstance(result, dict) and result.get("code") == "timeout"


def explain(tool: str, result: Any, error: str) -> str:
    """What to show a person for ``error``, the text that was written for the model."""
    seconds = result.get("timeout_s") if timed_out(result) else None
    if not isinstance(seconds, int | float):
        return error
    from babel.numbers import format_decimal

    shown = format_decimal(seconds, locale=language())
    return _("{tool} took longer than {seconds} s and was stopped.", tool=tool, seconds=shown)
