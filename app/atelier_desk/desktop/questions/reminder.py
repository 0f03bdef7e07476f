"""A word about what still waits for a person: nothing is decided by itself, so nothing may be forgotten either."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

MINUTE_MS = 60_000


class Reminder(QTimer):
    """Runs ``remind`` every so many minutes while something waits; what comes in starts the time anew, because it was just told of."""

    def __init__(self, parent: QObject, remind: Callable[[], object]) -> None:
        super().__init__(parent)
        self._count = 0
        self.timeout.connect(remind)

    def set_minutes(self, minutes: int) -> None:
        """How long it waits; 0 never reminds."""
        if self.interval() != minutes * MINUTE_MS:
            self.setInterval(minutes * MINUTE_MS)
            self._turn()

    def set_waiting(self, count: int) -> None:
        """How much waits now."""
        more, self._count = count > self._count, count
        if more or not count:
            self._turn()

    def _turn(self) -> None:
        if self._count and self.interval():
            self.start()
        else:
            self.stop()
