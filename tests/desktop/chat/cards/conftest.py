"""A card of the transcript in a shown window."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.presentation.rows.transcript_entries import Entry


@pytest.fixture
def host() -> TranscriptHost:
    return TranscriptHost()


def show(qtbot: QtBot, entry: Entry, host: TranscriptHost, width: int = 700) -> Any:
    """Show the card of an entry, ``width`` pixels wide and as high as it needs."""
    frame = QWidget()
    qtbot.addWidget(frame)
    widget = make_widget(entry, host, frame)
    widget.setGeometry(0, 0, width, widget.fit(width))
    frame.resize(width, 800)
    frame.show()
    vars(widget)["frame"] = frame  # kept alive with the widget
    return widget
