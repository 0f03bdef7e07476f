"""Numbers, durations, sizes and dates in the reader's language."""

from __future__ import annotations

from datetime import date, datetime

from PySide6.QtCore import QLocale

from atelier_desk.i18n import _, language

NARROW = "\u202f"
"""Narrow no-break space between a number and its unit."""


def locale() -> QLocale:
    """Qt's locale of the program's language."""
    return QLocale(QLocale.Language.French if language() == "fr" else QLocale.Language.English)


def number(value: float, decimals: int = 0) -> str:
    return locale().toString(float(value), "f", decimals)


def duration(milliseconds: float) -> str:
    """``12 ms``, ``0.1 s``, ``12 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if milliseconds < 95:
        return f"{round(milliseconds)}{NARROW}ms"
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{number(seconds, 1)}{NARROW}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NARROW}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}{NARROW}min {rest:02d}{NARROW}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{NARROW}h {minutes:02d}{NARROW}min"


def tokens(count: int) -> str:
    """``850``, ``12.4 k``, ``1.2 M``."""
    if count < 1000:
        return number(count)
    if count < 999_950:
        return f"{number(count / 1000, 1)}{NARROW}k"
    return f"{number(count / 1_000_000, 1)}{NARROW}M"


def cost(dollars: float) -> str:
    """US dollars: four decimals below one cent, two above."""
    text = number(dollars, 2 if dollars >= 0.01 or dollars == 0 else 4)
    return f"{text}{NARROW}$" if language() == "fr" else f"${text}"


def size(count: int) -> str:
    """Bytes in the locale's short form."""
    return locale().formattedDataSize(count, 1, QLocale.DataSizeFormat.DataSizeTraditionalFormat)


def day(value: date) -> str:
    """A long date, for headings."""
    from PySide6.QtCore import QDate

    return locale().toString(QDate(value.year, value.month, value.day), QLocale.FormatType.LongFormat)


def moment(value: datetime) -> str:
    """Date and time in the local time zone, short."""
    from PySide6.QtCore import QDateTime

    stamp = QDateTime.fromSecsSinceEpoch(int(value.timestamp()))
    return locale().toString(stamp, QLocale.FormatType.ShortFormat)


def percent(share: float) -> str:
    """A share of one as a whole percentage."""
    return _("{number} %", number=number(share * 100))
