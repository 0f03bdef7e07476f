"""The content of the scroll areas of questions and approvals."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtWidgets import QWidget


class ScrollContent(QWidget):
    """A widget in a scroll area whose height depends only on its width.

    The minimum height of a wrapped label is an estimate and would add a scroll bar. ``relaid`` is emitted when its
    content changes size.
    """

    relaid = Signal()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.relaid.emit()
        return super().event(event)
