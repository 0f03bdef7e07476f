"""What the middle of the window shows from its first paint until the engine has opened the data."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from atelier_desk.desktop.widgets import bind_text, control, fill, label
from atelier_desk.desktop.widgets.spinner import Spinner
from atelier_desk.support.i18n import N_


class OpeningPage(QWidget):
    """``opening-page``: a turning arc and a line, so that an empty window is not taken for empty data."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        control(self, "opening-page")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # or a button had the keyboard, and the first space that is typed pressed it
        self._doing = bind_text(label("", "muted", self), N_("Opening your workflows…"))
        line = fill(QHBoxLayout(), 1, Spinner(self), self._doing, 1, spacing=10)
        line.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        fill(QVBoxLayout(self), 1, line, 1)
        bind_text(self, name=N_("Opening your workflows…"))

    def show_step(self, words: str) -> None:
        """Say what is done instead, in the language of the window."""
        self._doing.setText(words)
        self.setAccessibleName(words)
