"""Find in the source that is shown: a bar over it, with next and previous."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import IconButton, control, fill, label, say
from atelier_desk.figures import number
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.projects.code.text import SourceText


class FindInSource(QFrame):
    """``code-find``; hidden until it is entered. Enter and F3 go on, with Shift back, around the end.

    Signals:
        closed: give the keyboard back.
    """

    closed = Signal()

    def __init__(self, text: SourceText, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("code-find")
        mark(self, "side")
        self._text = text
        self._at = -1
        self.field = control(QLineEdit(self), "code-find-field", hint=N_("Find in this file"))
        self.field.setClearButtonEnabled(True)
        self.count = say(label("", "small", self), self._told, name=self._found)
        self.up = control(IconButton("chevron-up", parent=self), "code-find-up", tip=N_("Previous"), on=lambda: self.step(-1))
        self.down = control(IconButton("chevron-down", parent=self), "code-find-down", tip=N_("Next"), on=lambda: self.step(1))
        shut = control(IconButton("x", parent=self), "code-find-close", tip=N_("Close"), on=self.leave)
        fill(QHBoxLayout(self), (self.field, 1), self.count, self.up, self.down, shut, margins=(10, 4, 6, 4), spacing=6)
        self.field.textChanged.connect(lambda *_text: self.look())
        self.hide()

    def enter(self) -> None:
        """Show the bar and give it the keyboard; a part of a line that is chosen in the text is looked for."""
        chosen = self._text.textCursor().selectedText()
        if chosen and "\u2029" not in chosen:
            self.field.setText(chosen)
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self.look()

    def leave(self) -> None:
        self.hide()
        self._text.show_found([])
        self.closed.emit()

    def look(self, *, move: bool = True) -> None:
        """Look through the text; the first place from the top of what is in view on is gone to, unless it should stay where it is."""
        if self.isHidden():
            return
        found = self._text.places_of(self.field.text())
        self._text.show_found(found)
        top = self._text.firstVisibleBlock().position()
        self._at = next((row for row, place in enumerate(found) if place.selectionStart() >= top), 0) if found else -1
        self._show(move=move)

    def step(self, by: int) -> None:
        """To the next (1) or the previous (-1) place, around the end."""
        if self._text.found:
            self._at = (self._at + by) % len(self._text.found)
            self._show()

    def _show(self, *, move: bool = True) -> None:
        if self._at >= 0:
            self._text.go_to_found(self._at, move=move)
        say(self.count)
        for button in (self.up, self.down):
            button.setEnabled(len(self._text.found) > 1)

    def _told(self) -> str:
        count = len(self._text.found)
        if not count:
            return _("No results") if self.field.text() else ""
        return f"{number(self._at + 1)} / {number(count)}" + ("+" if self._text.found_more else "")

    def _found(self) -> str:
        return ngettext("{n} result", "{n} results", len(self._text.found))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:  # F3 is the window's
            self.step(-1 if back else 1)
        else:
            super().keyPressEvent(event)
