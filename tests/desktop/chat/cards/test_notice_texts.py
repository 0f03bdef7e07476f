"""A notice of a run has the same text everywhere: one table is the only place where its text is defined."""

from __future__ import annotations

import pytest

from atelier_desk.cli.event_text import notice
from atelier_desk.desktop.chat.cards.notice_card import notice_words
from atelier_desk.desktop.panes.activity.list import entry_icon, entry_summary, entry_title
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.presentation.rows.activity_log import ActivityLog
from atelier_desk.presentation.rows.transcript_entries import Entry
from atelier_desk.presentation.run_notices import NOTICES, notice_kind
from atelier_desk.support.i18n import spoken

DETAILS: dict[str, dict[str, object]] = {
    "misfit": {"problem": "count is missing"},
    "notice": {
        "icon": "archive",
        "warning": True,
        "title": "Context window smaller than expected",
        "text": "Requests to this model are now limited to {context_window} tokens.",
        "values": {"context_window": 4096},
    },
    "nudge": {"tasks": 2},
    "rights_narrowed": {"denied": ["read_file(.env)"]},
    "servers_lacking": {"problems": [{"server": "notes", "code": "off", "detail": ""}]},
}


@pytest.mark.parametrize("topic", sorted({*NOTICES, "notice"}))
def test_window_and_terminal_show_the_same_text(topic: str) -> None:
    details = DETAILS[topic]
    kind = notice_kind(topic, details)
    assert kind is not None
    title, text = kind.text(details)
    event = StreamEvent(workflow_id="w", chunk_type=payloads.ChunkType(topic), data={"reason": "", "details": details})
    icon, role, _variant, *words = notice_words(Entry("n", "notice", run_id="r", topic=topic, details=dict(details)))
    assert words == [title, text]
    assert title
    line, style = notice(event)
    assert (style == "warn") == (role == "warn") == kind.warning
    assert line.startswith(title)
    assert line.endswith(text)
    log = ActivityLog()
    log.feed(event)
    (logged,) = log.entries
    assert entry_title(logged) == title
    assert entry_summary(logged) in text.replace("\n", " ")
    assert entry_icon(logged) == (icon, role)


def test_an_own_notice_is_translated_and_its_numbers_are_written_as_in_the_language() -> None:
    details = DETAILS["notice"]
    kind = notice_kind("notice", details)
    assert kind is not None
    assert kind.line(details).endswith("limited to 4,096 tokens.")
    with spoken("fr"):
        title, text = kind.text(details)
        assert title == "Fenêtre de contexte plus petite que prévu"
        assert text.endswith("limitées à 4\u202f096 jetons.")
