"""The program's icon in the desktop's notification area, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from atelier_desk.desktop.theme.icons import app_icon
from atelier_desk.desktop.widgets import say
from atelier_desk.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.window_actions import WindowActions


def there_is_a_tray() -> bool:
    """Whether this desktop has a notification area; without a desktop there is none either."""
    return QSystemTrayIcon.isSystemTrayAvailable()


class Tray(QObject):
    """The icon and its menu. A click opens quick ask; ``set_shown`` follows the setting."""

    def __init__(self, window: WindowActions) -> None:
        super().__init__(window)
        self._window = window
        self.menu = QMenu(window)
        self.menu.setObjectName("tray-menu")
        self.icon = QSystemTrayIcon(app_icon(), self)
        self.icon.setContextMenu(self.menu)
        self.icon.setToolTip("Atelier")
        self.icon.activated.connect(self._on_activated)
        self._add(N_("Quick ask"), window.quick_ask)
        self._add(N_("Show Atelier"), window.raise_up)
        self._add(N_("New workflow"), self._new)
        self.menu.addSeparator()
        self._add(N_("Quit"), window.quit)

    def set_shown(self, on: bool) -> None:
        """Show it, if the desktop has a place for it."""
        self.icon.setVisible(on and there_is_a_tray())

    def _add(self, text: str, run: Callable[[], object]) -> None:
        made = QAction(self.menu)
        made.triggered.connect(lambda *_: run())
        self.menu.addAction(say(made, text))

    def _new(self) -> None:
        self._window.raise_up()
        self._window.new_workflow()

    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            self._window.quick_ask()
