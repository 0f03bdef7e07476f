"""The focus rule: when the focused widget disappears, the composer gets the focus; deliberate focus stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer_focus import ComposerFocus
from atelier_desk.desktop.widgets import IconButton, control


class Room(QMainWindow):
    """A window with a search field, a card with a button, a list and a composer."""

    def __init__(self) -> None:
        super().__init__()
        self.search, self.allow, self.other, self.field = (
            QLineEdit(),
            QPushButton("Allow"),
            QLineEdit(),
            QPlainTextEdit(),
        )
        inner = QWidget()
        column = QVBoxLayout(inner)
        for widget in (self.search, self.allow, self.other, self.field):
            column.addWidget(widget)
        self.setCentralWidget(inner)
        self.keeper = ComposerFocus(self, lambda: self.field if self.field.isVisible() else None)


@pytest.fixture
def room(qtbot: QtBot) -> Iterator[Room]:
    made = Room()
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    yield made
    made.close()


def has(widget: QWidget) -> bool:
    return QApplication.focusWidget() is widget


@pytest.mark.parametrize("removal", ["hide", "disable", "delete"])
def test_when_a_focused_button_disappears_the_composer_gets_the_focus(qtbot: QtBot, room: Room, removal: str) -> None:
    room.allow.setFocus()
    qtbot.waitUntil(lambda: has(room.allow))
    if removal == "hide":
        room.allow.hide()
    elif removal == "disable":
        room.allow.setEnabled(False)
    else:
        room.allow.hide()
        room.allow.deleteLater()
    qtbot.waitUntil(lambda: has(room.field))


def test_deliberate_focus_stays(qtbot: QtBot, room: Room) -> None:
    room.allow.setFocus()
    room.allow.hide()
    room.search.setFocus()
    qtbot.wait(20)
    assert has(room.search)


def test_focus_changes_by_tab_or_click_are_left_alone(qtbot: QtBot, room: Room) -> None:
    room.search.setFocus()
    QTest.keyClick(room.search, Qt.Key.Key_Tab)
    qtbot.wait(20)
    assert has(room.allow)


def test_an_unused_escape_focuses_the_composer(room: Room) -> None:
    room.search.setFocus()
    QTest.keyClick(room.search, Qt.Key.Key_Escape)
    assert has(room.field)


def test_after_a_dialog_the_composer_has_the_focus(qtbot: QtBot, room: Room) -> None:
    room.search.setFocus()
    dialog = QDialog(room)
    QLineEdit(dialog).setFocus()
    dialog.open()
    qtbot.waitUntil(dialog.isActiveWindow)
    dialog.reject()
    room.activateWindow()  # as a window manager does
    qtbot.waitUntil(lambda: has(room.field))


def test_without_a_visible_composer_the_focus_stays(room: Room) -> None:
    room.field.hide()
    room.search.setFocus()
    QTest.keyClick(room.search, Qt.Key.Key_Escape)
    assert has(room.search)


def test_a_click_on_a_button_does_not_move_the_focus(room: Room) -> None:
    button, icon = control(QPushButton("Do", room), "do", on=bool), IconButton("plus", "Add", room)
    room.field.setFocus()
    for each in (button, icon):
        each.show()
        QTest.mouseClick(each, Qt.MouseButton.LeftButton)
        assert has(room.field)
        assert each.focusPolicy() & Qt.FocusPolicy.TabFocus, "the keyboard reaches it all the same"


def test_an_unused_letter_is_typed_into_the_composer(room: Room) -> None:
    view = QScrollArea(room)  # like the messages: a click on a button in a card focuses it
    view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    view.show()
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Space)
    QTest.keyClick(view, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert has(view)
    assert not room.field.toPlainText()
    QTest.keyClicks(view, "H")
    assert has(room.field)
    QTest.keyClicks(room.field, "i")
    assert room.field.toPlainText() == "Hi"
    room.search.setFocus()
    QTest.keyClicks(room.search, "x")
    assert (room.search.text(), room.field.toPlainText()) == ("x", "Hi"), "an input keeps the focus"
    room.field.hide()
    view.setFocus()
    QTest.keyClicks(view, "y")
    assert has(view), "no composer is in view"
