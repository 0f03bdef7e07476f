"""The card of a tool call: its line, its details, and how the call ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards import tool_card
from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.tool_call_texts import call_text, informative_arguments
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.replay.span_and_event_titles import mark_title, span_title
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span, TimelineMark
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, QuestionRow
from atelier_desk.support import i18n
from atelier_desk.tools.registry.sections import SHELL
from tests.desktop.chat.cards.conftest import show
from tests.helpers.child_widgets import child


def test_tool_card_opens_in_place_and_stays_open(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call("c1", "CalculatorTool", {"expression": "12*7"}, "ok", {"result": 84}, duration_ms=1200)
    entry = Entry("a", "assistant", run_id="r", calls=[call])
    widget = show(qtbot, entry, host)
    card = widget.findChild(ToolCard, "tool-card")
    closed = card.fit(700)
    QTest.mouseClick(card._head, Qt.MouseButton.LeftButton)
    assert card.fit(700) > closed + 100
    assert [each.code for each in card._cards] == ['{\n  "expression": "12*7"\n}', '{\n  "result": 84\n}']
    again = show(qtbot, entry, host).findChild(ToolCard, "tool-card")
    assert again.opened
    QTest.keyClick(again._head, Qt.Key.Key_Space)
    assert again.fit(700) == closed


def test_an_open_card_names_untrusted_sources(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call("c1", "Page", {}, "ok", {}, taint="evil.example")
    card = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host).findChild(ToolCard, "tool-card")
    card.toggle()
    assert "Read from an untrusted source: evil.example" in [each.text() for each in card.findChildren(QLabel)]


def test_an_error_is_read_without_scrolling_sideways(qtbot: QtBot, host: TranscriptHost) -> None:
    """Its sentences wrap at words instead of being cut at the card's edge like code."""
    expected = (
        "Invalid arguments for run_command: modifies_files is required; it requires command, modifies_files. " * 3
        + "\nSecond."
    )
    call = Call(
        "c1", "t", {"command": "make"}, "error", {"success": False, "code": "x", "error": expected}, error=expected
    )
    widget = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host)
    card = widget.findChild(ToolCard, "tool-card")
    card.toggle()
    for width in (700, 430, 961):
        widget.fit(width)
        error = card.findChildren(CodeCard)[1].findChild(QPlainTextEdit)
        assert error.toPlainText() == expected
        qtbot.waitUntil(lambda: error.verticalScrollBar().maximum() == 0)  # noqa: B023
        assert not error.horizontalScrollBar().isVisible()
        layout = error.document().firstBlock().layout()
        assert layout.lineCount() > 2
        ends = [
            expected[layout.lineAt(n).textStart() + layout.lineAt(n).textLength() - 1]
            for n in range(layout.lineCount() - 1)
        ]
        assert set(ends) == {" "}
    arguments = card.findChildren(CodeCard)[0].findChild(QPlainTextEdit)
    assert arguments.lineWrapMode() is QPlainTextEdit.LineWrapMode.NoWrap


def test_an_open_card_is_measured_again_after_a_language_switch(
    qtbot: QtBot, host: TranscriptHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Call("c1", "t", {"command": "make"}, "error", {"success": False, "code": "no_workspace"}, error="No folder.")
    view = ChatView(lambda entry, parent: make_widget(entry, host, parent))
    qtbot.addWidget(view)
    view.resize(700, 800)
    view.show()
    view.set_entries([Entry("a", "assistant", run_id="r", calls=[call])])
    card = child(view, ToolCard, "tool-card")
    card.toggle()
    assert card.opened
    qtbot.waitUntil(lambda: not view._timer.isActive())
    shown: list[QWidget | None] = []
    original = ToolCard.fit

    def fit(card: ToolCard, width: int) -> int:
        shown.append(card._details)
        return original(card, width)

    monkeypatch.setattr(ToolCard, "fit", fit)
    before = card._details
    switch_language("fr")
    assert card._details is not before
    qtbot.waitUntil(lambda: shown[-1:] == [card._details])


def test_a_command_that_runs_can_be_stopped_on_its_card(
    qtbot: QtBot, host: TranscriptHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_card, "STOP_AFTER_MS", 0)
    call = Call("c1", "t", {"command": "make"}, "running", section=SHELL)
    entry = Entry("a", "assistant", run_id="r", calls=[call])
    widget = show(qtbot, entry, host)
    card = child(widget, ToolCard, "tool-card")
    assert card.stop is None, "a replay stops nothing"
    host.bridge = object()  # type: ignore[assignment]
    card.refresh()
    stop = child(card, QPushButton, "tool-stop")
    assert stop.accessibleName().startswith("Stop: ")
    assert stop.text() == "Stop"
    card.resize(700, card.fit(700))
    before, height = stop.pos(), widget.fit(700)
    for lines in (1, 3, 40):
        call.progress_text = "\n".join(f"line {n}" for n in range(lines))
        card.refresh()
        assert widget.fit(700) == height, "nothing moves while its output grows"
        assert stop.pos() == before
    assert "line 39" in card._live.text()
    assert "make" in card.words()[1] + card._summary.text(), "what runs stays readable"
    asked: list[tuple[str, str]] = []
    host.stop_call_requested.connect(lambda *ids: asked.append(ids))
    QTest.mouseClick(stop, Qt.MouseButton.LeftButton)
    QTest.mouseClick(stop, Qt.MouseButton.LeftButton)
    assert asked == [("r", "c1")]
    assert not card.opened
    call.status = "error"
    card.refresh()
    assert stop.isHidden()
    other = Entry("b", "assistant", run_id="r", calls=[Call("c2", "CalculatorTool", {}, "running", section="core_ops")])
    assert child(show(qtbot, other, host), ToolCard, "tool-card").stop is None


@pytest.mark.parametrize(
    ("result", "expected", "kind"),
    [
        ({"ended_by": "user", "code": "ended", "duration_ms": 4200}, "stopped by you · 4.2\u202fs", ""),
        ({"code": "exit_status", "exit_status": 2, "duration_ms": 300}, "exit status 2 · 0.3\u202fs", "err"),
        ({"code": "timeout", "ended_by": "timeout", "duration_ms": 60_000}, "timed out · 1\u202fmin 00\u202fs", "err"),
        ({"code": "no_shell"}, "failed", "err"),
    ],
)
def test_the_line_of_a_command_shows_how_it_ended(
    qtbot: QtBot, host: TranscriptHost, result: dict[str, Any], expected: str, kind: str
) -> None:
    call = Call("c1", "run_command", {"command": "make"}, "error", result, error="Tell the user.", section=SHELL)
    card = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host).findChild(ToolCard, "tool-card")
    assert card.state_text() == (expected, kind)
    card.toggle()
    own = "Stopped by you." in [each.code for each in card._cards]
    assert own == (kind == ""), "the model's own sentence is not for a person who knows"


def test_an_open_card_reset_to_before_its_result_shows_none(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call("c1", "CalculatorTool", {"expression": "12*7"}, "ok", {"result": 84}, duration_ms=1200)
    card = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host).findChild(ToolCard, "tool-card")
    card.toggle()
    with_result = card.fit(700)
    card.call = Call("c1", "CalculatorTool", {"expression": "12*7"}, "running")
    card.refresh()
    assert len(card._cards) == 1
    assert card.fit(700) < with_result
    card.call = call
    card.refresh()
    assert card.fit(700) == with_result


def test_tool_card_follows_its_call(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call("c1", "TodoTool")
    entry = Entry("a", "assistant", run_id="r", calls=[call])
    card = show(qtbot, entry, host).findChild(ToolCard, "tool-card")
    assert card.state_text() == ("running", "accent")
    call.progress = 40
    assert "40" in card.state_text()[0]
    call.status, call.error = "error", "no such task"
    card.refresh()
    assert card.state_text() == ("failed", "err")
    card.toggle()
    assert "no such task" in [each.code for each in card._cards]


def test_a_refused_call_is_no_failure(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call("c1", "ShellTool", {}, "rejected")
    card = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host).findChild(ToolCard, "tool-card")
    assert card.state_text() == ("rejected", "")


@pytest.mark.parametrize(
    ("by", "note", "expected"),
    [
        ("user", "Not this file", "You rejected this call: Not this file"),
        ("user", "", "You rejected this call."),
        (
            "timeout",
            "Nobody decided within 30 seconds, so the call was refused.",
            "Rejected automatically: no decision was made in time.",
        ),
    ],
)
def test_the_card_shows_who_rejected_a_call_and_why(
    qtbot: QtBot, host: TranscriptHost, by: str, note: str, expected: str
) -> None:
    call = Call("c1", "ShellTool", {}, "rejected", error="Do not try the same again", decided_by=by, note=note)
    widget = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host)
    card = widget.findChild(ToolCard, "tool-card")
    decision = card.findChild(QLabel, "tool-decision")
    assert decision.text() == expected
    assert decision.isVisible()
    before = card.fit(600)
    card.toggle()
    assert card.fit(600) > before
    assert "Do not try the same again" not in " ".join(each.code for each in card._cards), "that is for the agent"


def test_a_call_that_a_rule_denies_is_no_failure(qtbot: QtBot, host: TranscriptHost) -> None:
    result = {"success": False, "error": "Refused by the permission rule", "code": "denied", "rule": "read_file(.env)"}
    call = Call("c1", "read_file", {}, "error", result, error="Refused by the permission rule")
    card = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host).findChild(ToolCard, "tool-card")
    assert card.state_text() == ("denied by a rule", "")
    card.toggle()
    assert "Your rule “read_file(.env)” forbids this call." in [each.code for each in card._cards]


def test_a_timed_out_call_is_explained_in_the_users_language(qtbot: QtBot, host: TranscriptHost) -> None:
    result = {"success": False, "error": "for the model", "code": "timeout", "timeout_s": 60.0}
    call = Call("c1", "slow", {}, "timeout", result, error="for the model")
    i18n.set_language("fr")
    card = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host).findChild(ToolCard, "tool-card")
    assert card.state_text() == (i18n._("timed out"), "err")
    card.toggle()
    assert "«\u00a0slow\u00a0» a dépassé 60\u00a0s et a été arrêté." in [each.code for each in card._cards]


@pytest.mark.parametrize(("tool", "shown"), [("mcp__asks__odd_one", "odd_one"), ("NoSuchTool", "NoSuchTool")])
def test_a_call_of_an_unavailable_tool_shows_no_internal_name(
    qtbot: QtBot, host: TranscriptHost, tool: str, shown: str
) -> None:
    result = {"success": False, "error": f"There is no tool named '{tool}'.", "code": "unknown_tool"}
    call = Call("c", tool, status="error", result=result)
    widget = show(qtbot, Entry("a", "assistant", run_id="r", calls=[call]), host)
    texts = [label.text() for label in widget.findChildren(QLabel) if not label.isHidden()]
    assert shown in texts
    assert not [text for text in texts if "mcp__" in text]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert span_title(Span(run_id="r", kind="tool", label=tool, start=now, end=now, seq=1)) == shown
    assert mark_title(TimelineMark(1, now, "r", "tool_call_started", tool, "")) == f"{shown} started"


def test_a_servers_call_shows_its_pending_request_and_then_its_end(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call("c", "mcp__asks__book", status="running", server="asks", presentation=Presentation(title="asks: Book"))
    first = QuestionRow("q1", "Who travels?", "answered", "Accepted", call_id="c")
    entry = Entry(
        "a", "assistant", run_id="r", calls=[call], asked=(first, QuestionRow("q2", "Which seat?", call_id="c"))
    )
    widget = show(qtbot, entry, host)
    texts = [label.text() for label in widget.findChildren(QLabel)]
    assert ("asks · Book" in texts, "Which seat?" in texts, "Who travels?" in texts) == (True, True, False)
    button = widget.findChild(QPushButton, "question-card-answer")
    assert button is not None
    with qtbot.waitSignal(host.question_requested) as opened:
        button.click()
    assert opened.args == ["q2"]
    card = widget.findChild(ToolCard)
    assert card is not None
    entry.asked[1].status, call.status = "answered", "error"
    widget.refresh()
    assert card.state_text()[0] == "failed"


def test_a_failed_call_shows_no_bare_identifiers_of_the_tool() -> None:
    arguments = {"operation": "add", "type": "user_pref", "scope": "general", "content": "The user likes tea"}
    failed = Call("c", "MemoryTool", arguments, "error")
    assert "The user likes tea" in call_text(failed)
    assert informative_arguments({"type": "The type of wood", "pattern": "user_pref"}) == {
        "type": "The type of wood",
        "pattern": "user_pref",
    }
