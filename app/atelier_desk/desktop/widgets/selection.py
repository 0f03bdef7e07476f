"""The text a person selected in whatever has the keyboard focus."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QTextEdit, QWidget


def selected_text(widget: QWidget | None) -> str:
    """The selection of a text, a field or a label; empty when there is none. Passwords are nobody's to copy."""
    if isinstance(widget, QPlainTextEdit | QTextEdit):
        # Qt has its own signs for ends of paragraphs and lines.
        return widget.textCursor().selectedText().replace("\u2029", "\n").replace("\u2028", "\n")
    if isinstance(widget, QLineEdit):
        return widget.selectedText() if widget.echoMode() is QLineEdit.EchoMode.Normal else ""
    return widget.selectedText() if isinstance(widget, QLabel) else ""
