"""Numbers, durations and money as a person reads them in a terminal, in the language of the program. No Qt."""

from __future__ import annotations

from atelier_desk.i18n import language

NARROW = "\u202f"
"""Narrow no-break space, between the thousands of a French number and before a unit."""


def number(value: float, decimals: int = 0) -> str:
    """``12,345.6`` in English, ``12 345,6`` in French."""
    text = f"{value:,.{decimals}f}"
    return text.replace(",", NARROW).replace(".", ",") if language() == "fr" else text


def duration(milliseconds: float) -> str:
    """``12 ms``, ``0.5 s``, ``12 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if milliseconds < 95:
        return f"{round(milliseconds)} ms"
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{number(seconds, 1)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def cost(dollars: float) -> str:
    """US dollars: four decimals below one cent, two above."""
    text = number(dollars, 2 if dollars >= 0.01 or dollars == 0 else 4)
    return f"{text} $" if language() == "fr" else f"${text}"


def amount(kind: str, value: float) -> str:
    """A value of a limit in its own unit; ``kind`` is a ``LimitKind`` value."""
    if kind == "cost":
        return cost(value)
    return duration(value * 1000) if kind == "time" else number(value)
