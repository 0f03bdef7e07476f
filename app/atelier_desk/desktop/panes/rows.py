"""What the lists of the panes share: the ground under a row, and whose menu is asked for, by pointer or by key."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyleOptionViewItem

from atelier_desk.desktop.theme import theme


def paint_ground(painter: QPainter, option: QStyleOptionViewItem, edge: int = 0) -> QRect:
    """A soft ground under the selected row and the one under the pointer, ``edge`` pixels inside it, and a frame around the one with the
    keyboard; returns the row's place."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    area = option.rect
    selected = bool(option.state & QStyle.StateFlag.State_Selected)
    if selected or option.state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().colour("accent_soft" if selected else "hover"))
        painter.drawRoundedRect(area.adjusted(2, edge, -2, -edge), 6, 6)
    if option.state & QStyle.StateFlag.State_HasFocus:
        painter.setPen(theme().colour("accent"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(area.adjusted(2, edge, -2, -edge)).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
    return area


def quiet(option: QStyleOptionViewItem) -> QColor:
    """The colour of what is said quietly in a row, which can be read on the ground of a selected one too."""
    return theme().colour("muted_text" if option.state & QStyle.StateFlag.State_Selected else "muted")


def menu_place(view: QAbstractItemView, event: QContextMenuEvent) -> QPoint | None:
    """Where on the screen a row's menu goes, None where there is no row: of the row that was clicked, or the current one by key.

    A row that is clicked becomes the current one. Qt gives the menu key the middle of the list, which says nothing about the row.
    """
    event.accept()
    clicked = event.reason() is QContextMenuEvent.Reason.Mouse
    index = view.indexAt(event.pos()) if clicked else view.currentIndex()
    if not index.isValid():
        return None
    view.setCurrentIndex(index)
    return event.globalPos() if clicked else view.viewport().mapToGlobal(view.visualRect(index).bottomLeft())
