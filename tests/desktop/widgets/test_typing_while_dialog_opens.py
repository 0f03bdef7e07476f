"""A dialog that comes while somebody types takes no key: what was typed is in the composer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer_focus import ComposerFocus
from atelier_desk.desktop.widgets.message_box import MessageBox


class Room(QWidget):
    """A window with a button and a composer; ``box`` asks a question in it."""

    def __init__(self) -> None:
        super().__init__()
        self.button, self.field = QPushButton("Folder"), QPlainTextEdit()
        column = QVBoxLayout(self)
        for widget in (QLabel("Messages"), self.button, self.field):
            column.addWidget(widget)
        ComposerFocus(self, lambda: self.field)
        self.answers: list[int] = []

    def ask(self) -> None:
        self.box = MessageBox(self, "test-box")
        self.box.setText("Do you trust it?")
        self.yes = self.box.add("Trust", "yes", QMessageBox.ButtonRole.YesRole)
        self.no = self.box.add("Do not trust", "no", QMessageBox.ButtonRole.NoRole)
        self.box.setDefaultButton(self.no)
        self.box.finished.connect(self.answers.append)
        self.box.open()


@pytest.fixture
def room(qtbot: QtBot) -> Iterator[Room]:
    made = Room()
    qtbot.addWidget(made)
    made.resize(800, 600)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    yield made
    made.close()


def type_(room: Room, text: str) -> None:
    """Each key goes where the keyboard is, as the system sends it."""
    for letter in text:
        target = room.no if room.box.isWindow() else QApplication.focusWidget()
        QTest.keyClicks(target or room, letter)


@pytest.mark.parametrize("size", [(800, 600), (120, 80)], ids=["sheet", "window of its own"])
@pytest.mark.parametrize("before", ["the composer", "a button", "nothing"])
def test_words_typed_when_a_question_comes_are_in_the_composer(
    qtbot: QtBot, room: Room, before: str, size: tuple[int, int]
) -> None:
    room.setMinimumSize(1, 1)
    room.resize(*size)
    focused = QApplication.focusWidget()
    if before == "nothing" and focused is not None:
        focused.clearFocus()  # as while a dialog for files closes
    elif before != "nothing":
        (room.field if before == "the composer" else room.button).setFocus()
    room.ask()
    type_(room, "is 1 ok")
    assert (room.field.toPlainText(), room.answers) == ("is 1 ok", [])
    qtbot.waitUntil(room.no.hasFocus)


def test_words_typed_later_are_there_too_and_the_question_waits_again(qtbot: QtBot, room: Room) -> None:
    room.ask()
    qtbot.waitUntil(room.no.hasFocus)
    type_(room, "tidy up")
    assert (room.field.toPlainText(), room.answers) == ("tidy up", [])
    qtbot.waitUntil(room.no.hasFocus)
    QTest.keyClick(room.no, Qt.Key.Key_Space)
    assert len(room.answers) == 1
    assert room.field.toPlainText() == "tidy up"


@pytest.mark.parametrize("size", [(800, 600), (120, 80)], ids=["sheet", "window of its own"])
def test_a_letter_presses_no_button_by_its_text(qtbot: QtBot, room: Room, size: tuple[int, int]) -> None:
    room.resize(*size)
    room.button.setFocus()
    room.ask()
    for text, role in (("&Yes", QMessageBox.ButtonRole.AcceptRole), ("&No", QMessageBox.ButtonRole.DestructiveRole)):
        room.box.add(text, text, role)
    qtbot.waitUntil(lambda: room.box.isWindow() or QApplication.focusWidget() is room.no)
    type_(room, "yn")
    assert not any(button.isDown() for button in room.box.buttons()), "nor after the animation of a click"
    assert room.answers == []
    assert room.field.toPlainText() == "yn"
