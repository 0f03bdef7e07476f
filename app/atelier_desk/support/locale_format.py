"""Numbers, dates, durations and amounts for people, in the current language's format.

The format is part of the language's catalogue, so a new language needs only a catalogue. Uses neither Babel,
whose import takes longer than many commands, nor Qt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from functools import wraps
from typing import ParamSpec

from atelier_desk.support.i18n import N_, _, ngettext

NARROW = "\u202f"
"""Narrow no-break space between a number and its unit, and between thousands in French."""
SIZES = (N_("kB"), N_("MB"), N_("GB"), N_("TB"))
"""Units, each 1 024 times the previous one; the first is 1 024 bytes."""

UNKNOWN = "?"
"""Stands for a value that cannot be written: not a number, or beyond all limits."""
P = ParamSpec("P")


def _or_unknown(write: Callable[P, str]) -> Callable[P, str]:
    """Make a function return ``UNKNOWN`` for stored values that no program of ours wrote."""

    @wraps(write)
    def written(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return write(*args, **kwargs)
        except (ArithmeticError, TypeError, ValueError):
            return UNKNOWN

    return written


@_or_unknown
def number(value: float, decimals: int = 0, *, trim: bool = False) -> str:
    """``12,345.60`` or ``12 345,60``; ``trim`` omits trailing zeros."""
    text = f"{value:,.{decimals}f}"
    if not math.isfinite(value):
        return UNKNOWN
    if trim and decimals:
        text = text.rstrip("0").rstrip(".")
    example = _("1,234.5")  # shows this language's separators of thousands and decimals
    return text.translate({ord(","): example[1:-5], ord("."): example[-2]})


@_or_unknown
def duration(milliseconds: float) -> str:
    """``12 ms``, ``0.8 s``, ``12 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if milliseconds < 95:
        return f"{round(milliseconds)}{NARROW}ms"
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{number(seconds, 1)}{NARROW}s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest}{NARROW}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{NARROW}h {minutes:02d}{NARROW}min" if hours else f"{minutes}{NARROW}min {rest:02d}{NARROW}s"


@_or_unknown
def day(value: date) -> str:
    """``2026-11-28``, ``28/11/2026``; of an aware time, its day in the local time zone."""
    if isinstance(value, datetime):
        value = value.astimezone()
    return _("{year}-{month}-{day}", year=f"{value.year:04d}", month=f"{value.month:02d}", day=f"{value.day:02d}")


@_or_unknown
def moment(at: datetime) -> str:
    """Local date and time: ``2026-11-28 09:30``, ``28/11/2026 à 09:30``; ``at`` is aware."""
    local = at.astimezone()
    return _("{day} {time}", day=day(local), time=f"{local:%H:%M}")


@_or_unknown
def tokens(count: int) -> str:
    """``850``, ``12.4 k``, ``1.2 M``."""
    if count < 1000:
        return number(count)
    if count < 999_950:
        return f"{number(count / 1000, 1)}{NARROW}k"
    return f"{number(count / 1_000_000, 1)}{NARROW}M"


@_or_unknown
def size(count: int) -> str:
    """Bytes as ``1 byte``, ``900 bytes``, ``1.5 kB``, ``12 MB``; ``1,5 ko`` in French."""
    if count < 1024:
        return ngettext("{n} byte", "{n} bytes", int(count))
    amount, unit = count / 1024, 0
    while amount >= 1023.95 and unit < len(SIZES) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{number(amount, 1, trim=True)}{NARROW}{_(SIZES[unit])}"


def more_characters(count: int) -> str:
    """How much of a text is not shown: "… 10,000 more characters"."""
    return ngettext("… {count} more character", "… {count} more characters", count, count=number(count))


@_or_unknown
def cost(dollars: float) -> str:
    """US dollars, ``$1.25`` or ``1,25 $``: two decimals, four below one cent."""
    return _("${amount}", amount=number(dollars, 2 if dollars >= 0.01 or not dollars else 4))


@_or_unknown
def cost_bound(dollars: float, *, up: bool) -> str:
    """US dollars to four decimals, two from $1, rounded ``up`` or down.

    Rounding a need up keeps it from looking less than a balance.
    """
    places = 2 if dollars >= 1 else 4
    rounded = (math.ceil if up else math.floor)(round(dollars * 10**places, 6))
    return _("${amount}", amount=number(rounded / 10**places, places))


@_or_unknown
def percent(share: float) -> str:
    """A fraction as an integer percentage."""
    return _("{number}%", number=number(share * 100))
