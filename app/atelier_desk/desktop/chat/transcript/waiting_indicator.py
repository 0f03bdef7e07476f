"""The waiting indicator below the last item: a spinner and seconds until the model's first token."""

from __future__ import annotations

import time

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.widgets import Spinner, bind_text, hbox, label
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import NARROW, duration

PATIENCE_MS = 250
"""Shorter waits are not shown: between two steps of a run the line would flicker."""
TICK_MS = 1_000


class ThinkingLine(QWidget):
    """``thinking-line``: "Thinking… 3 s". The seconds count also with reduced motion.

    Signals:
        shown_changed: it appeared or disappeared.
    """

    shown_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("thinking-line")
        self._since = 0.0
        self._label = bind_text(label("", "muted", self), self._words)
        bind_text(self, name=N_("Thinking…"))  # without seconds, which a screen reader would read one by one
        hbox(self, Spinner(self), self._label, 1, margins=(0, 4, 0, 8), spacing=8)
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self._appear)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(lambda: bind_text(self._label))
        self.hide()

    def show_since(self, since: float) -> None:
        """Count from this moment (``time.monotonic``); 0 hides it."""
        if bool(since) == bool(self._since):
            self._since = since
            return
        self._since = since
        if since:
            self._patience.start()
            return
        self._patience.stop()
        self._tick.stop()
        if not self.isHidden():
            self.hide()
            self.shown_changed.emit()

    def _appear(self) -> None:
        bind_text(self._label)
        self.show()
        self._tick.start()
        self.shown_changed.emit()

    def _words(self) -> str:
        seconds = int(time.monotonic() - self._since) if self._since else 0
        lasted = f"{seconds}{NARROW}s" if seconds < 10 else duration(seconds * 1000)
        return _("Thinking… {time}", time=lasted) if seconds else _("Thinking…")
