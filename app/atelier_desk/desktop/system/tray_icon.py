"""The program's icon in the desktop's notification area, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from atelier_desk.desktop.theme.icons import app_icon
from atelier_desk.desktop.widgets import bind_text


def there_is_a_tray() -> bool:
    """Whether the desktop has a notification area; False without a desktop."""
    return QSystemTrayIcon.isSystemTrayAvailable()


class Tray(QObject):
    """The tray icon and its menu of ``entries``: an English ``N_`` text and a callback. A click calls ``clicked``."""

    def __init__(
        self, window: QWidget, entries: Sequence[tuple[str, Callable[[], object]]], clicked: Callable[[], object]
    ) -> None:
        super().__init__(window)
        self._clicked = clicked
        self.menu = QMenu(window)
        self.menu.setObjectName("tray-menu")
        self.icon = QSystemTrayIcon(app_icon(), self)
        self.icon.setContextMenu(self.menu)
        self.icon.setToolTip("Atelier")
        self.icon.activated.connect(self._on_activated)
        for text, run in entries:
            self._add(text, run)

    def set_shown(self, on: bool) -> None:
        """Show or hide the icon, if the desktop has a place for it."""
        self.icon.setVisible(on and there_is_a_tray())

    def _add(self, text: str, run: Callable[[], object]) -> None:
        made = QAction(self.menu)
        made.triggered.connect(lambda *_: run())
        self.menu.addAction(bind_text(made, text))

    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            self._clicked()
