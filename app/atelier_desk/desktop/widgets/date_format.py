"""Long dates formatted by Qt; other formats are in ``atelier_desk.support.locale_format``."""

from __future__ import annotations

from datetime import date, datetime

from PySide6.QtCore import QDate, QLocale

from atelier_desk.support.i18n import language
from atelier_desk.support.locale_format import day as short_date
from atelier_desk.support.locale_format import moment

__all__ = ["day", "locale", "moment", "short_day", "short_moment"]


def locale() -> QLocale:
    """Qt's locale of the program's language."""
    return QLocale(language())


def day(value: date) -> str:
    """A long date, for headings."""
    return locale().toString(QDate(value.year, value.month, value.day), QLocale.FormatType.LongFormat)


def short_moment(value: datetime) -> str:
    """The time if today, else date and time."""
    return _time_today(value) or moment(value)


def short_day(value: datetime) -> str:
    """The time if today, else only the date, where there is no room for both."""
    return _time_today(value) or short_date(value.astimezone())


def _time_today(value: datetime) -> str:
    local = value.astimezone()
    return local.strftime("%H:%M") if local.date() == datetime.now().astimezone().date() else ""
