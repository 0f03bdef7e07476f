"""A transcript's view in a window, for tests of what is shown in it."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.host import TranscriptHost
from atelier_desk.desktop.chat.transcript.items import item_maker
from atelier_desk.desktop.chat.transcript.view import ChatView


def shown_view(qtbot: QtBot) -> ChatView:
    """An empty view of 900 × 600 pixels on the screen."""
    view = ChatView(item_maker(TranscriptHost()))
    qtbot.addWidget(view)
    view.resize(900, 600)
    view.show()
    qtbot.waitExposed(view)
    return view


def turn() -> None:
    """Let the window do what it has put off."""
    for _round in range(4):
        QApplication.processEvents()
