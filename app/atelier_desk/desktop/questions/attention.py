"""Calls for attention while the window is not active: notifications, task bar alert, count in the title."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from atelier_desk.desktop.system.notification import Notice, Notifier
from atelier_desk.desktop.widgets.screen_reader import announce
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import shorten

_COUNT = re.compile(r"^\(\d+\) ")
_EXCERPT = 200


class Attention(QObject):
    """Watches one window. ``activated`` is emitted when a notification without a specific target is clicked.

    Screen readers announce each notification, also while the window is active. Notifications go to ``notifier`` if
    the desktop has one, else to the tray icon, if there is one; the count in the title is always shown. Without
    ``answers`` notifications have no buttons.
    """

    activated = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.enabled = self.answers = True
        self.notifier: Notifier | None = None
        self._count = 0
        self._tray: QSystemTrayIcon | None = None
        self._own_tray = True
        self._then: Callable[[], object] | None = None
        window.installEventFilter(self)

    def notify(self, title: str, text: str, on_click: Callable[[], object] | None = None, about: str = "") -> bool:
        """Show a notification without buttons; a click runs ``on_click``, or emits ``activated``."""
        return self.show(Notice(title, text, on_click or self.activated.emit, about))

    def show(self, notice: Notice) -> bool:
        """Show a notification and alert the task bar, unless the window is active or notifications are off.

        Returns whether it was shown or announced.
        """
        window = self._window.window()
        announce(window, _("{name}: {text}", name=notice.title, text=notice.text), urgent=bool(notice.actions))
        if window.isActiveWindow() or not self.enabled:
            return False
        QApplication.alert(window)
        if self.notifier is not None and self.notifier.there:
            shown = notice if self.answers else replace(notice, actions=(), reply=None)
            self.notifier.show(shown, lambda: self._by_tray(notice))
        else:
            self._by_tray(notice)
        return True

    @property
    def seen_outside(self) -> bool:
        """Whether notifications are visible outside the window, which some desktops do not support."""
        tray = QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()
        return tray or (self.notifier is not None and self.notifier.there)

    def tidy(self) -> None:
        """Withdraw notifications about items that are no longer pending."""
        if self.notifier is not None:
            self.notifier.tidy()

    def _by_tray(self, notice: Notice) -> None:
        self._then = notice.open
        if QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages():
            # Desktops of Linux take a message for markup, as Qt does a tool tip.
            self._tray_icon().showMessage(
                notice.title, plain_tip(shorten(notice.text, _EXCERPT)), self._window.window().windowIcon()
            )

    def click(self) -> None:
        """The newest notification was clicked."""
        on_click, self._then = self._then, None
        if on_click is not None:
            on_click()
        else:
            self.activated.emit()

    def use(self, tray: QSystemTrayIcon) -> None:
        """Use an existing tray icon for notifications; its owner shows it and handles its clicks."""
        self._own_tray, self._tray = False, tray
        tray.messageClicked.connect(self.click)

    def set_count(self, count: int) -> None:
        """Set the number of pending questions."""
        self._count = count
        self.update_title()

    def update_title(self) -> None:
        """``(2) Atelier`` while the window is not active and questions are pending, else ``Atelier``."""
        window = self._window.window()
        bare = _COUNT.sub("", window.windowTitle())
        new_title = f"({self._count}) {bare}" if self._count and not window.isActiveWindow() else bare
        if new_title != window.windowTitle():
            window.setWindowTitle(new_title)
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
