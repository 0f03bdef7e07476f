"""Keeps the width of scrolled content when a scroll bar appears."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QLayout, QScrollArea, QScrollBar
from shiboken6 import isValid


class SteadyWidth(QObject):
    """Takes the space of an area's vertical scroll bar from the content's right margin, so that nothing moves.

    It follows the bar's range, by which Qt shows and hides it, not its events: the last of those arrive while the
    area is destroyed and the layout no longer exists.

    Args:
        layout: of the scrolled widget; its right margin is at least as wide as a scroll bar.
    """

    def __init__(self, area: QScrollArea, layout: QLayout) -> None:
        super().__init__(area)
        self._area, self._layout = area, layout
        self._right = layout.contentsMargins().right()
        area.verticalScrollBar().rangeChanged.connect(self._fit)

    def _fit(self, least: int, most: int) -> None:
        if not isValid(self._area) or not isValid(self._layout):  # the window is being destroyed
            return
        margins = self._layout.contentsMargins()
        margins.setRight(
            max(0, self._right - (self._area.verticalScrollBar().sizeHint().width() if most > least else 0))
        )
        if margins != self._layout.contentsMargins():
            self._layout.setContentsMargins(margins)


class OverlayBar(QScrollBar):
    """``overlay-bar``: a list's vertical scroll bar, drawn over the right edge of its rows.

    So columns do not move when it appears. The list's own bar is hidden and keeps range and value. Rows leave their
    last 8 px free. Created in the list's constructor; deleted with the list.
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
        if not isValid(self) or not isValid(self._area):  # the window is being destroyed
            return
        # Queried each time: the wrapper of a bar created by Qt can become invalid while the bar lives.
        own = self._area.verticalScrollBar()
        value = own.value()  # the new range may clamp this bar's value, which must not move the list
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
