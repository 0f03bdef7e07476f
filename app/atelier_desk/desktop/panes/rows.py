"""Whose menu is asked for in a list, by pointer or by key."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractItemView


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
