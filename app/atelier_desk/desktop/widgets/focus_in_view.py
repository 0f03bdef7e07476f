"""Keeps the focused field of a scrolled form in view."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QWidget
from shiboken6 import isValid


class FocusInView(QObject):
    """Scrolls to the focused field when an area becomes lower, such as for a message below it, and would hide it.

    A field that was already out of view stays there: the person scrolled away from it.
    """

    def __init__(self, area: QScrollArea) -> None:
        super().__init__(area)
        self._area = area
        area.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QResizeEvent) and event.size().height() < event.oldSize().height():
            field = self._area.window().focusWidget()
            if field is not None and self._area.isAncestorOf(field) and self._within(field, event.oldSize().height()):
                QTimer.singleShot(0, self, lambda: self._show(field))  # once the scroll bar has its new range
        return False

    def _within(self, field: QWidget, height: int) -> bool:
        viewport = self._area.viewport()
        place = QRect(field.mapTo(viewport, QPoint()), field.size())
        return place.top() >= 0 and place.bottom() < height

    def _show(self, field: QWidget) -> None:
        if isValid(field) and isValid(self._area):
            self._area.ensureWidgetVisible(field, 0, 8)
