"""Keeps the window's shape while it is used: after a kill it opens as it was, not as it was when it was last closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QDockWidget

from atelier_desk.desktop.soon import Soon

if TYPE_CHECKING:
    from atelier_desk.desktop.window_parts import WindowParts

WAIT_MS = 1_000
"""Changes within a second are kept together: a window that is dragged moves sixty times in it."""

_CHANGES = (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.WindowStateChange)


class LayoutKeeper(QObject):
    """Calls ``keep`` a second after the window, one of its panes or the workflow in view changed; begins with ``start``."""

    def __init__(self, window: WindowParts, keep: Callable[[], object]) -> None:
        super().__init__(window)
        self._window = window
        self._soon = Soon(self, WAIT_MS, keep)

    def start(self) -> None:
        """Watch from now on: what is put back at a start is no change."""
        self._window.installEventFilter(self)
        for dock in self._window.findChildren(QDockWidget):
            dock.visibilityChanged.connect(self._changed)
            dock.topLevelChanged.connect(self._changed)
            dock.dockLocationChanged.connect(self._changed)
            dock.installEventFilter(self)
        self._window.chat.workflow_shown.connect(self._changed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _CHANGES:
            self._soon.ask()
        return False

    def _changed(self, *_: object) -> None:
        self._soon.ask()
