"""Saves the window's layout while it is used, so that it survives a kill."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QScreen
from PySide6.QtWidgets import QDockWidget

from atelier_desk.desktop.widgets.cards_buttons_labels import fitted
from atelier_desk.desktop.widgets.debouncer import Debouncer

if TYPE_CHECKING:
    from atelier_desk.desktop.main_window.window_interface import WindowParts

WAIT_MS = 1_000
"""Milliseconds; changes within a second are saved together: dragging a window moves it sixty times a second."""

_CHANGES = (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.WindowStateChange)


class LayoutKeeper(QObject):
    """Calls ``save`` a second after the window, a pane or the workflow in view changed; starts with ``start``."""

    def __init__(self, window: WindowParts, save: Callable[[], object]) -> None:
        super().__init__(window)
        self._window = window
        self._debouncer = Debouncer(self, WAIT_MS, save)

    def start(self) -> None:
        """Start watching; restoring the layout at startup is not a change."""
        self._window.installEventFilter(self)
        for dock in self._window.findChildren(QDockWidget):
            dock.visibilityChanged.connect(self._changed)
            dock.topLevelChanged.connect(self._changed)
            dock.dockLocationChanged.connect(self._changed)
            dock.installEventFilter(self)
        self._window.chat.workflow_shown.connect(self._changed)
        for screen in QGuiApplication.screens():
            self._watch(screen)
        QGuiApplication.instance().screenAdded.connect(self._watch)  # type: ignore[union-attr]

    def _watch(self, screen: QScreen) -> None:
        screen.availableGeometryChanged.connect(self._fit)

    def _fit(self, *_: object) -> None:
        """Shrink the window when its screen got smaller; its composer would be out of reach."""
        window = self._window
        if window.isVisible() and not window.windowState() & (
            Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen
        ):
            geometry = fitted(window.frameGeometry(), window.screen().availableGeometry())
            border = window.frameGeometry().size() - window.size()
            window.resize(geometry.size() - border)
            window.move(geometry.topLeft())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _CHANGES:
            self._debouncer.ask()
        return False

    def _changed(self, *_: object) -> None:
        self._debouncer.ask()
