"""Rows stay where they are while a person points at one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

REST_MS = 3_000
"""A pointer that rests for so long does not aim at a row."""
OWN_MS = 1_000
"""So long after a key, a drop, a menu or a dialog a change is what the person asked for."""
_AIMS = frozenset({QEvent.Type.HoverMove, QEvent.Type.MouseMove, QEvent.Type.MouseButtonPress})
_OWN = frozenset({QEvent.Type.KeyPress, QEvent.Type.Drop})


def moved(before: Sequence[object], after: Sequence[object]) -> bool:
    """Whether one of the rows that were shown is gone or elsewhere; others after all of them move nothing."""
    return list(after[: len(before)]) != list(before)


class HoverGate(QObject):
    """Postpones what would put another row of a list under the pointer: between its move and its click a row must not become another.

    Who shows rows asks ``holds`` before one of them comes, goes or moves; what only looks different is shown at once. ``refresh`` is
    called when the pointer leaves, or rests: it shows the latest state, whatever was postponed.
    """

    def __init__(self, view: QAbstractScrollArea, refresh: Callable[[], object]) -> None:
        super().__init__(view)
        self._view, self._refresh = view, refresh
        self._owed = self._left_for_dialog = False
        self._own = QTimer(self, singleShot=True, interval=OWN_MS)
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self.open)
        self.watch(view)

    def watch(self, view: QAbstractScrollArea) -> None:
        """Heed the pointer over this list too: it stands below, and moves when the other grows."""
        view.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        view.viewport().installEventFilter(self)
        view.installEventFilter(self)

    def holds(self) -> bool:
        """Whether rows must stay as they are; then ``refresh`` is called later."""
        if not self._rest.isActive() or not self._view.isVisible():
            return False
        self._owed = True
        return True

    def open(self) -> None:
        """Show what was postponed."""
        self._rest.stop()
        if self._owed:
            self._owed = False
            self._refresh()

    def own(self) -> None:
        """What comes now was asked for: show it at once."""
        self._own.start()
        self.open()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.WindowDeactivate:
            self._left_for_dialog = QApplication.activeModalWidget() is not None
        elif kind in _OWN or (kind == QEvent.Type.WindowActivate and self._left_for_dialog):
            self.own()
        elif isinstance(watched, QAbstractScrollArea):
            return False  # its frame: what moves over its rows is told to its viewport
        elif kind in _AIMS:
            if not self._own.isActive():
                self._rest.start()
        elif kind == QEvent.Type.Leave:
            if QApplication.activePopupWidget() is not None:
                self.own()
            self.open()
        return False
