"""The look and the ways of every table of figures: whole rows, no grid, smooth scrolling, and Tab leaves it."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractItemView, QTableView

from atelier_desk.desktop.theme import mark


def dress_table(table: QTableView) -> None:
    """Give a new table the looks and ways that all have. Columns, heights and what can be edited are its own."""
    table.verticalHeader().hide()
    table.horizontalHeader().setHighlightSections(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.setWordWrap(False)
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    mark(table, "plain")
