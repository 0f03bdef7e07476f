"""The small buttons below a message, visible on hover and while the row has the focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QLabel, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import IconButton, bind_text, control, hbox, label
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.transcript.message_base import MessageWidget


class _QuietButton(IconButton):
    """Painted only while its row is revealed, or if ``lasting``; always in the tab order."""

    lasting = False

    def paintEvent(self, event: QPaintEvent) -> None:
        row = self.parent()
        if self.lasting or (isinstance(row, ActionsRow) and row.revealed):
            super().paintEvent(event)


class _QuietNote(PlainLabel):
    """A label visible together with the buttons."""

    def paintEvent(self, event: QPaintEvent) -> None:
        row = self.parent()
        if isinstance(row, ActionsRow) and row.revealed:
            super().paintEvent(event)


class ActionsRow(QWidget):
    """A row of buttons with one callback each; ``add`` appends one."""

    def __init__(self, parent: QWidget, *, always: bool = False) -> None:
        super().__init__(parent)
        self._always = always
        self._hovered = False
        self._pin: _QuietButton | None = None
        self._note: QLabel | None = None
        self._buttons: list[_QuietButton] = []
        self._row = hbox(self, 1, spacing=2)
        parent.installEventFilter(self)

    @property
    def revealed(self) -> bool:
        return self._always or self._hovered or any(button.hasFocus() for button in self._buttons)

    def add(self, icon: str, text: Callable[[], str], action: Callable[[], object], name: str = "") -> _QuietButton:
        button = control(_QuietButton(icon, text, self, size=14), name, on=action)
        button.installEventFilter(self)
        self._row.insertWidget(self._row.count() - 1, button)
        self._buttons.append(button)
        return button

    def add_menu(self, message: MessageWidget) -> None:
        """Add the pin, always visible on pinned messages, and the "…" menu; no pin in read-only transcripts."""
        commands = message.host.commands
        if commands is None:
            return
        if message.host.versions:
            self._pin = self.add("pin", self._pin_words, lambda: commands.pin(message.entry), "pin-message")
        more = self.add("ellipsis", lambda: _("More"), lambda: message.open_menu_at(more), "message-more")

    def add_note(self, *, first: bool = False) -> QLabel:
        """Add a label at the end of the row, or before its buttons."""
        self._note = control(_QuietNote(parent=self), "message-note", look="small")
        self._row.insertWidget(0 if first else self._row.count() - 1, self._note)
        return self._note

    def show_pinned(self, on: bool) -> None:
        if self._pin is not None:
            self._pin.lasting = on
            self._pin.set_icon("pin", "accent" if on else "muted")
            bind_text(self._pin)

    def _pin_words(self) -> str:
        return _("Unpin") if self._pin is not None and self._pin.lasting else _("Pin")

    def height_hint(self) -> int:
        return theme().px(14) + 12

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.parent():
            if event.type() == QEvent.Type.Enter:
                self._hovered = True
                self.repaint_buttons()
            elif event.type() == QEvent.Type.Leave:
                self._hovered = False
                self.repaint_buttons()
        elif event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self.repaint_buttons()
        return False

    def repaint_buttons(self) -> None:
        for button in self._buttons:
            button.update()
        if self._note is not None:
            self._note.update()


class BranchSwitch(QWidget):
    """``‹ 2/3 ›``: switches between the versions of a turn; ``choose`` receives the run id."""

    def __init__(self, choose: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("branch-switch")
        self._choose = choose
        self._runs: tuple[str, ...] = ()
        self._index = 0
        self.previous = control(
            IconButton("chevron-left", N_("Previous version"), self, size=14), on=lambda: self._step(-1)
        )
        self.following = control(
            IconButton("chevron-right", N_("Next version"), self, size=14), on=lambda: self._step(1)
        )
        self._label = label("", "small", self)
        bind_text(
            self._label, name=lambda: ngettext("{n} version of this turn", "{n} versions of this turn", len(self._runs))
        )
        hbox(self, self.previous, self._label, self.following, spacing=0)
        self.hide()

    def show_branch(self, runs: tuple[str, ...], index: int) -> None:
        """Show the position among the versions; hidden if there is only one."""
        self._runs, self._index = runs, index
        self.setVisible(len(runs) > 1)
        self._label.setText(f"{index + 1}/{len(runs)}")
        self.previous.setEnabled(index > 0)
        self.following.setEnabled(index + 1 < len(runs))
        bind_text(self._label)

    def _step(self, step: int) -> None:
        target = self._index + step
        if 0 <= target < len(self._runs):
            self._choose(self._runs[target])
