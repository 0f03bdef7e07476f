"""What scrolls keeps its width when a scroll bar comes."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLayout, QScrollArea
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
        self._bar, self._layout = area.verticalScrollBar(), layout
        self._right = layout.contentsMargins().right()
        self._bar.rangeChanged.connect(self._fit)

    def _fit(self, least: int, most: int) -> None:
        if not isValid(self._bar):  # the whole window is being destroyed
            return
        margins = self._layout.contentsMargins()
        margins.setRight(max(0, self._right - (self._bar.sizeHint().width() if most > least else 0)))
        if margins != self._layout.contentsMargins():
            self._layout.setContentsMargins(margins)
