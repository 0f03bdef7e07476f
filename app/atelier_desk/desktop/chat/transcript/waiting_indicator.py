"""The waiting indicator below the last item: a spinner and seconds until the model's first token, or the next one."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.widgets import Spinner, bind_text, hbox, label
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import NARROW, duration

PATIENCE_MS = 250
"""Shorter waits are not shown: between two steps of a run the line would flicker."""
STALLED_MS = 20_000
"""From the newest piece of a reply until the line says that no more came. Servers pause for seconds in normal use."""
TICK_MS = 1_000


class ThinkingLine(QWidget):
    """``thinking-line``: "Thinking… 3 s" or "No answer from MODEL for 25 s".

    The seconds count also with reduced motion.

    Signals:
        shown_changed: it appeared or disappeared.
    """

    shown_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("thinking-line")
        self._since = 0.0
        self._stalled = False
        self._model: Callable[[], str] = str
        self._label = bind_text(label("", "muted", self), self._words)
        # without seconds, which a screen reader would read one by one
        bind_text(self, name=lambda: _("No answer from the model") if self._stalled else _("Thinking…"))
        hbox(self, Spinner(self), self._label, 1, margins=(0, 4, 0, 8), spacing=8)
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self._appear)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(lambda: bind_text(self._label))
        self.hide()

    def show_since(self, since: float, silent_since: float = 0.0, model: Callable[[], str] = str) -> None:
        """Count from this moment (``time.monotonic``); 0 hides it.

        Without it, count from the newest piece of a reply of ``model`` at ``silent_since``, once that is long ago.
        """
        stalled = not since and bool(silent_since)
        self._model = model
        if stalled == self._stalled and (silent_since == self._since if stalled else bool(since) == bool(self._since)):
            self._since = since or silent_since
            return
        self._since, self._stalled = since or silent_since, stalled
        self._patience.stop()
        self._tick.stop()
        if not self.isHidden():
            self.hide()
            self.shown_changed.emit()
        if stalled:
            self._patience.start(max(0, STALLED_MS - round((time.monotonic() - silent_since) * 1000)))
        elif since:
            self._patience.start(PATIENCE_MS)

    def _appear(self) -> None:
        for each in (self, self._label):
            bind_text(each)
        self.show()
        self._tick.start()
        self.shown_changed.emit()

    def _words(self) -> str:
        seconds = int(time.monotonic() - self._since) if self._since else 0
        lasted = f"{seconds}{NARROW}s" if seconds < 10 else duration(seconds * 1000)
        if not self._stalled:
            return _("Thinking… {time}", time=lasted) if seconds else _("Thinking…")
        if model := self._model():
            return _("No answer from {model} for {time}", model=model, time=lasted)
        return _("No answer for {time}", time=lasted)
