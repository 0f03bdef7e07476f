"""Returns the keyboard focus to the composer when the focused widget disappears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.widgets.enter_key import types_text

if TYPE_CHECKING:
    from collections.abc import Callable


class ComposerFocus(QObject):
    """Keeps the keyboard focus of a window in the composer.

    It focuses the composer when the focused widget is deleted, hidden or disabled (a closed menu or dialog, a decided
    card), when no widget has the focus, on an unhandled Esc, and when ``back`` is called. Unhandled letters are typed
    into it, too. A widget that was focused deliberately meanwhile keeps the focus.

    Args:
        field: returns the visible composer's field; None if there is none.
    """

    def __init__(self, window: QWidget, field: Callable[[], QWidget | None]) -> None:
        super().__init__(window)
        self._window, self._field = window, field
        self._lost = False
        self._fell_to: QWidget | None = None
        window.installEventFilter(self)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_moved)

    def back(self) -> None:
        """Focus the composer after the current event."""
        QTimer.singleShot(0, self, self._focus_field)

    def _focus_field(self) -> None:
        field = self._field()
        if field is not None and field.isVisible() and field.isEnabled():
            field.setFocus()

    def _write(self, event: QKeyEvent) -> bool:
        """Type an unhandled letter into the composer, for example after a click on a message or a button in a card."""
        field = self._field()
        if field is None or not field.isVisible() or not field.isEnabled():
            return False
        field.setFocus()
        QApplication.sendEvent(field, event)
        return True

    def _on_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        lost = old is not None and not _usable(old)
        self._lost = self._lost or lost
        back_from_nowhere = self._lost and old is None
        if (lost or back_from_nowhere) and (new is None or new.window() is self._window):
            # Qt chose this widget, as the next in the tab order or the previously focused one; the user did not.
            self._fell_to = new
            QTimer.singleShot(0, self, self._restore)

    def _restore(self) -> None:
        lost, self._lost = self._lost, False
        if lost and self._window.isActiveWindow() and QApplication.activePopupWidget() is None:
            now = QApplication.focusWidget()
            if now is None or now is self._fell_to:
                self._focus_field()
        elif lost and not self._window.isActiveWindow():
            self._lost = QApplication.activeWindow() is None  # switching between two windows

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Propagated to here: no widget in between handled it.
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                self._focus_field()
            elif types_text(event):
                return self._write(event)
        elif event.type() == QEvent.Type.WindowActivate and QApplication.focusWidget() is None:
            self.back()
        return False


def _usable(widget: QWidget) -> bool:
    return isValid(widget) and widget.isVisible() and widget.isEnabled()
