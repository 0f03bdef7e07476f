"""Enter presses the focused button in windows as it does in dialogs."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets import IconButton, control
from atelier_desk.desktop.widgets.enter_key import EnterPresses


class Room(QWidget):
    """A window that is no dialog."""

    def __init__(self) -> None:
        super().__init__()
        self.pressed: list[str] = []
        self.button = control(QPushButton("Fork"), "fork", on=lambda: self.pressed.append("fork"))
        self.icon = IconButton("plus", "Add", self)
        self.icon.clicked.connect(lambda *_: self.pressed.append("add"))
        self.box, self.field = QCheckBox("Wrap"), QLineEdit()
        self.field.returnPressed.connect(lambda: self.pressed.append("field"))
        column = QVBoxLayout(self)
        for widget in (self.button, self.icon, self.box, self.field):
            column.addWidget(widget)
        self.enter = EnterPresses(self)


@pytest.fixture
def room(qtbot: QtBot) -> Room:
    made = Room()
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def press(widget: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    widget.setFocus()
    assert QApplication.focusWidget() is widget
    QTest.keyClick(widget, key, modifiers)


def test_enter_presses_both_kinds_of_buttons(room: Room) -> None:
    press(room.button, Qt.Key.Key_Return)
    press(room.icon, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert room.pressed == ["fork", "add"]


def test_nothing_else_is_pressed(room: Room) -> None:
    press(room.button, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    press(room.box, Qt.Key.Key_Return)
    press(room.field, Qt.Key.Key_Return)
    room.button.setEnabled(False)
    press(room.field, Qt.Key.Key_A)
    assert room.pressed == ["field"]
    assert not room.box.isChecked()
