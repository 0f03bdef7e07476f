"""While an input method composes a word, the keys that end or choose it do not send, decide or move.

Most platforms do not pass these keys to the program, but some do: Enter that ends a word would send an unfinished
message.
"""

from __future__ import annotations

from functools import cache

from PySide6 import QtWidgets  # for the large fields: importing them makes their classes before the first paint
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

_KEYS = frozenset(
    {
        Qt.Key.Key_Return,
        Qt.Key.Key_Enter,
        Qt.Key.Key_Escape,
        Qt.Key.Key_Tab,
        Qt.Key.Key_Backtab,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_Home,
        Qt.Key.Key_End,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_PageDown,
    }
)


class InputMethodGuard(QObject):
    """Watches the focused field, before all other event filters."""

    def __init__(self, program: QApplication) -> None:
        super().__init__(program)
        self._field: QObject | None = None
        """Where a word is composed."""
        program.focusChanged.connect(self._on_focus)

    def watch(self, field: QWidget) -> None:
        """See the keys of a field first; call again when other filters were installed."""
        field.installEventFilter(self)

    def _on_focus(self, old: QWidget | None, now: QWidget | None) -> None:
        self._field = None
        if now is not None and isValid(now) and now.testAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled):
            self.watch(now)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.InputMethod and isinstance(event, QInputMethodEvent):
            self._field = watched if event.preeditString() else None
            return False
        asked = kind in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride) and watched is self._field
        if not asked or not isinstance(event, QKeyEvent) or event.key() not in _KEYS or not _has_preedit(watched):
            return False
        event.accept()
        return True


def _has_preedit(field: QObject) -> bool:
    """Whether the composed text is still present, if that can be determined."""
    if isinstance(field, QtWidgets.QPlainTextEdit | QtWidgets.QTextEdit):
        return bool(field.textCursor().block().layout().preeditAreaText())
    return True


@cache
def composing() -> InputMethodGuard:
    """The program's instance, created with the first field."""
    program = QApplication.instance()
    assert isinstance(program, QApplication)
    return InputMethodGuard(program)
