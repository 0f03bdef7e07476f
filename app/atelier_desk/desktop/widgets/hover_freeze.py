"""Keeps rows in place while the user points at one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

REST_MS = 3_000
"""A pointer that rests for this many milliseconds does not aim at a row."""
OWN_MS = 1_000
"""Milliseconds after a key, drop, menu or dialog in which a change was requested by the user."""
_AIMS = frozenset({QEvent.Type.HoverMove, QEvent.Type.MouseMove, QEvent.Type.MouseButtonPress})
_OWN = frozenset({QEvent.Type.KeyPress, QEvent.Type.Drop})


def moved(before: Sequence[object], after: Sequence[object]) -> bool:
    """Whether any existing row moved or disappeared; appended rows do not count."""
    return list(after[: len(before)]) != list(before)


class HoverGate(QObject):
    """Postpones changes that would move a row under the pointer: no row may be replaced between aiming and clicking.

    Owners ask ``holds`` before adding, removing or moving rows; changes of appearance are shown at once. ``refresh``
    is called when the pointer leaves or rests, and must show the latest state.
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
        """Watch another list too: it is below, and moves when the first one grows."""
        view.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        view.viewport().installEventFilter(self)
        view.installEventFilter(self)

    def holds(self) -> bool:
        """Whether rows must stay; if so, ``refresh`` is called later."""
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
        """The next change was requested by the user: show it at once."""
        self._own.start()
        self.open()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.WindowDeactivate:
            self._left_for_dialog = QApplication.activeModalWidget() is not None
        elif kind in _OWN or (kind == QEvent.Type.WindowActivate and self._left_for_dialog):
            self.own()
        elif isinstance(watched, QAbstractScrollArea):
            return False  # its frame: movement over its rows goes to its viewport
        elif kind in _AIMS:
            if not self._own.isActive():
                self._rest.start()
        elif kind == QEvent.Type.Leave:
            if QApplication.activePopupWidget() is not None:
                self.own()
            self.open()
        return False
