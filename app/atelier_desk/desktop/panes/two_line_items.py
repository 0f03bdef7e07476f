"""List items of two lines: a title, and small facts below."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem

from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.list_rows import ListRow, RowDelegate, show_row
from atelier_desk.desktop.widgets.scroll_bar_space import OverlayBar

KeyRole = Qt.ItemDataRole.UserRole


def two_line_item(
    view: QListWidget,
    key: str,
    title: str,
    facts: str,
    icon: str = "",
    role: Role = "muted",
    picture: QImage | None = None,
) -> QListWidgetItem:
    """Append an item; ``key`` identifies it, ``picture`` replaces the icon."""
    item = QListWidgetItem()
    item.setData(KeyRole, key)
    show_row(item, ListRow(title, facts=facts, icon=icon or None, role=role, picture=picture))
    view.addItem(item)
    return item


def style_list(view: QAbstractItemView, rows: RowDelegate | None = None) -> None:
    """Set up a list or tree to show rows in its full width; ``rows`` paints them, else each is a widget of its item."""
    view.setProperty("rows", True)
    view.setItemDelegate(rows or RowDelegate(view))
    view.setMouseTracking(True)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    OverlayBar(view)
    bind(view.scheduleDelayedItemsLayout)
