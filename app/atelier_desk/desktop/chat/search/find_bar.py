"""Find in workflow: a bar over the transcript, with next and previous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from atelier_desk.desktop.chat.transcript.entries import Entry
from atelier_desk.desktop.soon import Soon
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import IconButton, control, fill, label, say
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.search.hits import Hit

_DELAY_MS = 150


class FindBar(QFrame):
    """The field; the panel gives it the entries and carries out ``revealed``.

    Signals:
        needle_changed: what is looked for now; empty when the bar closed.
        revealed: bring this place into view (``Hit``).
        closed: give the keyboard back.
    """

    needle_changed = Signal(str)
    revealed = Signal(object)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        mark(self, "side")
        self._hits: list[Hit] = []
        self._at = -1
        self.field = control(QLineEdit(self), "find-field", hint=N_("Find in this workflow"))
        self.field.setClearButtonEnabled(True)
        self._count = say(label("", "small", self), self._told, name=self._found)
        self._up = control(IconButton("chevron-up", parent=self), tip=N_("Previous"), on=lambda: self.step(-1))
        self._down = control(IconButton("chevron-down", parent=self), tip=N_("Next"), on=lambda: self.step(1))
        self._close = control(IconButton("x", parent=self), tip=N_("Close"), on=self.leave)
        fill(QHBoxLayout(self), (self.field, 1), self._count, self._up, self._down, self._close, margins=(16, 6, 12, 6), spacing=6)
        self._timer = Soon(self, _DELAY_MS, lambda: self.needle_changed.emit(self.needle))
        self.field.textChanged.connect(lambda *_: self._timer.start())
        self.hide()

    @property
    def needle(self) -> str:
        return self.field.text().strip()

    def enter(self) -> None:
        """Show the bar and give it the keyboard."""
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        if self.needle:
            self.needle_changed.emit(self.needle)

    def leave(self) -> None:
        self._timer.stop()
        self.hide()
        self._hits, self._at = [], -1
        self.needle_changed.emit("")
        self.closed.emit()

    def search(self, entries: Sequence[Entry]) -> None:
        """Look through all entries, closed cards too; the newest place is shown first."""
        from atelier_desk.desktop.chat.search.hits import hits

        self._hits = hits(entries, self.needle)
        self._at = len(self._hits) - 1
        self._show()

    def step(self, by: int) -> None:
        """To the next (1) or the previous (-1) place, around the end."""
        if self._hits:
            self._at = (self._at + by) % len(self._hits)
            self._show()

    def _show(self) -> None:
        if self._hits:
            self.revealed.emit(self._hits[self._at])
        say(self._count)
        for button in (self._up, self._down):
            button.setEnabled(len(self._hits) > 1)

    def _told(self) -> str:
        """The place that is shown and how many there are, or that there is none."""
        if self._hits:
            return f"{self._at + 1} / {len(self._hits)}"
        return _("No results") if self.needle else ""

    def _found(self) -> str:
        return ngettext("{n} result", "{n} results", len(self._hits))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.step(-1 if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_F3:
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)
