"""A transcript view in a window, for tests of its content."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.view import ChatView


def shown_view(qtbot: QtBot) -> ChatView:
    """An empty view of 900 × 600 pixels, shown."""
    host = TranscriptHost()
    view = ChatView(lambda entry, parent: make_widget(entry, host, parent))
    qtbot.addWidget(view)
    view.resize(900, 600)
    view.show()
    qtbot.waitExposed(view)
    return view


def turn() -> None:
    """Process pending window events."""
    for _round in range(4):
        QApplication.processEvents()


def live_widgets(view: ChatView) -> int:
    """How many entries have a widget."""
    return sum(view.widget_of(entry) is not None for entry in view.entries)
