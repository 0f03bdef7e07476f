"""Common style and behaviour of tables: row selection, no grid, smooth scrolling, Tab leaves, visible focus frame."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from atelier_desk.desktop.theme import mark, theme

_RADIUS = 6


class FramedDelegate(QStyledItemDelegate):
    """A cell with an accent frame around it, or around its row, while focused."""

    def __init__(self, table: QTableView, *, cells: bool) -> None:
        super().__init__(table)
        self._table, self._cells = table, cells

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        option.state &= ~QStyle.StateFlag.State_HasFocus  # the style's own mark is barely visible

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        self.frame(painter, option, index)

    def frame(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw this cell's part of the frame, if any."""
        current = self._table.currentIndex()
        if (
            not self._table.hasFocus()
            or index.row() != current.row()
            or (self._cells and index.column() != current.column())
        ):
            return
        rect = QRect(option.rect)
        if not self._cells:
            header = self._table.horizontalHeader()
            rect.setLeft(-header.offset())
            rect.setWidth(header.length())
        painter.save()
        painter.setClipRect(option.rect)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme().colour("accent"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(rect).adjusted(1.5, 1.5, -1.5, -1.5), _RADIUS, _RADIUS)
        painter.restore()


def style_table(table: QTableView, *, cells: bool = False) -> None:
    """Set up a new table; columns, heights and editing are left to the caller.

    ``cells``: the focus moves by cells, else by rows.
    """
    table.verticalHeader().hide()
    table.horizontalHeader().setHighlightSections(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.setWordWrap(False)
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    table.setItemDelegate(FramedDelegate(table, cells=cells))
    mark(table, "plain")
