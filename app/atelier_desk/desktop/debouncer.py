"""A moment later, and once for many calls."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Debouncer(QTimer):
    """Runs ``action`` ``ms`` milliseconds after the first ``ask``; what is asked until then is served by the same run.
    ``start`` puts it off instead: it runs ``ms`` after the last call, as while somebody types."""

    def __init__(self, parent: QObject, ms: int, action: Callable[[], object]) -> None:
        super().__init__(parent)
        self.setSingleShot(True)
        self.setInterval(ms)
        self.timeout.connect(action)

    def ask(self) -> None:
        if not self.isActive():
            self.start()
