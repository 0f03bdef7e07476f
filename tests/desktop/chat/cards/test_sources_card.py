"""Sources under an answer open only in the browser."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.sources_card import SourcesCard
from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.presentation.rows.transcript_entries import Entry


def test_each_source_is_a_button_that_opens_it(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    frame = QWidget()
    qtbot.addWidget(frame)
    sources = (
        SourcePart(url="https://www.a.org/x", title="A <b>title</b>", date="2026-01-02"),
        SourcePart(url="file:///etc/passwd"),
    )
    entry = Entry("a", "assistant", run_id="r", content="Answer.", sources=sources)
    widget = make_widget(entry, TranscriptHost(), frame)
    tall = widget.fit(600)
    card = widget.findChild(SourcesCard)
    assert isinstance(card, SourcesCard)
    assert (card.title.text(), card.buttons[0].accessibleName()) == (
        "2 sources",
        "Open the source A <b>title</b> · a.org · 2026-01-02",
    )
    assert "<b>title" not in card.buttons[0].toolTip()
    for button in card.buttons:
        button.click()
    assert opened == ["https://www.a.org/x"]
    entry.sources = ()
    widget.refresh()
    assert widget.fit(600) < tall


def test_a_title_of_usual_length_is_not_elided(qtbot: QtBot) -> None:
    frame = QWidget()
    qtbot.addWidget(frame)
    card = SourcesCard(frame)
    card.show_sources((SourcePart(url="https://docs.example.org/x", title="Release notes of 3.11"),))
    assert card.buttons[0].text() == "1. Release notes of 3.11 · docs.example.org"
