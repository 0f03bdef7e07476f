"""The find bar: a field, the number of the current match, next and previous."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets.cards_buttons_labels import IconButton, hbox, label
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.language_theme_bindings import Text, bind_text, control
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import number


class FindBar(QFrame):
    """``<name>`` with ``<name>-field``, ``-up``, ``-down`` and ``-close``; hidden until opened.

    Enter and F3 go to the next match, with Shift to the previous one, wrapping around. The owner searches for the
    needle and calls ``show_found``.

    Signals:
        needle_changed: the text to search for; empty when the bar is closed.
        reached: scroll to the match with this number.
        closed: return the focus.

    Args:
        wait_ms: milliseconds after the last key before searching.
        newest_last: Enter goes to the previous match, as the last one is shown first.
    """

    needle_changed = Signal(str)
    reached = Signal(int)
    closed = Signal()

    def __init__(self, name: str, hint: Text, parent: QWidget, *, wait_ms: int = 0, newest_last: bool = False) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        mark(self, "side")
        self._places, self._at, self._more, self._enter = 0, -1, False, -1 if newest_last else 1
        self.when: Callable[[int], str] = lambda _number: ""
        """When what stands at a place was said, where that is known."""
        self.field = control(QLineEdit(self), f"{name}-field", hint=hint)
        self.field.setClearButtonEnabled(True)
        self.count = bind_text(label("", "small", self), self._count_text, name=self._found)
        self.up = control(
            IconButton("chevron-up", parent=self), f"{name}-up", tip=N_("Previous"), on=lambda: self.step(-1)
        )
        self.down = control(
            IconButton("chevron-down", parent=self), f"{name}-down", tip=N_("Next"), on=lambda: self.step(1)
        )
        shut = control(IconButton("x", parent=self), f"{name}-close", tip=N_("Close"), on=self.leave)
        hbox(self, (self.field, 1), self.count, self.up, self.down, shut, margins=(16, 6, 12, 6), spacing=6)
        self._debouncer = Debouncer(self, wait_ms, self._emit_needle)
        self.field.textChanged.connect(lambda *_text: self._debouncer.start() if wait_ms else self._emit_needle())
        self.hide()

    @property
    def needle(self) -> str:
        """The text to search for; empty while the bar is hidden."""
        return "" if self.isHidden() else self.field.text()

    def enter(self, text: str = "") -> None:
        """Show and focus the bar; search for ``text`` if given, else for the previous text."""
        self.show()
        if text:
            self.field.setText(text)
        self.field.setFocus()
        self.field.selectAll()
        self._emit_needle()

    def leave(self) -> None:
        """Hide it."""
        self._debouncer.stop()
        self.hide()
        self.show_found(0)
        self._emit_needle()
        self.closed.emit()

    def _emit_needle(self) -> None:
        self.needle_changed.emit(self.needle)

    def show_found(self, places: int, at: int = -1, *, more: bool = False, move: bool = True) -> None:
        """Show the number of matches (``more``: there are others), and go to number ``at`` (from 0) if ``move``."""
        self._places, self._at, self._more = places, at, more
        self._show(move)

    def step(self, by: int) -> None:
        """Go to the next (1) or previous (-1) match, wrapping around."""
        if self._places:
            self._at = (self._at + by) % self._places
            self._show(True)

    def _show(self, move: bool) -> None:
        if self._places and move:
            self.reached.emit(self._at)
        bind_text(self.count)
        for button in (self.up, self.down):
            button.setEnabled(self._places > 1)

    def _count_text(self) -> str:
        """The number of the current match and of all, or that there is none."""
        if self._places:
            count = f"{number(self._at + 1)} / {number(self._places)}" + ("+" if self._more else "")
            return " · ".join(filter(None, (count, self.when(self._at))))
        return _("No results") if self.needle.strip() else ""

    def _found(self) -> str:
        return ngettext("{n} result", "{n} results", self._places)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        back = -1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.step(self._enter * back)
        elif event.key() == Qt.Key.Key_F3:
            self.step(back)
        else:
            super().keyPressEvent(event)
