"""Stored messages of any shape are shown: one unreadable value hides neither its message nor the others."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.domain.workflow import Message, MessageRole
from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
from atelier_desk.presentation.rows.transcript_entries import Entry, entry_from
from atelier_desk.presentation.unreadable_values import unreadable
from tests.helpers.malformed_messages import NOTHING, NOTICES, POISON


def stored(role: MessageRole, details: dict[str, Any], kind: str = "") -> Entry:
    message = Message(workflow_id="w", run_id="r", seq=1, role=role, kind=kind, content="Read this.")
    return entry_from(TranscriptEntry(message.model_copy(update={"details": details})))


@pytest.fixture
def frame(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.mark.parametrize("role", [MessageRole.USER, MessageRole.ASSISTANT])
def test_every_message_has_its_widget(frame: QWidget, role: MessageRole) -> None:
    names = ("files", "attachments", "images", "finish_reason")
    poison = [{name: value} for name in names for value in NOTHING]
    poison += [{name: [value, {}]} for name in names for value in NOTHING]
    for details in poison:
        entry = stored(role, details)
        widget = make_widget(entry, TranscriptHost(), frame)
        assert widget.fit(600) > 0
        assert entry.content.startswith("Read this.")
        widget.deleteLater()


@pytest.mark.parametrize("kind", NOTICES)
def test_every_notice_has_its_card(frame: QWidget, kind: str) -> None:
    for details in POISON[NOTICES.index(kind) % 2 :: 2]:  # half for each kind; test_run_notices.py reads all of them
        widget = make_widget(stored(MessageRole.NOTICE, details, kind), TranscriptHost(), frame)
        assert widget.fit(600) > 0
        widget.deleteLater()


def test_an_attachment_without_its_name_is_replaced_by_a_sentence(frame: QWidget) -> None:
    entry = stored(MessageRole.USER, {"attachments": [{"kind": "image"}]})
    make_widget(entry, TranscriptHost(), frame)
    assert entry.content == f"Read this.\n\n{unreadable()}"


def test_an_unreadable_notice_says_so(frame: QWidget) -> None:
    card = make_widget(
        stored(MessageRole.NOTICE, {"limit": "tokens", "value": []} | {"cap": {"a": 1}}, "limit_reached"),
        TranscriptHost(),
        frame,
    )
    assert unreadable() in {each.text() for each in card.findChildren(QLabel)}
