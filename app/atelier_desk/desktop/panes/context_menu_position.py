"""Positions of context menus in lists."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractItemView


def menu_place(view: QAbstractItemView, event: QContextMenuEvent) -> QPoint | None:
    """Screen position of a row's menu: of the clicked row, or the current one by key. None without a row.

    A clicked row becomes current. For the menu key Qt would use the middle of the list, which is unrelated to the
    row.
    """
    event.accept()
    clicked = event.reason() is QContextMenuEvent.Reason.Mouse
    index = view.indexAt(event.pos()) if clicked else view.currentIndex()
    if not index.isValid():
        return None
    view.setCurrentIndex(index)
    return event.globalPos() if clicked else view.viewport().mapToGlobal(view.visualRect(index).bottomLeft())
