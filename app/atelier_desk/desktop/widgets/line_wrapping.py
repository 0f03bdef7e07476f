"""Line breaking. In a long run without blanks (a key, encoded data) every line would be measured to the run's end."""

from __future__ import annotations

import re

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QKeyEvent, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from atelier_desk.desktop.widgets.enter_key import sends

LONG_RUN = re.compile("[\\S\xa0\u2007\u202f]{1000}")
"""No-break spaces are part of a run."""


def wrap_mode(text: str) -> QTextOption.WrapMode:
    """At words, and inside long words; anywhere if a text has a run of 1 000 or more characters."""
    if LONG_RUN.search(text):
        return QTextOption.WrapMode.WrapAnywhere
    return QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


class TextField(QPlainTextEdit):
    """A field for untrusted text: a long run is broken anywhere before it is laid out.

    Attributes:
        enter_sends: Enter is left to the field's container, and Shift+Enter breaks the line.
    """

    def __init__(self, text: str | QWidget | None = "", parent: QWidget | None = None) -> None:
        super().__init__(parent if isinstance(text, str) else text)
        self.enter_sends = False
        if text and isinstance(text, str):
            self.setPlainText(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.enter_sends and sends(event):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def setPlainText(self, text: str) -> None:
        self.setWordWrapMode(wrap_mode(text))
        super().setPlainText(text)

    def setPlaceholderText(self, text: str) -> None:
        """Qt paints a hint that replaces another one only when something else is painted."""
        super().setPlaceholderText(text)
        self.viewport().update()

    def insertPlainText(self, text: str) -> None:
        self._make_room(text)
        super().insertPlainText(text)

    def insertFromMimeData(self, source: QMimeData) -> None:
        self._make_room(source.text())
        super().insertFromMimeData(source)

    def _make_room(self, text: str) -> None:
        if LONG_RUN.search(text):
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
