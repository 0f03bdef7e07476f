"""What scrolls keeps its width when a scroll bar comes."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QLayout, QScrollArea, QScrollBar
from shiboken6 import isValid


class SteadyWidth(QObject):
    """The vertical scroll bar of an area takes its room from the right margin of what it scrolls, so that nothing moves beside it.

    It follows the bar's range, by which Qt shows and hides it, and not its events: the last of those come while the area is destroyed,
    when the layout is gone.

    Args:
        layout: of the scrolled widget; its right margin is at least as wide as a scroll bar.
    """

    def __init__(self, area: QScrollArea, layout: QLayout) -> None:
        super().__init__(area)
        self._area, self._layout = area, layout
        self._right = layout.contentsMargins().right()
        area.verticalScrollBar().rangeChanged.connect(self._fit)

    def _fit(self, least: int, most: int) -> None:
        if not isValid(self._area) or not isValid(self._layout):  # the whole window is being destroyed
            return
        margins = self._layout.contentsMargins()
        margins.setRight(max(0, self._right - (self._area.verticalScrollBar().sizeHint().width() if most > least else 0)))
        if margins != self._layout.contentsMargins():
            self._layout.setContentsMargins(margins)


class OverlayBar(QScrollBar):
    """``overlay-bar``: the vertical scroll bar of a list, drawn over the right edge of its rows instead of beside them: columns stay where
    they are when it comes. The list's own bar is hidden and keeps range and value.

    Rows leave the last 8 px of their width free. Made in the list's constructor; it goes with the list.
    """

    def __init__(self, area: QAbstractScrollArea) -> None:
        super().__init__(Qt.Orientation.Vertical, area)
        self.setObjectName("overlay-bar")
        self._area = area
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        own = area.verticalScrollBar()
        own.rangeChanged.connect(self._follow)
        own.valueChanged.connect(self.setValue)
        self.valueChanged.connect(own.setValue)
        area.viewport().installEventFilter(self)
        self._follow(own.minimum(), own.maximum())

    def _follow(self, least: int, most: int) -> None:
        if not isValid(self) or not isValid(self._area):  # the whole window is being destroyed
            return
        # Asked for each time: the wrapper of a bar that Qt itself made can become invalid while the bar lives.
        own = self._area.verticalScrollBar()
        value = own.value()  # the new range may cut this bar's, which must not move the list
        self.setPageStep(own.pageStep())
        self.setSingleStep(own.singleStep())
        self.setRange(least, most)
        self.setValue(value)
        self.setVisible(most > least)
        self._place()

    def _place(self) -> None:
        rows = self._area.viewport().geometry()
        wide = self.sizeHint().width()
        self.setGeometry(rows.right() + 1 - wide, rows.top(), wide, rows.height())
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show):
            self._place()
        return False
