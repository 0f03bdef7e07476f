"""Enter presses the button that has the keyboard."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton, QWidget


class EnterPresses(QObject):
    """Qt gives Enter to a button in dialogs alone; in a window that is none, only Space would press it.

    Args:
        window: the window. What takes Enter for itself, as lists and fields do, has it before.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter} or held or event.isAutoRepeat():
            return False
        button = QApplication.focusWidget()
        if not isinstance(button, (QPushButton, QToolButton)) or not button.isEnabled():
            return False
        button.click()
        return True
