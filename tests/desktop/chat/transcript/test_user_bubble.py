"""The user's messages: bubble and buttons."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.actions_row import ActionsRow
from atelier_desk.desktop.chat.transcript.message_widgets import UserBubble, make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.theme import theme
from atelier_desk.presentation.rows.transcript_entries import Entry


@pytest.mark.parametrize("scale", [100, 150, 200])
@pytest.mark.parametrize("width", [420, 660])
def test_the_buttons_beside_a_wide_bubble_are_not_clipped(qtbot: QtBot, scale: int, width: int) -> None:
    theme().set_scale(scale)
    frame = QWidget()
    qtbot.addWidget(frame)
    bubble = make_widget(
        Entry("u", "user", run_id="r", content="Cut each of the boards to its length. " * 12), TranscriptHost(), frame
    )
    bubble.setGeometry(0, 0, width, bubble.fit(width))
    frame.resize(width, bubble.height())
    frame.show()
    row = bubble.findChild(ActionsRow)
    assert row is not None
    assert row.x() >= 0
    assert row.width() >= row.sizeHint().width()
    assert isinstance(bubble, UserBubble)
    assert row.geometry().right() < bubble._bubble.x()
