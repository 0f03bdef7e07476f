"""A card that is a radio button: a title, what it means, and perhaps more fields once it is chosen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QRadioButton, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Card, Pill, control, fill, label


class ChoiceCard(Card):
    """The whole card chooses. ``extra`` is shown only while it is chosen; whoever holds several unchecks the others."""

    chosen = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(f"choice-{name}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.name = name
        self.radio = control(QRadioButton(self), f"radio-{name}")
        self.radio.setAutoExclusive(False)
        self.hint = label("", "muted", self, wrap=True)
        self.pill = Pill("", "ok", self)
        self.pill.hide()
        top = fill(QHBoxLayout(), (self.radio, 1), self.pill)
        self.body.setSpacing(2)
        self.body.addLayout(top)
        self.extra = QWidget(self)
        self.extra.hide()
        inner = fill(QVBoxLayout(), self.hint, self.extra, margins=(28, 0, 0, 2), spacing=8)
        self.body.addLayout(inner)
        self.radio.toggled.connect(self._toggled)

    def set_texts(self, title: str, hint: str, pill: str = "") -> None:
        self.radio.setText(title)
        self.radio.setAccessibleDescription(hint)
        self.hint.setText(hint)
        self.pill.setText(pill)
        self.pill.setVisible(bool(pill))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.radio.setChecked(True)
        self.radio.setFocus()
        event.accept()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange:
            self.hint.setEnabled(self.isEnabled())

    def _toggled(self, on: bool) -> None:
        mark(self, "card-selected" if on else "card")
        layout = self.extra.layout()
        self.extra.setVisible(on and layout is not None and layout.count() > 0)
        if on:
            self.chosen.emit()
