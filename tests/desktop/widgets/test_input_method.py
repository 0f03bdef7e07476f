"""Keys that reach a field while an input method composes a word belong to the input method."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QListWidget, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.widgets.input_method import composing
from atelier_desk.desktop.widgets.line_wrapping import TextField


def compose(field: QWidget, text: str) -> None:
    QApplication.sendEvent(field, QInputMethodEvent(text, []))


def commit(field: QWidget, text: str) -> None:
    event = QInputMethodEvent("", [])
    event.setCommitString(text)
    QApplication.sendEvent(field, event)


def press(field: QWidget, key: Qt.Key) -> None:
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(field, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier))


def test_enter_and_arrows_in_the_message_field(qtbot: QtBot) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    composer.set_enabled(True)
    sent: list[str] = []
    composer.sent.connect(lambda text, *_: sent.append(text))
    field = composer.field
    field.history = lambda: ["earlier"]
    compose(field, "に")
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
        press(field, key)
    assert (sent, field.toPlainText()) == ([], "")
    commit(field, "日")
    press(field, Qt.Key.Key_Return)
    assert sent == ["日"]
    compose(field, "に")
    compose(field, "")  # cancelled
    press(field, Qt.Key.Key_Up)
    assert field.toPlainText() == "earlier"


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape])
@pytest.mark.parametrize("kind", [QLineEdit, TextField])
def test_enter_and_escape_in_a_dialog(qtbot: QtBot, kind: type[QLineEdit] | type[TextField], key: Qt.Key) -> None:
    composing()
    dialog = QDialog()
    qtbot.addWidget(dialog)
    field, button = kind(dialog), QPushButton("OK", dialog)
    button.setDefault(True)
    button.clicked.connect(dialog.accept)
    column = QVBoxLayout(dialog)
    column.addWidget(field)
    column.addWidget(button)
    with qtbot.waitActive(dialog):
        dialog.show()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    compose(field, "に")
    press(field, key)
    assert dialog.isVisible()
    commit(field, "日")
    if kind is QLineEdit or key == Qt.Key.Key_Escape:
        press(field, key)
        assert not dialog.isVisible()


def test_renaming_in_a_list(qtbot: QtBot) -> None:
    composing()
    rows = QListWidget()
    qtbot.addWidget(rows)
    rows.addItem("old")
    item = rows.item(0)
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
    with qtbot.waitActive(rows):
        rows.show()
    rows.setCurrentItem(item)
    rows.editItem(item)
    editor = rows.findChild(QLineEdit)
    assert editor is not None
    qtbot.waitUntil(editor.hasFocus)
    editor.selectAll()
    compose(editor, "に")
    press(editor, Qt.Key.Key_Return)
    assert editor.isVisible()
    commit(editor, "日")
    press(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: item.text() == "日")
