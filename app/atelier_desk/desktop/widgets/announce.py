"""What a screen reader says although the focus stays where it is: an answer came, a question waits."""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, text: str, *, urgent: bool = False) -> None:
    """Have ``text`` spoken after what is being said, or at once when ``urgent``; nothing happens while no screen reader listens."""
    event = QAccessibleAnnouncementEvent(widget, text)
    event.setPoliteness(QAccessible.AnnouncementPoliteness.Assertive if urgent else QAccessible.AnnouncementPoliteness.Polite)
    QAccessible.updateAccessibility(event)
