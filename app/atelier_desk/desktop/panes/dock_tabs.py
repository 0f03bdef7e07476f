"""The tab bars of stacked docks: full titles where they fit, and no page change by scrolling."""

from __future__ import annotations

from PySide6 import QtWidgets  # for QTabBar: importing it makes its class before the first paint
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow
from shiboken6 import isValid

from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.support.i18n import N_

FIT_MS = 50
_SAVED = 8
"""Pixels saved per tab where not all fit: the style's padding shrinks from 7 to 3 on both sides, at any text size."""


def full_height(window: QMainWindow, dock: QDockWidget) -> int:
    """Height in pixels that ``resizeDocks`` sets: the dock, plus its tab bar if it has one."""
    if not window.tabifiedDockWidgets(dock):
        return dock.height()
    bars = window.findChildren(QtWidgets.QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return dock.height() + max((bar.height() for bar in bars if bar.isVisible()), default=0)


def hide_replaced_bars(window: QMainWindow) -> None:
    """Hide the tab bars of earlier layouts: all but the newest of each stack of docks that there is now.

    Qt deletes them in the event loop, which begins seconds after the first paint: until then they would be painted
    over the bar in use.
    """
    docks = window.findChildren(QDockWidget)
    stacks = [{each.windowTitle() for each in (dock, *window.tabifiedDockWidgets(dock))} for dock in docks]
    bars = window.findChildren(QtWidgets.QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    for bar in reversed(bars):
        titles = {bar.tabText(number) for number in range(bar.count())}
        if titles in stacks:
            stacks = [stack for stack in stacks if stack != titles]
        elif titles:
            bar.hide()


class DockTabs(QObject):
    """Adjusts the tab bars of a window's docks when Qt creates them."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._bars: list[QtWidgets.QTabBar] = []
        self._fit = Debouncer(self, FIT_MS, self.fit)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window:
            if event.type() == QEvent.Type.ChildPolished:
                self._adopt_bars()
            elif event.type() == QEvent.Type.LayoutRequest:  # also after a change of a title
                self._fit.ask()
        elif event.type() == QEvent.Type.Wheel:
            if isinstance(watched, QtWidgets.QTabBar) and not watched.hasFocus():
                event.ignore()
                return True
        elif event.type() in (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.LayoutRequest):
            self._fit.ask()
        return False

    def _adopt_bars(self) -> None:
        for bar in self._window.findChildren(QtWidgets.QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if any(bar is known for known in self._bars):
                continue
            # With scroll buttons the bar's minimum width does not depend on its titles. The minimum width of the column
            # does include it: a longer title, or the fonts in the middle of a change of theme, would widen the column.
            bar.setUsesScrollButtons(True)
            bar.setElideMode(Qt.TextElideMode.ElideRight)
            bar.setExpanding(False)
            bind_text(bar, name=N_("Panes"))
            self._bars.append(bar)
            bar.installEventFilter(self)
            self._fit.ask()

    def fit(self) -> None:
        """Reduce the padding of tabs if their titles do not fit; Qt elides those that still do not.

        Full titles are in the tool tips.
        """
        # Qt deletes the bars of docks that are moved, also in between.
        self._bars = [bar for bar in self._bars if isValid(bar)]
        for bar in list(self._bars):
            if not isValid(bar):  # a style event of another bar can make Qt lay out its docks
                continue
            tight = bool(bar.property("tight"))
            wanted = bar.sizeHint().width() + (_SAVED * bar.count() if tight else 0)
            if (wanted > bar.width()) != tight:
                bar.setProperty("tight", not tight)
                bar.style().unpolish(bar)
                bar.style().polish(bar)
                # The tab rectangles are cached until this event.
                QApplication.sendEvent(bar, QEvent(QEvent.Type.StyleChange))
