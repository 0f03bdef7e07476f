"""Tab order from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QListWidget, QMainWindow, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

import atelier_desk.desktop
from atelier_desk.desktop.widgets.tab_stops import tab_stops
from tests.helpers.child_widgets import child


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    shown = QMainWindow()
    qtbot.addWidget(shown)
    centre = QWidget()
    shown.setCentralWidget(centre)
    outer = QVBoxLayout(centre)
    outer.addWidget(QListWidget())
    card = QWidget()
    card.setObjectName("card")
    outer.addWidget(card)
    column = QVBoxLayout(card)
    second, first = QPushButton("second", card), QLineEdit("first", card)
    column.addWidget(first)
    column.addWidget(second)
    shown.show()
    return shown


def test_tab_stops_are_ordered_from_top_to_bottom_and_qts_own_objects_outlive_them(window: QMainWindow) -> None:
    bar = child(window, QListWidget).verticalScrollBar()
    card = child(window, QWidget, "card")
    assert [each.text() for each in tab_stops(card)] == ["first", "second"]  # type: ignore[attr-defined]
    card.deleteLater()
    QApplication.sendPostedEvents(card, QEvent.Type.DeferredDelete)
    assert not isValid(card)
    assert isValid(bar)
    assert bar.value() == 0


def test_nothing_in_the_window_walks_the_focus_chain() -> None:
    walks = re.compile(r"\.(next|previous)InFocusChain\(")
    files = Path(atelier_desk.desktop.__file__).parent.rglob("*.py")
    assert [each.name for each in files if walks.search(each.read_text("utf-8"))] == []
