"""Columns stay in place when a scroll bar appears."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidget
from pytestqt.qtbot import QtBot
from shiboken6 import invalidate

from atelier_desk.desktop.widgets.scroll_bar_space import OverlayBar


def test_a_list_keeps_its_width_and_its_scroll_bar_works(qtbot: QtBot) -> None:
    view = QListWidget()
    qtbot.addWidget(view)
    view.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
    bar = OverlayBar(view)
    view.resize(200, 100)
    view.addItem("0")
    view.show()
    before = view.viewport().width()
    assert bar.isHidden()
    view.addItems([str(number) for number in range(50)])
    view.scrollToBottom()
    assert bar.isVisible()
    assert view.viewport().width() == before
    own = view.verticalScrollBar()
    assert (bar.maximum(), bar.pageStep(), bar.value()) == (own.maximum(), own.pageStep(), own.maximum())
    edge = view.viewport().geometry()
    assert (bar.geometry().right(), bar.height()) == (edge.right(), edge.height())
    bar.setValue(20)
    assert own.value() == 20
    view.takeItem(0)
    assert own.value() == bar.value() == 20, "a shorter list stays where it is"
    view.setCurrentRow(0)
    assert bar.value() == 0
    QTest.keyClick(view, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: bar.value() == bar.maximum() > 20)
    view.clear()
    qtbot.waitUntil(bar.isHidden)


def test_the_scroll_bar_works_when_the_wrapper_of_the_lists_own_bar_is_lost(qtbot: QtBot) -> None:
    """It happens in long sessions: Qt's bar lives on, but its Python wrapper does not."""
    rows = QListWidget()
    qtbot.addWidget(rows)
    bar = OverlayBar(rows)
    rows.resize(200, 100)
    rows.show()
    invalidate(rows.verticalScrollBar())

    rows.addItems([str(number) for number in range(50)])

    qtbot.waitUntil(lambda: bar.isVisible() and bar.maximum() > 0)
    bar.setValue(5)
    assert rows.verticalScrollBar().value() == 5
    rows.verticalScrollBar().setValue(9)
    assert bar.value() == 9
