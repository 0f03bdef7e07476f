"""Keys that type text, and the Enter key: presses the focused button, sends text, and breaks lines with Shift."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QToolButton, QWidget

from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.cards_buttons_labels import tint

_ENTER = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})
_BREAKS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier


def is_enter(event: QKeyEvent) -> bool:
    """Whether the key is Enter, on either block of keys, with any modifiers."""
    return event.key() in _ENTER


def sends(event: QKeyEvent) -> bool:
    """Whether a key sends text: Enter, also with Ctrl. With Shift or Alt it breaks the line."""
    return is_enter(event) and not event.modifiers() & _BREAKS


def types_text(event: QKeyEvent) -> bool:
    """Whether a key types text. Space does not count: outside fields it scrolls pages and presses buttons."""
    held = event.modifiers() & (
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
    )
    text = event.text()
    return bool(text) and text.isprintable() and not text.isspace() and not held


def is_field(widget: QWidget | None) -> bool:
    """Whether text can be typed into the widget."""
    return widget is not None and widget.testAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled)


def press_focused(within: QWidget) -> bool:
    """Press the focused button in ``within``; returns whether there is one."""
    button = QApplication.focusWidget()
    if not isinstance(button, (QPushButton, QToolButton)) or not within.isAncestorOf(button):
        return False
    button.click()  # no effect if disabled
    return True


def handle_enter(event: QKeyEvent, within: QWidget, send: Callable[[], object]) -> bool:
    """For a key that sends, press the focused button in ``within``, else call ``send``; key repeats do neither.

    Returns:
        Whether the key is one that sends.
    """
    if not sends(event):
        return False
    if not event.isAutoRepeat() and not press_focused(within):
        send()
    return True


def show_enter(button: QAbstractButton, role: Role = "on_accent") -> None:
    """Show the sign of the Enter key after a button's text."""
    tint(button, "corner-down-left", role, 14)
    button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)


class EnterPresses(QObject):
    """Makes Enter press focused buttons: Qt does so in dialogs only, elsewhere only Space does.

    Args:
        window: the window. Widgets that handle Enter themselves, such as lists and fields, come first.
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
