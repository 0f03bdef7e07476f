"""Reminders of pending items: nothing is decided automatically, so nothing may be forgotten."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

MINUTE_MS = 60_000


class Reminder(QTimer):
    """Runs ``remind`` at intervals while items are pending.

    A new item restarts the interval, as it was just announced.
    """

    def __init__(self, parent: QObject, remind: Callable[[], object]) -> None:
        super().__init__(parent)
        self._count = 0
        self.timeout.connect(remind)

    def set_minutes(self, minutes: int) -> None:
        """Set the interval in minutes; 0 for never."""
        if self.interval() != minutes * MINUTE_MS:
            self.setInterval(minutes * MINUTE_MS)
            self._turn()

    def set_waiting(self, count: int) -> None:
        """Set the number of pending items."""
        more, self._count = count > self._count, count
        if more or not count:
            self._turn()

    def _turn(self) -> None:
        if self._count and self.interval():
            self.start()
        else:
            self.stop()
