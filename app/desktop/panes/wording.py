"""Numbers, sizes, times and money as a reader of the current language writes them."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QDateTime, QLocale

from app.domain.base import utc_now
from app.i18n import _, language, ngettext


def locale() -> QLocale:
    """Qt's rules for the current language."""
    return QLocale(QLocale.Language.French, QLocale.Country.France) if language() == "fr" else QLocale(QLocale.Language.English)


def number(value: int) -> str:
    """``12,400`` or ``12 400``."""
    return locale().toString(int(value))


def decimal(value: float, places: int = 1) -> str:
    """A number with a fixed count of decimals."""
    return locale().toString(float(value), "f", places)


def short_number(value: int) -> str:
    """``950``, ``12.4 k``, ``1.2 M``."""
    if value < 1_000:
        return number(value)
    if value < 1_000_000:
        return _("{number} k", number=decimal(value / 1_000))
    return _("{number} M", number=decimal(value / 1_000_000))


def size(count: int | None) -> str:
    """Bytes in decimal units, as disks and downloads are sold."""
    if count is None:
        return ""
    return locale().formattedDataSize(count, 1, QLocale.DataSizeFormat.DataSizeSIFormat)


def duration(ms: float) -> str:
    """``40 ms``, ``0.4 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if ms < 100:
        return _("{number} ms", number=number(round(ms)))
    seconds = ms / 1000
    if seconds < 60:
        return _("{number} s", number=decimal(seconds))
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return _("{minutes} min {seconds} s", minutes=minutes, seconds=f"{rest:02d}")
    return _("{hours} h {minutes} min", hours=minutes // 60, minutes=f"{minutes % 60:02d}")


def money(dollars: float) -> str:
    """US dollars, with as many decimals as a small amount needs."""
    return _("${amount}", amount=decimal(dollars, 2 if dollars >= 0.1 or dollars == 0 else 4))


def date_time(when: datetime) -> str:
    """Local date and time, short."""
    return locale().toString(QDateTime.fromMSecsSinceEpoch(round(when.timestamp() * 1000)), QLocale.FormatType.ShortFormat)


def clock_time(when: datetime) -> str:
    """Local time with seconds."""
    return QDateTime.fromMSecsSinceEpoch(round(when.timestamp() * 1000)).toString("HH:mm:ss")


def ago(when: datetime, now: datetime | None = None) -> str:
    """How long ago, roughly; a date when it is more than a week."""
    seconds = ((now or utc_now()) - when).total_seconds()
    if seconds < 60:
        return _("just now")
    if seconds < 3600:
        minutes = int(seconds // 60)
        return ngettext("{n} minute ago", "{n} minutes ago", minutes)
    if seconds < 86_400:
        return ngettext("{n} hour ago", "{n} hours ago", int(seconds // 3600))
    if seconds < 7 * 86_400:
        return ngettext("{n} day ago", "{n} days ago", int(seconds // 86_400))
    return date_time(when)
