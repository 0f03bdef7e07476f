"""Calls for the person while the window is not in front: tray notification, task-bar alert, count in the title."""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from atelier_desk.desktop.widgets.format import cut
from atelier_desk.i18n import _

_COUNT = re.compile(r"^\(\d+\) ")
_EXCERPT = 200


class Attention(QObject):
    """Watches one window. ``activated`` is emitted when a notification is clicked.

    The tray is used only where the desktop has one; the count in the title is there everywhere.
    """

    activated = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.enabled = True
        self._count = 0
        self._tray: QSystemTrayIcon | None = None
        self._own_tray = True
        self._then: Callable[[], object] | None = None
        window.installEventFilter(self)

    def call(self, agent: str, question: str) -> None:
        """An agent needs the person; nothing happens when the window is in front already."""
        self.tell(_("{agent} needs you", agent=agent), question)

    def tell(self, title: str, text: str, then: Callable[[], object] | None = None) -> bool:
        """Show a notification and alert the task bar, unless the window is in front or notifications are off; whether it was told.

        A click on it runs ``then``; without one ``activated`` is emitted.
        """
        window = self._window.window()
        if window.isActiveWindow() or not self.enabled:
            return False
        self._then = then
        QApplication.alert(window)
        if QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages():
            self._tray_icon().showMessage(title, cut(text, _EXCERPT), window.windowIcon())
        return True

    def click(self) -> None:
        """The newest notification was clicked."""
        then, self._then = self._then, None
        if then is not None:
            then()
        else:
            self.activated.emit()

    def use(self, tray: QSystemTrayIcon) -> None:
        """Notify through an icon that is there anyway; its owner shows it, and says what a click on it does."""
        self._own_tray, self._tray = False, tray
        tray.messageClicked.connect(self.click)

    def set_count(self, count: int) -> None:
        """How many questions wait."""
        self._count = count
        self.update_title()

    def update_title(self) -> None:
        """``(2) Atelier`` while the window is not in front and questions wait, ``Atelier`` otherwise."""
        window = self._window.window()
        bare = _COUNT.sub("", window.windowTitle())
        wanted = f"({self._count}) {bare}" if self._count and not window.isActiveWindow() else bare
        if wanted != window.windowTitle():
            window.setWindowTitle(wanted)
        if self._tray is not None and self._own_tray:
            self._tray.setVisible(self._count > 0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.WindowActivate, QEvent.Type.WindowDeactivate, QEvent.Type.WindowTitleChange):
            self.update_title()
        return False

    def _tray_icon(self) -> QSystemTrayIcon:
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._window.window().windowIcon(), self)
            self._tray.messageClicked.connect(self.click)
            self._tray.activated.connect(lambda _reason: self.activated.emit())
        self._tray.show()
        return self._tray
