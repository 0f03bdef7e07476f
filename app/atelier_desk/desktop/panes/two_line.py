"""A list item of two lines: what it is, and small beneath it what is known of it. Both lines are elided, never cut or scrolled."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QPainter
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QStyledItemDelegate, QStyleOptionViewItem

from atelier_desk.desktop.panes.rows import paint_ground, quiet
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.steady import OverlayBar
from atelier_desk.desktop.widgets.words import bind
from atelier_desk.domain.text import visible

_Index = QModelIndex | QPersistentModelIndex
KeyRole = Qt.ItemDataRole.UserRole
FactsRole = Qt.ItemDataRole.UserRole + 1
IconRole = Qt.ItemDataRole.UserRole + 2
PictureRole = Qt.ItemDataRole.UserRole + 3
"""A ``QImage`` in place of the icon, which becomes a dot of its colour in the corner."""


def two_line_item(view: QListWidget, key: str, title: str, facts: str, icon: str = "", role: Role = "muted") -> QListWidgetItem:
    """Append an item; ``key`` identifies it."""
    title, facts = visible(title), visible(facts)
    item = QListWidgetItem(title, view)
    item.setData(KeyRole, key)
    item.setData(FactsRole, facts)
    item.setData(IconRole, (icon, role))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{title}, {facts}" if facts else title)
    item.setToolTip("\n".join(filter(None, (title, facts))))
    return item


class TwoLineDelegate(QStyledItemDelegate):
    """Paints such items; an item without facts has one line."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        height = QFontMetrics(theme().font(14)).height() + theme().px(12)
        if index.data(FactsRole):
            height += QFontMetrics(theme().font(12)).height()
        return QSize(theme().px(80), height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        tokens = theme().tokens
        painter.save()
        area = paint_ground(painter, option, 1)
        left, top = area.left() + theme().px(10), area.top() + theme().px(6)
        picture: tuple[str, Role] = index.data(IconRole) or ("", "muted")
        name, role = picture
        font, small = theme().font(14), theme().font(12)
        metrics = QFontMetrics(font)
        if name:
            side = theme().px(16)
            at_y = top + (metrics.height() - side) // 2
            picture_of_its_own = index.data(PictureRole)
            if isinstance(picture_of_its_own, QImage):
                painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
                painter.drawImage(_fitted(QRect(left, at_y, side, side), picture_of_its_own), picture_of_its_own)
                dot = side // 3
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(theme().colour(role)))
                painter.drawEllipse(QRect(left + side - dot, at_y + side - dot, dot, dot))
            else:
                painter.drawPixmap(left, at_y, theme().pixmap(name, role, side, painter.device().devicePixelRatioF()))
            left += side + theme().px(8)
        width = area.right() - theme().px(8) - left
        painter.setFont(font)
        painter.setPen(QColor(tokens.text))
        title = str(index.data(Qt.ItemDataRole.DisplayRole))
        line = QRect(left, top, width, metrics.height())
        centre = int(Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(line, centre, metrics.elidedText(title, Qt.TextElideMode.ElideRight, width))
        facts = index.data(FactsRole)
        if facts:
            painter.setFont(small)
            painter.setPen(quiet(option))
            below = QRect(left, line.bottom() + 1, width, QFontMetrics(small).height())
            painter.drawText(below, centre, QFontMetrics(small).elidedText(facts, Qt.TextElideMode.ElideRight, width))
        painter.restore()


def _fitted(place: QRect, picture: QImage) -> QRect:
    """Where the whole picture lies in a place, as wide to high as it is."""
    size = picture.size().scaled(place.size(), Qt.AspectRatioMode.KeepAspectRatio)
    found = QRect(place.topLeft(), size)
    found.moveCenter(place.center())
    return found


def dress_list(view: QListWidget) -> None:
    """Make a list widget show two-line items."""
    view.setItemDelegate(TwoLineDelegate(view))
    view.setMouseTracking(True)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    OverlayBar(view)
    bind(view.scheduleDelayedItemsLayout)
