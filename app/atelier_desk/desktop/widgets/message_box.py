"""A message box whose texts may be from elsewhere."""

from __future__ import annotations

import re
import unicodedata

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.domain.text import visible

MOST = 1500
"""Characters of a text: with the usual font a box of them, title and buttons, fits a screen of 768 pixels."""
LINES = 20
_BREAK = "\u200b"
"""A line may be broken here; ``visible`` writes those of the text itself out."""
_LONG = re.compile("[\\S\xa0\u2007\u202f]{41,}")
_PART = 30


class MessageBox(QMessageBox):
    """Plain text in which every character is seen, bounded, and broken in long words: Qt would cut them off at the edge, and lay out a very
    long one for seconds. It is deleted when it is closed."""

    def __init__(self, parent: QWidget | None, name: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setText(self, text: str) -> None:
        super().setText(_fitted(text))

    def text(self) -> str:
        return super().text().replace(_BREAK, "")

    def setInformativeText(self, text: str) -> None:
        super().setInformativeText(_fitted(text))

    def informativeText(self) -> str:
        return super().informativeText().replace(_BREAK, "")

    def setDetailedText(self, text: str) -> None:
        super().setDetailedText(_LONG.sub(_broken, visible(text)))

    def add(self, text: str, name: str, role: QMessageBox.ButtonRole, look: str = "") -> QPushButton:
        """A button of its own."""
        button = QPushButton(text, self)
        button.setObjectName(name)
        if look:
            mark(button, look)
        self.addButton(button, role)
        return button


def _fitted(text: str) -> str:
    """Of a text that is too long the beginning and the end."""
    lines = visible(text).split("\n")
    if len(lines) > LINES:
        lines = [*lines[: LINES * 2 // 3], "…", *lines[-(LINES // 3) :]]
    text = "\n".join(lines)
    if len(text) > MOST:
        text = f"{text[: MOST * 2 // 3]} … {text[-(MOST // 3) :]}"
    return _LONG.sub(_broken, text)


def _broken(found: re.Match[str]) -> str:
    word, parts, start = found[0], [], 0
    while start < len(word):
        end = start + _PART
        while end < len(word) and unicodedata.category(word[end])[0] in "MC":  # marks and joiners stay with their letter
            end += 1
        parts.append(word[start:end])
        start = end
    return _BREAK.join(parts)
