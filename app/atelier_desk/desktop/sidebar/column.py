"""The left column's place in the window: beside everything else from top to bottom, so that nothing that opens below moves its foot."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStackedWidget, QWidget

from atelier_desk.desktop.widgets import bind_text
from atelier_desk.support.i18n import N_

WIDTH = 248
"""Usual width, in logical pixels at 100 %."""


class SideColumn(QObject):
    """Holds the window's sidebar in a dock that cannot be moved, shown while the sidebar is not hidden and a page of ``beside`` is in view.

    A dock, and not a part of the middle: a main window lays its lower panes out below its whole middle, but beside its docks.
    """

    def __init__(self, window: QMainWindow, sidebar: QWidget, pages: QStackedWidget, beside: Sequence[QWidget]) -> None:
        super().__init__(window)
        self._window, self._sidebar, self._pages, self._neighbour = window, sidebar, pages, beside
        self.dock = QDockWidget(window)
        self.dock.setObjectName("dock-sidebar")
        bind_text(self.dock, title=N_("Workflows"))
        self.dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
        self.dock.setAllowedAreas(Qt.DockWidgetArea.LeftDockWidgetArea)
        bar = QWidget(self.dock)
        bar.setFixedHeight(0)
        self.dock.setTitleBarWidget(bar)
        self.dock.toggleViewAction().setVisible(False)  # the window has its own action for the sidebar
        self.dock.setWidget(self._sidebar)
        self.repair_layout()
        self._sidebar.installEventFilter(self)
        pages.currentChanged.connect(lambda *_: self._follow())

    def repair_layout(self) -> None:
        """Take the place at the left, also after a layout was put back that knows nothing of it."""
        left = Qt.DockWidgetArea.LeftDockWidgetArea
        self._window.setCorner(Qt.Corner.BottomLeftCorner, left)
        if self._window.dockWidgetArea(self.dock) != left:
            self._window.addDockWidget(left, self.dock)
        self._follow()

    def size_column(self, grown: float) -> None:
        """Its usual width times ``grown``."""
        self._window.resizeDocks([self.dock], [round(WIDTH * grown)], Qt.Orientation.Horizontal)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._follow()
        return False

    def _follow(self) -> None:
        in_view = self._pages.currentWidget() in self._neighbour
        self.dock.setVisible(in_view and not self._sidebar.isHidden())
