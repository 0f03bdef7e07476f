"""Numbers, durations and amounts for people: rounded, and as the reader's language writes them.

By hand and not with Babel, whose import takes longer than many a listing: the program has two languages.
"""

from __future__ import annotations

from atelier_desk.i18n import language

_FRENCH = str.maketrans({",": "\u202f", ".": ","})
"""French writes a narrow no-break space between thousands and a comma before decimals."""


def number(value: float, decimals: int = 0) -> str:
    """``12,345.6`` or ``12 345,6``; at most ``decimals`` places, and none that say nothing."""
    text = f"{value:,.{decimals}f}"
    return _written(text.rstrip("0").rstrip(".") if decimals else text)


def duration(milliseconds: float) -> str:
    """``12 ms``, ``0.8 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if milliseconds < 95:
        return f"{round(milliseconds)} ms"
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{number(seconds, 1)} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def dollars(amount: float) -> str:
    """``$1.25``, ``$0.0032``; in French ``1,25 $``: two places, four below one cent."""
    text = _written(f"{amount:,.2f}" if amount >= 0.01 or not amount else f"{amount:.4f}")
    return f"{text} $" if language() == "fr" else f"${text}"


def _written(text: str) -> str:
    return text.translate(_FRENCH) if language() == "fr" else text
