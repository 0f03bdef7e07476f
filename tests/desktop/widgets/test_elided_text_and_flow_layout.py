"""Small widgets: elided text, flow, accessible names, localized numbers."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedButton, ElidedLabel, FlowLayout, IconButton, fit_window


def test_an_elided_label_keeps_its_text_and_shows_it_as_a_tool_tip(qtbot: QtBot) -> None:
    made = ElidedLabel("a rather long line of text")
    qtbot.addWidget(made)
    made.resize(60, 20)
    made.grab()
    assert made.text() == made.toolTip() == "a rather long line of text"
    made.resize(600, 20)
    made.grab()
    assert made.toolTip() == ""
    large = made.font()
    large.setPixelSize(80)
    made.setFont(large)
    made.grab()
    assert made.toolTip() == made.text()
    made.setText("short")
    made.grab()
    assert made.toolTip() == ""


def test_an_elided_button_shows_its_text_as_a_tool_tip_unless_it_has_one(qtbot: QtBot) -> None:
    made = ElidedButton()
    qtbot.addWidget(made)
    made.setText("Martin && Sons, a rather long line of text")
    made.resize(60, 20)
    made.grab()
    assert made.toolTip() == "Martin & Sons, a rather long line of text"
    made.resize(600, 20)
    made.grab()
    assert made.toolTip() == ""
    made.setToolTip("Open it")
    made.resize(60, 20)
    made.grab()
    assert made.toolTip() == "Open it"


def test_flow_layout_wraps_like_words(qtbot: QtBot) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    flow = FlowLayout(host, 10)
    for _ in range(3):
        item = QLabel()
        item.setFixedSize(100, 20)
        flow.addWidget(item)
    assert flow.heightForWidth(320) == 20
    assert flow.heightForWidth(319) == 50
    assert flow.heightForWidth(100) == 80


def test_flow_layout_centres_the_items_of_a_line(qtbot: QtBot) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    flow = FlowLayout(host, 10)
    high, low = QLabel(host), QLabel(host)
    high.setFixedSize(100, 31)
    low.setFixedSize(100, 25)
    flow.addWidget(high)
    flow.addWidget(low)
    flow.setGeometry(QRect(0, 0, 300, 31))
    assert (high.y(), low.y()) == (0, 3)


def test_icon_button_has_an_accessible_name(qtbot: QtBot) -> None:
    button = IconButton("settings", "Settings")
    qtbot.addWidget(button)
    button.describe("Open", "Ctrl+O")
    assert button.accessibleName() == "Open"
    assert "Ctrl+O" in button.toolTip()


def test_a_window_that_grows_with_the_text_stays_on_its_screen(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    fit_window(window, QSize(400, 300))
    window.show()
    qtbot.waitExposed(window)
    room = window.screen().availableGeometry()
    window.move(room.right() - 400, room.bottom() - 300)
    theme().set_scale(150)
    assert window.width() == 600
    assert room.contains(window.frameGeometry())
    window.hide()
    theme().set_scale(100)
    window.move(room.right() - 400, room.bottom() - 300)
    theme().set_scale(150)
    window.show()
    assert room.contains(window.frameGeometry()), "also when it was closed meanwhile"
