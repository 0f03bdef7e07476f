"""The shade over a view or window while a dialog in front of it is open."""

from __future__ import annotations

import itertools
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.enter_key import is_field, types_text
from atelier_desk.desktop.widgets.language_theme_bindings import bind

_SHADOW = 14
_OPENED = itertools.count(1)
PAUSE_MS = 500
"""A dialog takes the focus after this many milliseconds without a key, so that typing goes on and answers nothing."""


class InFront(Protocol):
    """The dialog in front of a shade."""

    def open(self) -> None: ...
    def setParent(self, parent: QWidget) -> None: ...
    def isVisible(self) -> bool: ...
    def geometry(self) -> QRect: ...
    def isAncestorOf(self, child: QWidget) -> bool: ...

    def fit(self) -> None:
        """Set size and position within the shade, its parent."""

    def focus_first(self) -> None:
        """Focus the first input."""

    def focus_again(self) -> None:
        """Focus the widget in the dialog that last had the focus."""


class Scrim(QWidget):
    """``<name>``. Covers ``host``, follows its size, blocks clicks and centres the dialog."""

    def __init__(self, host: QWidget, name: str = "question-scrim") -> None:
        super().__init__(host)
        self.setObjectName(name)
        self._host = host
        self.dialog: InFront | None = None
        self._opened = 0
        """Its number among all shades, by the time they came: the highest of a window is in front."""
        self._typed_in: QWidget | None = None
        """What has the keyboard until the pause."""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self.give_keyboard)
        host.installEventFilter(self)
        bind(self.refit)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._hold_focus)
        self.setGeometry(host.rect())
        self.hide()

    def hold(self, dialog: InFront | None) -> None:
        """Show this dialog, or none."""
        self.dialog = dialog
        self.setVisible(dialog is not None)
        if dialog is not None:
            self._opened = next(_OPENED)
            self.raise_()
            dialog.setParent(self)
            typed_in = QApplication.focusWidget()
            dialog.open()
            self._await_pause(typed_in)
        else:
            self._end_wait()

    def _await_pause(self, typed_in: QWidget | None) -> None:
        """Leave the focus in a field while the user types, else take it.

        Keys meant for the previous widget have no effect.
        """
        self._end_wait()
        if typed_in is None or not self._is_typed_in(typed_in):
            typed_in = self
        self._typed_in = typed_in
        typed_in.setFocus(Qt.FocusReason.OtherFocusReason)
        if typed_in is not self:
            typed_in.installEventFilter(self)
        self._pause.start(PAUSE_MS)

    def _is_typed_in(self, widget: QWidget) -> bool:
        """Whether a widget is a field outside the dialog."""
        return is_field(widget) and widget.isVisible() and not self.isAncestorOf(widget)

    def _end_wait(self) -> None:
        self._pause.stop()
        if self._typed_in is not None and self._typed_in is not self and isValid(self._typed_in):
            self._typed_in.removeEventFilter(self)
        self._typed_in = None

    def give_keyboard(self) -> None:
        """Let the dialog take the focus from now on."""
        self._end_wait()
        if self.dialog is not None and self._in_front():
            self.dialog.focus_first()

    def _in_front(self) -> bool:
        """Whether this is the newest dialog of the window.

        Two that hold the focus would take it from each other endlessly.
        """
        shades = self.window().findChildren(Scrim)
        return not any(
            each.dialog is not None and each.dialog.isVisible() and each._opened > self._opened for each in shades
        )

    def _hold_focus(self, _old: QWidget | None, new: QWidget | None) -> None:
        """Return the focus to the dialog when it goes to a widget under the shade."""
        if self.dialog is None or new is None or not self.dialog.isVisible() or new is self._typed_in:
            return
        if self._typed_in is self and self._is_typed_in(new):
            self._await_pause(new)  # the window types a letter into its composer
            return
        if self._typed_in is not None and self.isAncestorOf(new):
            self._end_wait()  # a click into the dialog, or Tab
        if self._host.isAncestorOf(new) and not self.isAncestorOf(new) and self._in_front():
            self.dialog.focus_again()

    def leave(self) -> None:
        """Stop following the host, before it is deleted."""
        self._host.removeEventFilter(self)
        self.hide()
        self.deleteLater()

    def refit(self) -> None:
        self.setGeometry(self._host.rect())
        if self.dialog is not None:
            self.dialog.fit()
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._typed_in:
            if event.type() in (QEvent.Type.KeyPress, QEvent.Type.InputMethod):
                self._pause.start(PAUSE_MS)
        elif watched is self._host and event.type() == QEvent.Type.Resize:
            self.refit()
        elif watched is self._host and event.type() == QEvent.Type.ChildAdded and self.isVisible():
            self.raise_()
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click beside the dialog only returns the focus to it."""
        if self.dialog is not None:
            self._end_wait()
            self.dialog.focus_again()
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Pass letters on to the window, which types them into its composer: what was typed is not lost.

        Other keys have no effect: before the pause ends, they are not meant for the dialog.
        """
        letter = types_text(event)
        if letter and self._typed_in is None:
            self._await_pause(None)
        self._pause.start(PAUSE_MS)
        event.setAccepted(not letter)

    def event(self, event: QEvent) -> bool:
        """Keep Esc from a shortcut of the window below, which would close the window instead of the dialog."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
            return True
        return super().event(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        dark = theme().tokens.dark
        painter.fillRect(self.rect(), QColor(0, 0, 0, 150) if dark else QColor(31, 32, 35, 90))
        if self.dialog is not None and self.dialog.isVisible():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(0, 0, 0, 9 if dark else 6))
            card = QRectF(self.dialog.geometry()).translated(QPoint(0, 4))
            for spread in range(_SHADOW, 0, -2):
                painter.drawRoundedRect(card.adjusted(-spread, -spread, spread, spread), 14 + spread, 14 + spread)
        painter.end()
