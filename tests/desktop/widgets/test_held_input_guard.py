"""Input that began before a dialog, sheet or menu came does not answer it: a key held down, a double click."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QCompleter,
    QDialog,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets.held_input_guard import InputGuard
from atelier_desk.desktop.widgets.message_box import MessageBox

ENTER, ESCAPE, SPACE = Qt.Key.Key_Return, Qt.Key.Key_Escape, Qt.Key.Key_Space
TEXTS = {ENTER: "\r", SPACE: " ", Qt.Key.Key_A: "a"}


class Room(QWidget):
    """A window with a field and a button, and what its dialogs were answered."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[str] = []
        self.field, self.button = QPlainTextEdit(self), QPushButton("Open", self)
        column = QVBoxLayout(self)
        column.addWidget(self.field)
        column.addWidget(self.button)
        self.resize(700, 500)


@pytest.fixture
def room(qtbot: QtBot) -> Room:
    made = Room()
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    InputGuard(application, made)
    return made


def send(key: Qt.Key, *, repeat: bool = False, kind: QEvent.Type = QEvent.Type.KeyPress) -> None:
    """Deliver a key as the system does: to the window that has the keyboard."""
    window = QApplication.focusWindow()
    if window is None:  # the key closed it
        assert kind is QEvent.Type.KeyRelease
        return
    event = QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, TEXTS.get(key, ""), repeat)
    QApplication.sendEvent(window, event)


def sheet(room: Room, qtbot: QtBot) -> MessageBox:
    made = MessageBox(room, "sheet")
    made.setText("Delete it?")
    made.setDefaultButton(made.add("Delete", "yes", QMessageBox.ButtonRole.DestructiveRole))
    made.add("Keep", "no", QMessageBox.ButtonRole.RejectRole)
    made.buttonClicked.connect(lambda button: room.answers.append(button.text()))
    made.finished.connect(lambda _: room.answers.append("closed"))
    made.open()
    assert made._shade is not None
    made._shade.give_keyboard()  # the pause ends before keys begin to repeat
    return made


def dialog(room: Room, qtbot: QtBot) -> QDialog:
    made = QDialog(room)
    button = QPushButton("Delete", made)
    button.clicked.connect(lambda: room.answers.append("Delete"))
    QVBoxLayout(made).addWidget(button)
    made.finished.connect(lambda _: room.answers.append("closed"))
    made.open()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def menu(room: Room, qtbot: QtBot) -> QMenu:
    made = QMenu(room)
    made.setActiveAction(made.addAction("Delete", lambda: room.answers.append("Delete")))
    made.aboutToHide.connect(lambda: room.answers.append("closed"))
    made.popup(room.mapToGlobal(room.rect().center()))
    return made


@pytest.mark.parametrize("opens", [sheet, dialog, menu])
@pytest.mark.parametrize("key", [ENTER, ESCAPE, SPACE])
@pytest.mark.parametrize("begun", ["field", "button"])
def test_a_key_that_was_down_answers_only_when_pressed_again(
    room: Room, qtbot: QtBot, opens: Callable[[Room, QtBot], QWidget], key: Qt.Key, begun: str
) -> None:
    getattr(room, begun).setFocus()
    send(key)
    opened = opens(room, qtbot)
    for _ in range(3):
        send(key, repeat=True)
        send(key, repeat=True, kind=QEvent.Type.KeyRelease)
    send(key, kind=QEvent.Type.KeyRelease)
    assert room.answers == []
    assert opened.isVisible()
    pressed = ENTER if opens is menu and key == SPACE else key  # menus ignore Space in some styles
    send(pressed)
    send(pressed, kind=QEvent.Type.KeyRelease)
    assert room.answers


def test_repeats_of_a_press_in_another_program_answer_nothing(room: Room, qtbot: QtBot) -> None:
    dialog(room, qtbot)
    send(ENTER, repeat=True)
    assert room.answers == []


def test_a_button_is_pressed_once(room: Room, qtbot: QtBot) -> None:
    opened = dialog(room, qtbot)
    send(ENTER)
    send(ENTER, repeat=True)
    assert room.answers == ["Delete"]
    assert opened.isVisible()


def test_keys_repeat_in_the_field_they_were_pressed_in(room: Room, qtbot: QtBot) -> None:
    room.field.setFocus()
    for key in (Qt.Key.Key_A, ENTER):
        send(key)
        send(key, repeat=True)
        send(key, kind=QEvent.Type.KeyRelease)
    assert room.field.toPlainText() == "aa\n\n"
    room.field.clear()
    send(Qt.Key.Key_B)  # an input method took the press of the next one
    send(Qt.Key.Key_A, repeat=True)
    assert room.field.toPlainText() == "a"


def test_a_release_forgets_where_a_key_was_pressed(room: Room, qtbot: QtBot) -> None:
    """An input method may take the next press; its repeats then go to the field that has the keyboard."""
    room.button.setFocus()
    send(Qt.Key.Key_A)
    send(Qt.Key.Key_A, kind=QEvent.Type.KeyRelease)
    room.field.setFocus()
    send(Qt.Key.Key_A, repeat=True)
    assert room.field.toPlainText() == "a"


def test_a_held_key_goes_on_while_the_proposals_of_its_field_open(room: Room, qtbot: QtBot) -> None:
    line = QLineEdit("abc", room)
    line.setGeometry(0, 0, 200, 30)
    line.show()
    line.setFocus()
    completer = QCompleter(["abx", "aby"], line)
    line.setCompleter(completer)
    send(Qt.Key.Key_Backspace)
    completer.setCompletionPrefix("ab")
    completer.complete()
    popup = completer.popup()
    assert popup is not None
    qtbot.waitUntil(popup.isVisible)
    send(Qt.Key.Key_Backspace, repeat=True)
    assert line.text() == "a"


def test_held_tab_goes_on_moving(room: Room, qtbot: QtBot) -> None:
    room.button.setFocus()
    send(Qt.Key.Key_Tab)
    before = QApplication.focusWidget()
    send(Qt.Key.Key_Tab, repeat=True)
    assert before is not None
    assert QApplication.focusWidget() is not before


def test_a_held_shortcut_does_not_run_in_a_dialog_that_came_meanwhile(room: Room, qtbot: QtBot) -> None:
    room.field.setFocus()
    send(Qt.Key.Key_A, kind=QEvent.Type.ShortcutOverride)
    dialog(room, qtbot)
    repeated = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier, "a", True)
    repeated.ignore()
    window = QApplication.focusWindow()
    assert window is not None
    QApplication.sendEvent(window, repeated)
    assert repeated.isAccepted()  # Qt then runs no shortcut


class Releases(QObject):
    """Counts the mouse buttons released over a widget."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.MouseButtonRelease
        return False


def click(window: QWidget, at: QPoint) -> None:
    handle = window.windowHandle()
    assert handle is not None
    # A test's clicks are further apart than a double click, unless the delay says otherwise.
    QTest.mouseClick(handle, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at, 1)


def test_the_second_click_of_a_double_click_answers_no_sheet_that_came_with_the_first(room: Room) -> None:
    over = QPushButton("Delete", room)
    over.hide()
    over.clicked.connect(lambda: room.answers.append("Delete"))

    def show() -> None:
        over.setGeometry(room.button.geometry())
        over.show()
        over.raise_()

    room.button.clicked.connect(show)
    at = room.button.geometry().center()
    click(room, at)
    assert over.isVisible()
    heard = Releases(over)
    click(room, at)
    assert room.answers == []
    assert heard.count == 0
    click(room, at)
    assert room.answers == ["Delete"]


def test_a_double_click_on_one_widget_is_one(room: Room) -> None:
    room.field.setPlainText("word")
    at = room.field.mapTo(room, room.field.cursorRect().center()) + QPoint(8, 2)
    click(room, at)
    click(room, at)
    assert room.field.textCursor().selectedText() == "word"
    clicked: list[str] = []
    room.button.clicked.connect(lambda: clicked.append("x"))
    for _ in range(4):
        click(room, room.button.geometry().center())
    assert len(clicked) == 4
