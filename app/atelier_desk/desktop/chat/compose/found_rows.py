"""A row of what ``@`` and ``/`` find: an icon, its name, and muted beside it what it is."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyledItemDelegate, QStyleOptionViewItem

from atelier_desk.desktop.panes.rows import paint_ground
from atelier_desk.desktop.panes.two_line import FactsRole, IconRole
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.text import visible

_Index = QModelIndex | QPersistentModelIndex
DataRole = Qt.ItemDataRole.UserRole
_NAME_SHARE = 0.7
"""Of the width, what a name may take at most while something stands beside it."""


def found_item(view: QListWidget, name: str, detail: str, icon: str, data: Any, about: str = "") -> QListWidgetItem:
    """Append a row; ``data`` is what taking it hands on, ``about`` is said when the pointer is on it."""
    name, detail = visible(name), visible(detail)
    item = QListWidgetItem(name, view)
    item.setData(DataRole, data)
    item.setData(FactsRole, detail)
    item.setData(IconRole, icon)
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{name}, {detail}" if detail else name)
    item.setToolTip(visible(about))
    return item


class FoundDelegate(QStyledItemDelegate):
    """Paints such rows on one line; the name is elided in its middle, what it is at its end."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(theme().px(80), QFontMetrics(theme().font(14)).height() + theme().px(10))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        tokens = theme().tokens
        painter.save()
        area = paint_ground(painter, option)
        left, side = area.left() + theme().px(10), theme().px(16)
        at_y = area.top() + (area.height() - side) // 2
        painter.drawPixmap(left, at_y, theme().pixmap(str(index.data(IconRole)), "muted", side, painter.device().devicePixelRatioF()))
        left += side + theme().px(8)
        width = area.right() - theme().px(8) - left
        name, detail = str(index.data(Qt.ItemDataRole.DisplayRole)), str(index.data(FactsRole) or "")
        font, small, centre = theme().font(14), theme().font(12), int(Qt.AlignmentFlag.AlignVCenter)
        metrics = QFontMetrics(font)
        room = round(width * _NAME_SHARE) if detail else width
        shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
        painter.setFont(font)
        painter.setPen(QColor(tokens.text))
        painter.drawText(QRect(left, area.top(), width, area.height()), centre, shown)
        taken = metrics.horizontalAdvance(shown) + theme().px(10)
        rest = QRect(left + taken, area.top(), width - taken, area.height())
        painter.setFont(small)
        painter.setPen(QColor(tokens.muted))
        painter.drawText(rest, centre, QFontMetrics(small).elidedText(detail, Qt.TextElideMode.ElideRight, rest.width()))
        painter.restore()
