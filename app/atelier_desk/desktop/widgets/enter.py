"""Enter: it presses the button that has the keyboard, sends what is written, and breaks a line with Shift."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QToolButton, QWidget

from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.controls import tint

_ENTER = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})
_BREAKS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier


def is_enter(event: QKeyEvent) -> bool:
    """Whether it is Enter, on either block of keys, whatever is held with it."""
    return event.key() in _ENTER


def sends(event: QKeyEvent) -> bool:
    """Whether a key sends what is written: Enter, also with Ctrl. With Shift or Alt it breaks the line."""
    return is_enter(event) and not event.modifiers() & _BREAKS


def press_focused(within: QWidget) -> bool:
    """Press the button in ``within`` that has the keyboard, if one has; whether one has."""
    button = QApplication.focusWidget()
    if not isinstance(button, (QPushButton, QToolButton)) or not within.isAncestorOf(button):
        return False
    button.click()  # one that is disabled does nothing
    return True


def handle_enter(event: QKeyEvent, within: QWidget, send: Callable[[], object]) -> bool:
    """If a key sends, press the button in ``within`` that has the keyboard, else call ``send``; a key that is held does neither again.

    Returns:
        Whether the key is one that sends.
    """
    if not sends(event):
        return False
    if not event.isAutoRepeat() and not press_focused(within):
        send()
    return True


def show_enter(button: QAbstractButton, role: Role = "on_accent") -> None:
    """Show the sign of the Enter key after a button's words."""
    tint(button, "corner-down-left", role, 14)
    button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)


class EnterPresses(QObject):
    """Qt gives Enter to a button in dialogs alone; in a window that is none, only Space would press it.

    Args:
        window: the window. What takes Enter for itself, as lists and fields do, has it before.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if not is_enter(event) or held or event.isAutoRepeat():
            return False
        return press_focused(self._window)
