"""A debounced call: many requests, one execution."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Debouncer(QTimer):
    """Runs ``action`` ``ms`` milliseconds after the first ``ask``; further requests until then share that run.

    ``start`` restarts the delay instead: the action runs ``ms`` after the last call, for example while the user
    types.
    """

    def __init__(self, parent: QObject, ms: int, action: Callable[[], object]) -> None:
        super().__init__(parent)
        self.setSingleShot(True)
        self.setInterval(ms)
        self.timeout.connect(action)

    def ask(self) -> None:
        if not self.isActive():
            self.start()
