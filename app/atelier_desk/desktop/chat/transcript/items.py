"""Who makes the widgets of a transcript's items."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from atelier_desk.desktop.chat.transcript.entries import Entry
    from atelier_desk.desktop.chat.transcript.host import TranscriptHost
    from atelier_desk.desktop.chat.transcript.view import EntryWidget, Factory


def item_maker(host: TranscriptHost) -> Factory:
    """Makes items with these surroundings; what draws them is imported when the first one is drawn, because it is dear."""

    def make(entry: Entry, parent: QWidget) -> EntryWidget:
        from atelier_desk.desktop.chat.transcript.messages import make_widget

        return make_widget(entry, host, parent)

    return make
