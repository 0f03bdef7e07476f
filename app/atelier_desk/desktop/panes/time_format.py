"""Formatting of times, based on the shared formats of numbers and sizes."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QDateTime

from atelier_desk.desktop.widgets.date_format import locale
from atelier_desk.desktop.widgets.date_format import moment as date_time
from atelier_desk.domain.base_model import utc_now
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.locale_format import NARROW, number, size
from atelier_desk.support.locale_format import cost as money
from atelier_desk.support.locale_format import duration as _duration
from atelier_desk.support.locale_format import tokens as short_number

__all__ = ["ago", "clock_time", "date_time", "duration", "locale", "money", "number", "short_number", "size"]


def duration(ms: float) -> str:
    """A duration; milliseconds if below a tenth of a second."""
    return f"{number(ms)}{NARROW}ms" if ms < 100 else _duration(ms)


def clock_time(when: datetime) -> str:
    """Local time with seconds."""
    return QDateTime.fromMSecsSinceEpoch(round(when.timestamp() * 1000)).toString("HH:mm:ss")


def clock_minutes(when: datetime) -> str:
    """Local time without seconds."""
    return QDateTime.fromMSecsSinceEpoch(round(when.timestamp() * 1000)).toString("HH:mm")


def ago(when: datetime, now: datetime | None = None) -> str:
    """A relative time in words; a date after a week."""
    seconds = ((now or utc_now()) - when).total_seconds()
    if seconds < 60:
        return _("just now")
    if seconds < 3600:
        return ngettext("{n} minute ago", "{n} minutes ago", int(seconds // 60))
    if seconds < 86_400:
        return ngettext("{n} hour ago", "{n} hours ago", int(seconds // 3600))
    if seconds < 7 * 86_400:
        return ngettext("{n} day ago", "{n} days ago", int(seconds // 86_400))
    return date_time(when)
