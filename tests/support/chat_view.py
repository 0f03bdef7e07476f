"""A transcript view in a window, for tests of its content."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.lazy_widget_factory import item_maker
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.view import ChatView


def shown_view(qtbot: QtBot) -> ChatView:
    """An empty view of 900 × 600 pixels, shown."""
    view = ChatView(item_maker(TranscriptHost()))
    qtbot.addWidget(view)
    view.resize(900, 600)
    view.show()
    qtbot.waitExposed(view)
    return view


def turn() -> None:
    """Process pending window events."""
    for _round in range(4):
        QApplication.processEvents()
