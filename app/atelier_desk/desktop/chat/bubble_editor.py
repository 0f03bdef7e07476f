"""The field in which a sent message is changed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Translated
from atelier_desk.i18n import _


class BubbleEditor(Translated, QFrame):
    """The field that stands in a bubble's place while it is edited."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        mark(self, "composer")
        self.field = QPlainTextEdit(text, self)
        self.field.setObjectName("edit-field")
        mark(self.field, "plain")
        self.cancelled = QPushButton(self)
        self.cancelled.setObjectName("edit-cancel")
        self.sent = QPushButton(self)
        self.sent.setObjectName("edit-send")
        mark(self.sent, "primary")
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.cancelled)
        row.addWidget(self.sent)
        box = QVBoxLayout(self)
        box.setContentsMargins(14, 12, 12, 12)
        box.addWidget(self.field, 1)
        box.addLayout(row)
        self.retranslate()

    def retranslate(self) -> None:
        self.field.setAccessibleName(_("Edit the message"))
        self.cancelled.setText(_("Cancel"))
        self.sent.setText(_("Send"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.click()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.sent.click()
        else:
            super().keyPressEvent(event)
