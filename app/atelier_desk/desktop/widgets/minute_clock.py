"""Keeps relative times ("2 minutes ago") current."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

MINUTE_MS = 60_000


class MinuteClock(QTimer):
    """Calls ``refresh`` when a widget is shown, and every minute while it is visible.

    ``refresh`` leaves alone what did not change: rows of a list are repainted, and lose a tool tip, if set again.
    """

    def __init__(self, widget: QWidget, refresh: Callable[[], object]) -> None:
        super().__init__(widget)
        self.setInterval(MINUTE_MS)
        self.timeout.connect(refresh)
        self._refresh = refresh
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._refresh()
            self.start()
        elif event.type() == QEvent.Type.Hide:
            self.stop()
        return False
