"""Screen reader announcements that do not move the focus: an answer arrived, a question waits."""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, text: str, *, urgent: bool = False) -> None:
    """Announce ``text`` after the current speech, or at once if ``urgent``; no effect without a screen reader."""
    event = QAccessibleAnnouncementEvent(widget, text)
    event.setPoliteness(
        QAccessible.AnnouncementPoliteness.Assertive if urgent else QAccessible.AnnouncementPoliteness.Polite
    )
    QAccessible.updateAccessibility(event)
