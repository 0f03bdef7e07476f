"""The look and the ways of every table: whole rows, no grid, smooth scrolling; Tab leaves it, and a frame shows where the keyboard is."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from atelier_desk.desktop.theme import mark, theme

_RADIUS = 6


class FramedDelegate(QStyledItemDelegate):
    """A cell as ever, with a frame in the accent colour around it, or around its row, while the keyboard is there."""

    def __init__(self, table: QTableView, *, cells: bool) -> None:
        super().__init__(table)
        self._table, self._cells = table, cells

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        option.state &= ~QStyle.StateFlag.State_HasFocus  # the style's own mark is hardly seen

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().paint(painter, option, index)
        self.frame(painter, option, index)

    def frame(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        """Draw this cell's part of the frame, if it has any."""
        current = self._table.currentIndex()
        if not self._table.hasFocus() or index.row() != current.row() or (self._cells and index.column() != current.column()):
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
    """Give a new table the looks and ways that all have. Columns, heights and what can be edited are its own; ``cells``: the keyboard goes
    from cell to cell, else from row to row.
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
