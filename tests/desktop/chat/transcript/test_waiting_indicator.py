"""Something moves from sending to the first token."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.transcript import waiting_indicator
from atelier_desk.desktop.chat.transcript.transcript_host import Picked, TranscriptHost
from atelier_desk.desktop.chat.transcript.view import ChatView, EntryWidget
from atelier_desk.desktop.widgets import Spinner
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.presentation.rows import transcript as rows
from atelier_desk.presentation.rows.transcript import Transcript
from tests.helpers.child_widgets import child


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        for module in (rows, waiting_indicator):
            monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def feed(transcript: Transcript, kind: str, **data: object) -> None:
    transcript.apply(StreamEvent(workflow_id="w", run_id="r", chunk_type=ChunkType(kind), data=dict(data)))


def test_a_transcript_waits_from_send_to_the_first_word_and_between_steps(clock: Clock) -> None:
    transcript = Transcript("w")
    assert not transcript.waits_since
    transcript.add_own("own", "Hello", [])
    assert transcript.waits_since == 100.0
    clock.now = 103.0
    feed(transcript, "workflow_start")
    feed(transcript, "message", message_id="u", role="user", content="Hello")
    assert transcript.waits_since == 100.0, "one wait, counted from send"
    feed(transcript, "token", message_id="a", content="So")
    assert not transcript.waits_since
    feed(transcript, "message", message_id="a", role="assistant", content="So")
    feed(transcript, "tool_start", call_id="c", tool="t", message_id="a")
    assert not transcript.waits_since, "the card of the call moves"
    feed(transcript, "tool_end", call_id="c", tool="t", success=True)
    assert transcript.waits_since == 103.0
    # In step mode the run waits for the user, and after the step for the model again.
    feed(transcript, "run_status", status="paused")
    assert not transcript.waits_since
    feed(transcript, "run_status", status="processing")
    assert transcript.waits_since
    feed(transcript, "run_status", status="awaiting_user")
    assert not transcript.waits_since


def test_a_refused_message_shows_no_waiting_indicator(clock: Clock) -> None:
    transcript = Transcript("w")
    _kind, entry = transcript.add_own("own", "Hello", [])
    transcript.remove(entry)
    assert not transcript.waits_since


def test_the_line_shows_the_seconds_below_the_last_item(qtbot: QtBot, clock: Clock) -> None:
    class Item(EntryWidget):
        def fit(self, width: int) -> int:
            return 50

        def refresh(self) -> None: ...

    view = ChatView(Item)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    transcript = Transcript("w")
    transcript.add_own("own", "Hello", [])
    view.set_entries(transcript.entries)
    line = view.findChild(waiting_indicator.ThinkingLine)
    assert line is not None
    host = TranscriptHost()
    view.show_thinking(transcript, host)
    assert not line.isVisible(), "a short wait is not shown"
    qtbot.waitUntil(line.isVisible)
    label = line.findChild(QLabel)
    assert label is not None
    assert label.text() == "Thinking…"
    assert child(line, Spinner).isVisible()
    qtbot.waitUntil(lambda: line.y() >= 50 and line.x() == (800 - view.column_width()) // 2)
    clock.now += 3.2
    refresh_texts()
    assert label.text() == "Thinking… 3\u202fs"
    view.show_thinking(None, host)
    assert not line.isVisible()


def test_a_reply_that_stalls_says_so_and_since_when(
    qtbot: QtBot, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Item(EntryWidget):
        def fit(self, width: int) -> int:
            return 50

        def refresh(self) -> None: ...

    view = ChatView(Item)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    host, transcript = TranscriptHost(), Transcript("w")
    host.set_picked(Picked("p", "small-1"))
    host.models = {("p", "small-1"): "Small 1"}
    line = view.findChild(waiting_indicator.ThinkingLine)
    assert line is not None
    text = line.findChild(QLabel)
    assert text is not None

    def say(content: str) -> None:
        clock.now += 0.5
        feed(transcript, "token", message_id="a", content=content)
        view.set_entries(transcript.entries)
        view.show_thinking(transcript, host)

    feed(transcript, "workflow_start")
    say("So")
    clock.now += 19.0
    say("")
    assert not line.isVisible()
    assert line._patience.isActive()
    assert line._patience.interval() == waiting_indicator.STALLED_MS, "counted from the newest piece"
    monkeypatch.setattr(waiting_indicator, "STALLED_MS", 0)
    say(" it")
    monkeypatch.setattr(waiting_indicator, "STALLED_MS", 20_000)
    qtbot.waitUntil(line.isVisible)
    clock.now += 25.0
    refresh_texts()
    assert text.text() == "No answer from Small 1 for 25\u202fs"
    assert line.accessibleName() == "No answer from the model"
    say(" is.")
    assert not line.isVisible(), "the reply goes on"
    feed(transcript, "message", message_id="a", role="assistant", content="So it is.")
    view.show_thinking(transcript, host)
    qtbot.waitUntil(line.isVisible)
    assert text.text().startswith("Thinking…"), "the run asks its model again"


def test_nothing_is_animated_if_the_system_requests_reduced_motion(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    spinner = Spinner()
    qtbot.addWidget(spinner)
    style = spinner.style()
    monkeypatch.setattr(style, "styleHint", lambda *_: 0, raising=False)
    monkeypatch.setattr(spinner, "style", lambda: style, raising=False)
    spinner.show()
    spinner.grab()
    qtbot.waitUntil(lambda: not spinner._timer)
    assert not spinner._angle


def test_the_column_does_not_move_when_a_scroll_bar_appears(qtbot: QtBot) -> None:
    class Item(EntryWidget):
        def fit(self, width: int) -> int:
            return 300

        def refresh(self) -> None: ...

    for width in (500, 900):
        view = ChatView(Item)
        qtbot.addWidget(view)
        view.resize(width, 500)
        view.show()
        transcript = Transcript("w")
        transcript.add_own("a", "One", [])
        view.set_entries(transcript.entries)
        first = view.widget_of(transcript.entries[0])
        assert first is not None
        before = first.x(), first.width()
        transcript.add_own("b", "Two", [])
        view.append(transcript.entries[1])
        qtbot.waitUntil(view.verticalScrollBar().isVisible)
        view._place()
        assert (first.x(), first.width()) == before
        assert first.x() + first.width() <= view.viewport().width(), "the bar covers nothing"
