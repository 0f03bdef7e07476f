"""Where the keyboard belongs: in the composer, whenever what had it goes away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

if TYPE_CHECKING:
    from collections.abc import Callable


class ComposerFocus(QObject):
    """Gives the keyboard back to the composer of a window.

    It does so when the widget that had the keyboard is gone, hidden or disabled (a menu that closed, a dialog, a card that was decided, a
    bar that was left), when nothing has it, on Esc that nobody else took, and whenever ``back`` is called. A letter that nobody took is
    written there, too. What a program part gave the keyboard to on purpose meanwhile keeps it.

    Args:
        field: the composer's field in view; None while there is none.
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
        """Into the composer, once what is under way is done."""
        QTimer.singleShot(0, self, self._focus_field)

    def _focus_field(self) -> None:
        field = self._field()
        if field is not None and field.isVisible() and field.isEnabled():
            field.setFocus()

    def _write(self, event: QKeyEvent) -> bool:
        """What is typed while the messages have the keyboard, after a click on one or on a button in a card, belongs in the composer."""
        field = self._field()
        if field is None or not field.isVisible() or not field.isEnabled():
            return False
        field.setFocus()
        QApplication.sendEvent(field, event)
        return True

    def _on_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        gone = old is not None and not _usable(old)
        self._lost = self._lost or gone
        back_from_nowhere = self._lost and old is None
        if (gone or back_from_nowhere) and (new is None or new.window() is self._window):
            # Qt chose this one: the next in the order of tabs, or whatever had the keyboard before. A person chose neither.
            self._fell_to = new
            QTimer.singleShot(0, self, self._restore)

    def _restore(self) -> None:
        lost, self._lost = self._lost, False
        if lost and self._window.isActiveWindow() and QApplication.activePopupWidget() is None:
            now = QApplication.focusWidget()
            if now is None or now is self._fell_to:
                self._focus_field()
        elif lost and not self._window.isActiveWindow():
            self._lost = QApplication.activeWindow() is None  # between two windows

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):  # it came up here: nothing in between had a use for it
            if event.key() == Qt.Key.Key_Escape:
                self._focus_field()
            elif written(event):
                return self._write(event)
        elif event.type() == QEvent.Type.WindowActivate and QApplication.focusWidget() is None:
            self.back()
        return False


def written(event: QKeyEvent) -> bool:
    """Whether a key writes something. Space does not count: where nothing is written it turns pages and presses buttons."""
    held = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier)
    text = event.text()
    return bool(text) and text.isprintable() and not text.isspace() and not held


def _usable(widget: QWidget) -> bool:
    return isValid(widget) and widget.isVisible() and widget.isEnabled()
