"""Input that began before a dialog opened does not answer it: repeats of held keys, second clicks of double clicks."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QMouseEvent, QWindow
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.widgets.enter_key import is_enter, is_field

_MOVES = frozenset(
    {
        Qt.Key.Key_Tab,
        Qt.Key.Key_Backtab,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_PageUp,
        Qt.Key.Key_PageDown,
    }
)
"""Keys whose repeats may follow the focus: they decide nothing."""
_KEYS = frozenset({QEvent.Type.KeyPress, QEvent.Type.KeyRelease, QEvent.Type.ShortcutOverride})


class InputGuard(QObject):
    """Stops repeats of a key in widgets other than the one that had the keyboard when the key was pressed, and second
    clicks of a double click on another widget than the first.

    Dialogs, sheets, menus and cards may come while a key is down, or between two clicks. Repeats of Enter and Esc reach
    only fields: Qt's dialogs and buttons take each repeat for another press.

    It watches the system's windows, not the application, which would pass every event through Python.
    """

    def __init__(self, application: QGuiApplication, parent: QObject) -> None:
        super().__init__(parent)
        self._watched: QWindow | None = None
        self._pressed: dict[int, QWidget | None] = {}
        """By scan code, else key: what had the keyboard, until the release or the next press."""
        self._clicked: tuple[tuple[QWidget | None, int], tuple[QWidget | None, int]] = ((None, 0), (None, 0))
        """What the last two presses of a mouse button hit, and when, in milliseconds."""
        self._swallows_release = False
        application.focusWindowChanged.connect(self._watch)
        self._watch(application.focusWindow())

    def _watch(self, window: QWindow | None) -> None:
        if self._watched is not None and isValid(self._watched):
            self._watched.removeEventFilter(self)
        self._watched = window
        if window is not None:
            window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent):
            return self._is_stray_click(event)
        if event.type() not in _KEYS or not isinstance(event, QKeyEvent):
            return False
        code = event.nativeScanCode() or event.key()
        if event.type() == QEvent.Type.KeyRelease:
            if not event.isAutoRepeat():
                self._pressed.pop(code, None)
            return False
        if not event.isAutoRepeat():
            self._pressed[code] = _receiver()
            return False
        if event.key() in _MOVES or self._belongs(event, code):
            return False
        event.accept()  # a shortcut override that is accepted runs no shortcut
        return True

    def _is_stray_click(self, event: QMouseEvent) -> bool:
        """Whether a press is the second of a double click that began on another widget.

        A window gets both: the press, then the double click; a widget only gets the latter. Its release is stray, too:
        some widgets act on releases. A first press that went to another window is unknown.
        """
        if event.type() == QEvent.Type.MouseButtonPress:
            self._clicked = self._clicked[1], (self._hit(event), event.timestamp())
            self._swallows_release = False
        elif event.type() == QEvent.Type.MouseButtonDblClick:
            (first, since), (second, then) = self._clicked
            known = then - since <= QApplication.doubleClickInterval()
            self._swallows_release = known and first is not second
            return self._swallows_release
        elif event.type() == QEvent.Type.MouseButtonRelease and self._swallows_release:
            self._swallows_release = False
            return True
        return False

    def _hit(self, event: QMouseEvent) -> QWidget | None:
        """The widget under the pointer."""
        place = event.globalPosition().toPoint()
        shown = QApplication.activePopupWidget() or next(
            (each for each in QApplication.topLevelWidgets() if each.windowHandle() is self._watched), None
        )
        return (shown.childAt(shown.mapFromGlobal(place)) or shown) if shown is not None else None

    def _belongs(self, event: QKeyEvent, code: int) -> bool:
        """Whether a repeat goes to what had the keyboard at the press.

        A press that an input method or another program got is unknown.
        """
        here = _receiver()
        if is_enter(event) or event.key() == Qt.Key.Key_Escape:
            return is_field(here) and self._pressed.get(code) is here
        return self._pressed.get(code, here if is_field(here) else None) is here


def _receiver() -> QWidget | None:
    """What gets the keys: a menu, or the field of a popup, else the widget with the focus."""
    popup = QApplication.activePopupWidget()
    if popup is not None:
        return popup.focusProxy() or popup.focusWidget() or popup
    return QApplication.focusWidget() or QApplication.activeWindow()
