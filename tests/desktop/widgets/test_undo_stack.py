"""One undo shortcut for everything deleted in a window: typing first, then the newest deletion."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.pane_base import offer_undo
from atelier_desk.desktop.widgets import ToastHost

CTRL = Qt.KeyboardModifier.ControlModifier


class Window(QWidget):
    """A window with fields, like panes and settings."""

    toasts: ToastHost

    def __init__(self, qtbot: QtBot) -> None:
        super().__init__()
        qtbot.addWidget(self)
        self.line, self.text = QLineEdit(self), QPlainTextEdit(self)
        column = QVBoxLayout(self)
        column.addWidget(self.line)
        column.addWidget(self.text)
        self.back: list[str] = []
        self.show()
        self.activateWindow()

    def delete(self, deleted: str) -> None:
        offer_undo(self.line, f"{deleted} deleted", lambda: self.back.append(deleted))


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    made = Window(qtbot)
    qtbot.waitActive(made)
    return made


@pytest.mark.parametrize("name", ["line", "text"])
def test_typing_is_undone_first_and_then_the_newest_delete(window: Window, name: str) -> None:
    window.delete("Task")
    window.delete("Memory")
    field = getattr(window, name)
    field.setFocus()
    QTest.keyClicks(field, "x")
    undone: list[list[str]] = []
    for _ in range(4):
        QTest.keyClick(field, Qt.Key.Key_Z, CTRL)
        undone.append(list(window.back))
    assert undone == [[], ["Memory"], ["Memory", "Task"], ["Memory", "Task"]]
    assert (field.text() if name == "line" else field.toPlainText()) == ""


def test_the_message_closes_with_its_undo_and_neither_undoes_twice(window: Window) -> None:
    window.delete("Task")
    toast = window.toasts.current
    assert toast is not None
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert window.back == ["Task"]
    assert window.toasts.current is None
    window.delete("Memory")
    toast = window.toasts.current
    assert toast is not None
    toast.button.click()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert window.back == ["Task", "Memory"]


def test_a_read_only_text_does_not_consume_the_undo_key(window: Window) -> None:
    window.delete("Agent")
    window.text.setPlainText("shown")
    window.text.setReadOnly(True)
    window.text.setFocus()
    QTest.keyClick(window.text, Qt.Key.Key_Z, CTRL)
    assert window.back == ["Agent"]


@pytest.mark.parametrize("name", ["line", "text"])
def test_deleting_a_focused_field_does_not_lose_the_undo(qtbot: QtBot, window: Window, name: str) -> None:
    window.delete("Agent")
    field = getattr(window, name)
    field.setFocus()
    with qtbot.waitSignal(field.destroyed):
        field.deleteLater()
    QTest.keyClick(window.focusWidget() or window, Qt.Key.Key_Z, CTRL)
    assert window.back == ["Agent"]
