"""The focus frame of tables."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QTableWidget, QTableWidgetItem, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.table_style import style_table


@pytest.mark.parametrize("cells", [False, True])
def test_a_frame_marks_the_focused_cell_only(qtbot: QtBot, cells: bool) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field, table = QLineEdit(), QTableWidget(3, 3)
    column = QVBoxLayout(window)
    column.addWidget(field)
    column.addWidget(table)
    for row in range(3):
        for place in range(3):
            table.setItem(row, place, QTableWidgetItem("x"))
    style_table(table, cells=cells)
    window.resize(500, 300)
    window.show()
    table.setCurrentCell(1, 1)

    def framed() -> list[tuple[int, int]]:
        """Cells whose upper edge has the accent colour."""
        picture, accent = table.viewport().grab().toImage(), theme().colour("accent").rgb()
        margin = range(4)
        return [
            (row, place)
            for row in range(3)
            for place in range(3)
            if any(
                picture.pixel(
                    table.visualRect(table.model().index(row, place)).center().x(), table.rowViewportPosition(row) + y
                )
                == accent
                for y in margin
            )
        ]

    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    assert framed() == []
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    assert framed() == ([(1, 1)] if cells else [(1, 0), (1, 1), (1, 2)])
    QTest.keyClick(table, Qt.Key.Key_Down)
    assert framed() == ([(2, 1)] if cells else [(2, 0), (2, 1), (2, 2)])
