"""The selected text of the focused widget."""

from __future__ import annotations

from PySide6 import QtWidgets  # for the large fields: importing them makes their classes before the first paint
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget


def selected_text(widget: QWidget | None) -> str:
    """The selection of a text, field or label; empty if there is none, and for passwords."""
    if isinstance(widget, QtWidgets.QPlainTextEdit | QtWidgets.QTextEdit):
        # Qt uses special characters for paragraph and line ends.
        return widget.textCursor().selectedText().replace("\u2029", "\n").replace("\u2028", "\n")
    if isinstance(widget, QLineEdit):
        return widget.selectedText() if widget.echoMode() is QLineEdit.EchoMode.Normal else ""
    return widget.selectedText() if isinstance(widget, QLabel) else ""
