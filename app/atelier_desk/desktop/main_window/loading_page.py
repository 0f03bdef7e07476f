"""What the middle of the window shows from the first paint until the engine is open."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from atelier_desk.desktop.widgets import bind_text, control, fill, hbox, label
from atelier_desk.desktop.widgets.spinner import Spinner
from atelier_desk.support.i18n import N_


class OpeningPage(QWidget):
    """``opening-page``: a spinner and a line of text, so that an empty window is not mistaken for missing data."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        control(self, "opening-page")
        # Otherwise a button had the focus and the first space typed pressed it.
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._doing = bind_text(label("", "muted", self), N_("Opening your workflows…"))
        line = hbox(None, 1, Spinner(self), self._doing, 1, spacing=10)
        line.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        fill(QVBoxLayout(self), 1, line, 1)
        bind_text(self, name=N_("Opening your workflows…"))

    def show_step(self, words: str) -> None:
        """Show another step, in the language of the window."""
        self._doing.setText(words)
        self.setAccessibleName(words)
