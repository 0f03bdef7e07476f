"""Moves the pointer over a list like a person."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QAbstractScrollArea, QApplication

from atelier_desk.desktop.widgets.hover_freeze import HoverGate


def aim(area: QAbstractScrollArea, row: int = 0, *, at_once: bool = False) -> None:
    """Move the pointer to a row of a list, or to another area.

    ``at_once`` moves it immediately after the last action, otherwise a while later.
    """
    for gate in () if at_once else area.window().findChildren(HoverGate):
        gate._own.stop()
    position = QPoint(8, 8)
    if isinstance(area, QAbstractItemView):
        position = area.visualRect(area.model().index(row, 0)).center()
    under = area.viewport()
    if not isinstance(area, QAbstractItemView):
        under = under.childAt(position) or under
    over, global_position = QPointF(position), QPointF(area.viewport().mapToGlobal(position))
    QApplication.sendEvent(area.viewport(), QEnterEvent(over, over, global_position))
    none = Qt.MouseButton.NoButton
    QApplication.sendEvent(
        under, QMouseEvent(QEvent.Type.MouseMove, over, global_position, none, none, Qt.KeyboardModifier.NoModifier)
    )


def leave(area: QAbstractScrollArea) -> None:
    """Move the pointer away."""
    QApplication.sendEvent(area.viewport(), QEvent(QEvent.Type.Leave))
