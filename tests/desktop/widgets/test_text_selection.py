"""The selected text of the focused widget."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QPushButton, QTextEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets.text_selection import selected_text


def test_texts_and_fields_have_a_selection_and_others_none(qtbot: QtBot) -> None:
    plain, rich, line, button = (
        QPlainTextEdit("one\ntwo"),
        QTextEdit("<b>red</b>"),
        QLineEdit("three"),
        QPushButton("four"),
    )
    for widget in (plain, rich, line, button):
        qtbot.addWidget(widget)
        assert selected_text(widget) == ""
    plain.selectAll()
    rich.selectAll()
    line.selectAll()
    assert [selected_text(each) for each in (plain, rich, line, button, None)] == ["one\ntwo", "red", "three", "", ""]
    line.setEchoMode(QLineEdit.EchoMode.Password)
    assert selected_text(line) == ""
