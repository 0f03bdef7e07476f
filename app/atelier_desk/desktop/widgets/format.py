"""Dates as Qt writes them in the reader's language; numbers, sizes and durations are in ``atelier_desk.figures``."""

from __future__ import annotations

from datetime import date, datetime

from PySide6.QtCore import QLocale

from atelier_desk.i18n import language


def locale() -> QLocale:
    """Qt's locale of the program's language."""
    return QLocale(QLocale.Language.French if language() == "fr" else QLocale.Language.English)


def day(value: date) -> str:
    """A long date, for headings."""
    from PySide6.QtCore import QDate

    return locale().toString(QDate(value.year, value.month, value.day), QLocale.FormatType.LongFormat)


def short_moment(value: datetime) -> str:
    """The time of today, else the date with it."""
    local = value.astimezone()
    return local.strftime("%H:%M") if local.date() == datetime.now().astimezone().date() else moment(value)


def moment(value: datetime) -> str:
    """Date and time in the local time zone, short."""
    from PySide6.QtCore import QDateTime

    stamp = QDateTime.fromSecsSinceEpoch(int(value.timestamp()))
    return locale().toString(stamp, QLocale.FormatType.ShortFormat)
