"""The queue above the composer: read, edit, move, withdraw or send messages now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from atelier_desk.desktop.chat.compose.message_field import MessageField
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, bind, bind_text, control, hbox, vbox
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atelier_desk.domain.stream.payloads import Waiting

_FRAME = 10
"""Pixels of a field's frame above and below its text."""
_HIGHEST = 190
"""Maximum height of the list in pixels at 100 %; then it scrolls."""


class _Editor(MessageField):
    """The field of a message being edited: Enter saves, Esc cancels.

    Signals:
        left: editing was cancelled.
    """

    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        mark(self, "")  # a field with a frame; the composer's has its frame around it

    def fit(self) -> None:
        super().fit()
        self.setFixedHeight(self.maximumHeight() + _FRAME)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)


class WaitingRow(QWidget):
    """A queued message with its buttons."""

    def __init__(self, strip: QueueStrip, waiting: Waiting, place: int, count: int) -> None:
        super().__init__(strip)
        self.setObjectName("queued-message")
        self.waiting, self._strip = waiting, strip
        self._editor: _Editor | None = None
        self.text = control(ElidedLabel("", self), "queued-text", self._words)
        bind_text(self, name=lambda: _("Queued: {text}", text=self._words()))
        id_ = waiting.message_id
        take_back, send = strip.withdraw_requested.emit, strip.send_requested.emit
        self.up = self._button(
            "queued-up", "chevron-up", N_("Move up"), lambda: strip.move_requested.emit(id_, place - 1)
        )
        self.down = self._button(
            "queued-down", "chevron-down", N_("Move down"), lambda: strip.move_requested.emit(id_, place + 1)
        )
        self.up.setEnabled(place > 0)
        self.down.setEnabled(place < count - 1)
        self.up.setVisible(count > 1)
        self.down.setVisible(count > 1)
        self.edit = self._button("queued-edit", "pencil", N_("Edit"), self._edit)
        self.back = self._button("queued-back", "undo-2", N_("Move back to the message field"), lambda: take_back(id_))
        self.now = self._button("queued-now", "arrow-up", N_("Send now and interrupt the agent"), lambda: send(id_))
        self.save_button = self._button("queued-keep", "check", N_("Save the change"), self._save)
        self.leave = self._button("queued-leave", "x", N_("Discard the change"), self._leave)
        self._action_buttons = {
            each: each.isVisibleTo(self) for each in (self.up, self.down, self.edit, self.back, self.now)
        }
        self._show_editing(False)
        row = (*self._action_buttons, self.save_button, self.leave)
        self._row = hbox(self, (self.text, 1), *row, margins=(12, 0, 4, 0), spacing=2)

    def _button(self, name: str, icon: str, tip: str, on: Callable[[], object]) -> IconButton:
        return control(IconButton(icon, tip, self, size=14), name, on=on)

    def _words(self) -> str:
        waiting = self.waiting
        more = [*([ngettext("{n} image", "{n} images", waiting.images)] if waiting.images else []), *waiting.files]
        return " · ".join([*([" ".join(waiting.content.split())] if waiting.content.strip() else []), *more])

    def _edit(self) -> None:
        if self._editor is not None:
            return
        self._editor = editor = _Editor(self)
        control(editor, "queued-editor", name=N_("Queued message"))
        editor.setPlainText(self.waiting.content)
        self.text.hide()
        self._show_editing(True)
        self._row.insertWidget(0, editor, 1)
        editor.submitted.connect(self._save)
        editor.left.connect(self._leave)
        editor.textChanged.connect(self._strip.fit)
        editor.show()
        editor.setFocus()
        editor.moveCursor(editor.textCursor().MoveOperation.End)
        self._strip.fit()

    def _save(self) -> None:
        assert self._editor is not None
        text = self._editor.toPlainText().strip()
        if text and text != self.waiting.content:
            self._strip.edit_requested.emit(self.waiting.message_id, text)
        self._leave()

    def _leave(self) -> None:
        if self._editor is not None:
            editor, self._editor = self._editor, None
            self._row.removeWidget(editor)
            editor.hide()
            editor.deleteLater()
            self.text.show()
            self._show_editing(False)
            self._strip.fit()

    def _show_editing(self, editing: bool) -> None:
        """While editing, the buttons that move or send the message are disabled."""
        for button, enabled in self._action_buttons.items():
            button.setVisible(enabled and not editing)
        self.save_button.setVisible(editing)
        self.leave.setVisible(editing)

    @property
    def editing(self) -> str | None:
        """The text in its editor, None while there is none."""
        return self._editor.toPlainText() if self._editor is not None else None

    def edit_on(self, text: str) -> None:
        """Resume an edit interrupted by an update of the list."""
        self._edit()
        assert self._editor is not None
        self._editor.setPlainText(text)
        self._editor.moveCursor(self._editor.textCursor().MoveOperation.End)


class QueueStrip(QFrame):
    """The queued messages, the next one first; hidden if empty.

    Signals:
        edit_requested: id and new text.
        move_requested: id and new position, from 0.
        withdraw_requested, send_requested: id.
        edit_missed: the edited text of a message that was sent or withdrawn meanwhile.
    """

    edit_requested = Signal(str, str)
    move_requested = Signal(str, int)
    withdraw_requested = Signal(str)
    send_requested = Signal(str)
    edit_missed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("queue-strip")
        mark(self, "card-sunken")
        self._waiting: tuple[Waiting, ...] = ()
        self._running = self._covered = False
        self.rows: list[WaitingRow] = []
        self.heading = control(ElidedLabel("", self), "", self._heading, look="small")
        self.send = control(QPushButton(self), "queue-send", N_("Send"), look="quiet", on=self._send_first)
        self._inner = QWidget(self)
        mark(self._inner, "plain")
        self._list = vbox(self._inner, spacing=0)
        self._area = QScrollArea(self)
        self._area.setWidget(self._inner)
        self._area.setWidgetResizable(True)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        top = hbox(None, (self.heading, 1), self.send, margins=(12, 0, 4, 0), spacing=8)
        vbox(self, top, self._area, margins=(0, 4, 0, 4), spacing=0)
        bind(self.fit)
        self.hide()

    def edits(self) -> dict[str, str]:
        """The texts of messages being edited, by id."""
        return {row.waiting.message_id: text for row in self.rows if (text := row.editing) is not None}

    def show_waiting(self, waiting: Sequence[Waiting], edits: Mapping[str, str] | None = None) -> None:
        """Show these messages; edits in progress continue if the message remains.

        ``edits`` replace those in progress.
        """
        if tuple(waiting) == self._waiting and not edits:
            return
        edited = self.edits() if edits is None else edits
        known = {each.message_id: each.content for each in self._waiting}
        still = {each.message_id for each in waiting}
        missed = [
            text
            for id_, text in edited.items()
            if id_ not in still and text.strip() not in ("", known.get(id_, "").strip())
        ]
        self._waiting = tuple(waiting)
        for row in self.rows:
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = [WaitingRow(self, each, place, len(waiting)) for place, each in enumerate(waiting)]
        for row in self.rows:
            self._list.addWidget(row)
            row.show()  # its height counts at once
            if (text := edited.get(row.waiting.message_id)) is not None:
                row.edit_on(text)
        self.cover(self._covered)
        self._update_texts()
        self.fit()
        for text in missed:
            self.edit_missed.emit(text)

    def cover(self, covered: bool) -> None:
        """Set whether something else is shown in place of chat and composer."""
        self._covered = covered
        self.setVisible(bool(self._waiting) and not covered)

    def set_running(self, running: bool) -> None:
        """Set whether messages are sent automatically, when the current turn ends."""
        self._running = running
        self._update_texts()

    def _heading(self) -> str:
        count = len(self._waiting)
        if not count:
            return ""
        if self._running:
            return ngettext(
                "{n} message will be sent when the agent has finished this turn",
                "{n} messages will be sent when the agent has finished this turn",
                count,
            )
        return ngettext("{n} message not sent yet", "{n} messages not sent yet", count)

    def _update_texts(self) -> None:
        bind_text(self.heading)
        self.send.setVisible(not self._running)

    def fit(self) -> None:
        """Adjust the height to the rows, within limits."""
        self._list.activate()
        self._area.setFixedHeight(min(self._inner.sizeHint().height(), theme().px(_HIGHEST)))

    def _send_first(self) -> None:
        if self._waiting:
            self.send_requested.emit(self._waiting[0].message_id)
