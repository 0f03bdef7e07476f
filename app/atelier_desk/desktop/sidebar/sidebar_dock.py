"""The sidebar's dock: it occupies the full height, so that panes opening below do not move its foot."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStackedWidget, QWidget

from atelier_desk.desktop.widgets import bind_text
from atelier_desk.support.i18n import N_

WIDTH = 248
"""Default width, in logical pixels at 100 %."""


class SideColumn(QObject):
    """Holds the sidebar in a fixed dock, visible unless hidden by the user or by another page than ``neighbours``.

    A dock and not a part of the central widget: a main window puts lower docks below its central widget, but beside
    other docks. The sidebar is made as a child of the dock: with another parent its style would be computed twice.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.dock = QDockWidget(window)
        self.dock.setObjectName("dock-sidebar")
        bind_text(self.dock, title=N_("Workflows"))
        self.dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
        self.dock.setAllowedAreas(Qt.DockWidgetArea.LeftDockWidgetArea)
        bar = QWidget(self.dock)
        bar.setFixedHeight(0)
        self.dock.setTitleBarWidget(bar)
        self.dock.toggleViewAction().setVisible(False)  # the window has its own action for the sidebar

    def hold(self, sidebar: QWidget, pages: QStackedWidget, neighbours: Sequence[QWidget]) -> None:
        """Show the sidebar beside these of the ``pages``."""
        self._sidebar, self._pages, self._neighbours = sidebar, pages, neighbours
        self.dock.setWidget(sidebar)
        self.repair_layout()
        sidebar.installEventFilter(self)
        pages.currentChanged.connect(lambda *_: self._follow())

    def repair_layout(self) -> None:
        """Restore its place on the left, also after restoring a layout without it."""
        left = Qt.DockWidgetArea.LeftDockWidgetArea
        self._window.setCorner(Qt.Corner.BottomLeftCorner, left)
        if self._window.dockWidgetArea(self.dock) != left:
            self._window.addDockWidget(left, self.dock)
        self._follow()

    def size_column(self, grown: float) -> None:
        """Set its default width times ``grown``."""
        self._window.resizeDocks([self.dock], [round(WIDTH * grown)], Qt.Orientation.Horizontal)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._follow()
        return False

    def _follow(self) -> None:
        in_view = self._pages.currentWidget() in self._neighbours
        self.dock.setVisible(in_view and not self._sidebar.isHidden())
