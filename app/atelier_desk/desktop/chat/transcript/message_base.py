"""Common behaviour of messages in a transcript: keyboard focus, copy, quote, menu."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.chat.transcript.reply_body import ReplyBody
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.transcript_position import TranscriptPosition
from atelier_desk.desktop.chat.transcript.view import EntryWidget
from atelier_desk.presentation.rows.transcript_entries import Entry


class MessageWidget(EntryWidget):
    """Base of bubble, answer and agent message; in the tab order; the copy shortcut copies it."""

    def __init__(self, entry: Entry, host: TranscriptHost, parent: QWidget | None = None) -> None:
        super().__init__(entry, parent)
        self.host = host
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def selected_text(self) -> str:
        return ""

    def copy(self) -> None:
        """Copy the selection, or the complete message as Markdown."""
        selected = self.selected_text()
        self.host.copy(selected or self.entry.content, formatted=not selected and self.entry.kind != "user")

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.open_menu(event.globalPos())
        event.accept()

    def open_menu(self, at: QPoint) -> None:
        """Open its menu at a point of the screen."""
        commands = self.host.commands
        if commands is not None:
            commands.popup(self.entry, self.host, self, at, self.selected_text())

    def open_menu_at(self, button: QWidget) -> None:
        """Open its menu at a button of the row below it."""
        self.open_menu(button.mapToGlobal(QPoint(0, button.height())))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)


class BodyMessage(MessageWidget):
    """Base of messages with Markdown text, rendered by ``body``."""

    body: ReplyBody

    def _redraw(self) -> None:
        """Redraw after a change of fonts or colours."""
        self.body.redraw()
        self.height_changed.emit()

    def selected_text(self) -> str:
        return self.body.selected_text()

    def highlight(self, needle: str) -> int:
        return self.body.highlight(needle)

    def reach(self, place: TranscriptPosition) -> int:
        return self.body.y() + self.body.place_of(place.number)
