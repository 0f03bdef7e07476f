"""A button that expands and collapses what is below it."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.widgets.language_theme_bindings import Text, bind_text, control
from atelier_desk.support.i18n import _


class Fold(QPushButton):
    """``▸ Advanced``, or ``▾ Advanced`` if expanded; its accessible name is the plain text."""

    def __init__(self, parent: QWidget, name: str, text: Text, body: QWidget | None) -> None:
        super().__init__(parent)
        self._shown_text = text
        control(self, name, look="quiet")
        self.setCheckable(True)
        self.setAutoDefault(False)
        bind_text(self, self._text, name=text)
        self.toggled.connect(lambda _open: bind_text(self))
        if body is not None:
            body.hide()
            self.toggled.connect(body.setVisible)

    def _text(self) -> str:
        text = self._shown_text() if callable(self._shown_text) else _(self._shown_text)
        return f"{'▾' if self.isChecked() else '▸'} {text}".rstrip()
