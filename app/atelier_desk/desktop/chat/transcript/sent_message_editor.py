"""The field for editing a sent message."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.enter_key import handle_enter, show_enter
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.support.i18n import N_, _

_HEIGHT = 160
"""Height in pixels at 100 %, without the text below the field."""
_LEFT, _RIGHT = 14, 12


class BubbleEditor(QFrame):
    """Replaces a bubble while its message is edited.

    Args:
        attached: names of the attachments sent again.
        again: what else is done again.
    """

    def __init__(self, text: str, parent: QWidget, attached: Sequence[str], again: Callable[[], str]) -> None:
        super().__init__(parent)
        mark(self, "composer")
        self.field = control(TextField(text, self), "edit-field", look="plain", name=N_("Edit message"))
        self.field.enter_sends = True
        self.cancelled = control(QPushButton(self), "edit-cancel", N_("Cancel"))
        self.sent = control(QPushButton(self), "edit-send", N_("Send"), look="primary")
        show_enter(self.sent)
        along = control(ElidedLabel("", self), "edit-attached", look="small")
        bind_text(along, (lambda: _("Attachments: {names}", names=", ".join(attached))) if attached else "")
        row = hbox(None, (along, 1), self.cancelled, self.sent)
        self.again = control(label("", "small", self, wrap=True), "edit-again")
        bind_text(self.again, again)
        self.again.setVisible(bool(self.again.text()))
        vbox(self, (self.field, 1), self.again, row, margins=(_LEFT, 12, _RIGHT, 12))

    def height_for(self, width: int) -> int:
        """Pixels needed at this width."""
        note = self.again.heightForWidth(width - _LEFT - _RIGHT) + 8 if not self.again.isHidden() else 0
        return theme().px(_HEIGHT) + note

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.click()
        elif not handle_enter(event, self, self.sent.click):
            super().keyPressEvent(event)
