"""The factory of transcript widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.chat.transcript.message_widgets import make_widget

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
    from atelier_desk.desktop.chat.transcript.view import EntryWidget, Factory
    from atelier_desk.presentation.rows.transcript_entries import Entry


def item_maker(host: TranscriptHost) -> Factory:
    """A factory of widgets for this host; their modules are imported with the first one, as that is slow."""

    def make(entry: Entry, parent: QWidget) -> EntryWidget:
        return make_widget(entry, host, parent)

    return make
