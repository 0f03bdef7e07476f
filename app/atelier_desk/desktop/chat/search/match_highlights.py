"""Search highlights in any text of the transcript."""

from __future__ import annotations

from PySide6.QtGui import QColor, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QTextEdit

from atelier_desk.desktop.theme import theme


def places(document: QTextDocument, needle: str, reached: int = -1) -> list[QTextEdit.ExtraSelection]:
    """A selection for each match of ``needle``, ignoring case, in order; number ``reached`` is emphasized."""
    marks: list[QTextEdit.ExtraSelection] = []
    if not needle:
        return marks
    tokens = theme().tokens
    form, strong = QTextCharFormat(), QTextCharFormat()
    form.setBackground(QColor(tokens.warn_soft))
    form.setForeground(QColor(tokens.text))
    form.setFontUnderline(True)
    strong.setBackground(QColor(tokens.accent))
    strong.setForeground(QColor(tokens.on_accent))
    cursor = document.find(needle)
    while not cursor.isNull():
        mark = QTextEdit.ExtraSelection()
        mark.cursor, mark.format = cursor, strong if len(marks) == reached else form
        marks.append(mark)
        cursor = document.find(needle, cursor)
    return marks
