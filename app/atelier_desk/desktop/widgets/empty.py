"""What a list shows when it has nothing."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.basic import fill, label


class EmptyState(QWidget):
    """An icon, a line, a hint and, when given, one button. ``set_texts`` changes the words."""

    def __init__(self, icon: str, title: str = "", hint: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name = icon
        self._icon = QLabel(self)
        self._title = label(title, "strong", self, wrap=True)
        self._hint = label(hint, "muted", self, wrap=True)
        self.button = QPushButton(self)
        self.button.hide()
        layout = fill(QVBoxLayout(self), 1, margins=(16, 24, 16, 24), spacing=8)
        for widget in (self._icon, self._title, self._hint):
            if isinstance(widget, QLabel):
                widget.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            layout.addWidget(widget)
        fill(layout, (self.button, 0, Qt.AlignmentFlag.AlignHCenter), 2)
        self._hint.setVisible(bool(hint))
        theme().changed.connect(self._dress)
        self._dress()

    def set_texts(self, title: str, hint: str = "", button: str = "") -> None:
        self._title.setText(title)
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))
        self.button.setText(button)
        self.button.setVisible(bool(button))

    def on_button(self, action: Callable[[], object]) -> None:
        self.button.clicked.connect(lambda *_: action())

    def _dress(self) -> None:
        self._icon.setPixmap(theme().pixmap(self._icon_name, "muted", theme().px(22), self.devicePixelRatioF()))
