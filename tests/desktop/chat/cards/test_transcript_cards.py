"""Cards of the transcript: notices, reasoning, questions, bubbles."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.limit_card import RaiseField
from atelier_desk.desktop.chat.cards.notice_card import NoticeCard, notice_words
from atelier_desk.desktop.chat.cards.questions_and_reasoning import QuestionCard
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.transcript.actions_row import ActionsRow, BranchSwitch
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.chat.transcript.message_widgets import AssistantMessage, UserBubble
from atelier_desk.desktop.chat.transcript.tool_call_texts import call_text
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation
from atelier_desk.engine.services.workflow.transcript import Branch
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, QuestionRow
from atelier_desk.support import i18n
from tests.desktop.chat.cards.conftest import show
from tests.helpers.child_widgets import child


@pytest.mark.parametrize(
    ("topic", "details", "button", "changes"),
    [
        ("error", {}, "notice-retry", {}),
        ("run_interrupted", {"ended": "killed"}, "notice-resume", {}),
        (
            "limit_reached",
            {"limit": "tokens", "value": 10, "cap": 8},
            "notice-raise",
            {"raise_limits": {"tokens": 8.0}},
        ),
        ("limit_reached", {"limit": "cost", "value": 1, "cap": 1}, "notice-finish", {"finish": True}),
        ("loop_detected", {"tool": "x", "count": 5}, "notice-continue", {}),
    ],
)
def test_notices_offer_possible_actions(
    qtbot: QtBot, host: TranscriptHost, topic: str, details: dict[str, Any], button: str, changes: dict[str, Any]
) -> None:
    entry = Entry("n", "notice", run_id="r", topic=topic, details=details, actionable=True)
    card = show(qtbot, entry, host)
    with qtbot.waitSignal(host.resume_requested) as signal:
        QTest.mouseClick(card.findChild(QPushButton, button), Qt.MouseButton.LeftButton)
    assert signal.args == ["r", changes]


@pytest.mark.parametrize(
    ("language", "kind", "around"),
    [
        ("en", "cost", ("+ $", "")),
        ("en", "tokens", ("+ ", " tokens")),
        ("en", "tool_calls", ("+ ", "")),
        ("fr", "cost", ("+ ", "\u202f$")),
        ("fr", "time", ("+ ", "\u00a0s")),
    ],
)
def test_the_unit_of_a_limit_is_placed_as_in_the_language(
    qtbot: QtBot, language: str, kind: str, around: tuple[str, str]
) -> None:
    i18n.set_language(language)
    field = RaiseField()
    qtbot.addWidget(field)
    field.show_kind(kind, 8)
    assert (field.prefix(), field.suffix()) == around


def test_a_notice_can_stop_the_run(qtbot: QtBot, host: TranscriptHost) -> None:
    card = show(
        qtbot, Entry("n", "notice", run_id="r", topic="loop_detected", details={"count": 5}, actionable=True), host
    )
    with qtbot.waitSignal(host.stop_requested) as signal:
        card.findChild(QPushButton, "notice-stop").click()
    assert signal.args == ["r"]


def test_a_notice_of_the_past_has_no_buttons(qtbot: QtBot, host: TranscriptHost) -> None:
    entry = Entry("n", "notice", run_id="r", topic="limit_reached", details={"limit": "time"}, actionable=True)
    card = show(qtbot, entry, host)
    assert isinstance(card, NoticeCard)
    entry.actionable = False
    card.refresh()
    qtbot.waitUntil(lambda: card.findChild(QPushButton) is None)


def test_author_model_and_time_appear_together_with_the_buttons(qtbot: QtBot, host: TranscriptHost) -> None:
    sent_at = datetime.now().astimezone().replace(hour=9, minute=5)
    host.models = {("p", "m-large.Q4"): "m-large"}
    entry = Entry(
        "a", "assistant", run_id="r", content="Yes.", agent_name="Ada", model="m-large.Q4", provider="p", time=sent_at
    )
    reply = show(qtbot, entry, host)
    note = reply.findChild(QLabel, "message-note")
    assert note is not None
    assert note.text() == "Ada · m-large · 09:05"
    row = note.parent()
    assert isinstance(row, ActionsRow)
    assert not row.revealed
    QApplication.sendEvent(reply, QEnterEvent(QPointF(), QPointF(), QPointF()))
    assert row.revealed
    bubble = show(qtbot, Entry("u", "user", run_id="r", content="Hello", time=sent_at - timedelta(days=40)), host)
    when = bubble.findChild(QLabel, "message-note")
    assert when is not None
    assert str(sent_at.year)[-2:] in when.text(), "another day is named"


def test_a_question_appears_once_in_the_card_of_its_call(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call(
        "c",
        "UserQuestionTool",
        presentation=Presentation(summary=CallText(text="Question for you: {q}", params={"q": "Which?"})),
    )
    entry = Entry("a", "assistant", run_id="r", calls=[call], asked=(QuestionRow("q1", "Which?", call_id="c"),))
    widget = show(qtbot, entry, host)
    assert [label.text() for label in widget.findChildren(QLabel)].count("Which?") == 1
    assert widget.findChild(QuestionCard) is None
    button = widget.findChild(QPushButton, "question-card-answer")
    assert button is not None
    with qtbot.waitSignal(host.question_requested) as opened:
        button.click()
    assert opened.args == ["q1"]
    entry.asked[0].status = "skipped"
    call.status = "error"
    widget.refresh()
    card = widget.findChild(ToolCard)
    assert card is not None
    assert card.state_text() == ("skipped", "")
    assert button.isHidden()


def test_an_answered_question_has_the_same_height_after_reopening(qtbot: QtBot, host: TranscriptHost) -> None:
    call = Call(
        "c",
        "UserQuestionTool",
        presentation=Presentation(summary=CallText(text="Question for you: {q}", params={"q": "Which?"})),
    )
    entry = Entry("a", "assistant", run_id="r", calls=[call], asked=(QuestionRow("q1", "Which?", call_id="c"),))
    lived = show(qtbot, entry, host)
    call.status, entry.asked[0].status = "error", "skipped"
    lived.refresh()
    height = lived.fit(700)
    again = show(qtbot, entry, host)
    assert again.height() == height, "what it was given before anything was painted"


def test_reasoning_is_collapsed_until_clicked(qtbot: QtBot, host: TranscriptHost) -> None:
    entry = Entry("a", "assistant", run_id="r", content="Yes.", reasoning="Because.", reasoning_ms=2300)
    widget = show(qtbot, entry, host)
    fold = widget.findChild(QPushButton, "reasoning-fold")
    assert "2.3" in fold.text()
    before = widget.fit(700)
    QTest.mouseClick(fold, Qt.MouseButton.LeftButton)
    assert widget.fit(700) > before


def test_pending_question_opens_its_dialog(qtbot: QtBot, host: TranscriptHost) -> None:
    entry = Entry("a", "assistant", run_id="r", asked=(QuestionRow("q1", "Which?"),))
    widget = show(qtbot, entry, host)
    button = widget.findChild(QPushButton, "question-card-answer")
    with qtbot.waitSignal(host.question_requested) as signal:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert signal.args == ["q1"]
    entry.asked = (QuestionRow("q1", "Which?", "answered", "Left"),)
    widget.refresh()
    assert button.isHidden()


def test_user_message_is_edited_in_place_and_sent_again(qtbot: QtBot, host: TranscriptHost) -> None:
    bubble = show(qtbot, Entry("u", "user", run_id="r", content="Helo"), host)
    assert isinstance(bubble, UserBubble)
    bubble.edit()
    field = child(bubble, QPlainTextEdit, "edit-field")
    assert field.toPlainText() == "Helo"
    QTest.keyClicks(field, "!")
    assert field.toPlainText() == "Helo!", "one writes on where it ends"
    field.setPlainText("Hello")
    with qtbot.waitSignal(host.resend_requested) as signal:
        QTest.keyClick(field, Qt.Key.Key_Return)
    assert signal.args == ["r", "u", "Hello"]


def test_attachments_are_named_while_a_message_is_edited(qtbot: QtBot, host: TranscriptHost) -> None:
    files = [{"name": name, "source": "file", "size": 5, "text": "x", "sha256": "0"} for name in ("a.pdf", "b.txt")]
    bubble = show(qtbot, Entry("u", "user", run_id="r", content="Look", attachments=tuple(files)), host)
    assert isinstance(bubble, UserBubble)
    bubble.edit()
    assert child(bubble, QLabel, "edit-attached").text() == "Attachments: a.pdf, b.txt"


def test_the_time_beside_a_wide_message_is_omitted_instead_of_clipped(qtbot: QtBot, host: TranscriptHost) -> None:
    bubble = show(qtbot, Entry("u", "user", run_id="r", content="word " * 200, time=datetime(2026, 1, 2, 3, 4)), host)
    note = bubble.findChild(QLabel, "message-note")
    for width, shown in ((2_000, True), (500, False)):
        bubble.fit(width)
        assert note.isHidden() is not shown


def test_copy_copies_the_original_message_text(qtbot: QtBot, host: TranscriptHost) -> None:
    message = show(qtbot, Entry("a", "assistant", run_id="r", content="**bold**"), host)
    assert isinstance(message, AssistantMessage)
    message.setFocus()
    QTest.keyClick(message, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "**bold**"


def test_versions_are_switched(qtbot: QtBot, host: TranscriptHost) -> None:
    entry = Entry("u", "user", run_id="r2", content="x", branch=Branch(1, ("r1", "r2", "r3")))
    switch = show(qtbot, entry, host).findChild(BranchSwitch, "branch-switch")
    with qtbot.waitSignal(host.branch_requested) as signal:
        switch.previous.click()
    assert signal.args == ["r1"]
    with qtbot.waitSignal(host.branch_requested) as signal:
        switch.following.click()
    assert signal.args == ["r3"]


def test_an_open_message_editor_follows_the_language(qtbot: QtBot, host: TranscriptHost) -> None:
    bubble = show(qtbot, Entry("u", "user", run_id="r", content="Hello"), host)
    bubble.edit()
    buttons = [bubble.findChild(QPushButton, name) for name in ("edit-cancel", "edit-send")]
    assert [button.text() for button in buttons] == ["Cancel", "Send"]
    switch_language("fr")
    QCoreApplication.sendPostedEvents()
    assert [button.text() for button in buttons] == ["Annuler", "Envoyer"]


def test_a_sent_picture_is_named_in_the_current_language(qtbot: QtBot, host: TranscriptHost) -> None:
    bubble = show(qtbot, Entry("u", "user", run_id="r", content="See", images=({"data": ""},)), host)
    names = {part.accessibleName() for part in bubble.findChildren(QLabel)}
    assert "Attached image" in names
    switch_language("fr")
    QCoreApplication.sendPostedEvents()
    assert "Image jointe" in {part.accessibleName() for part in bubble.findChildren(QLabel)}


def test_a_sent_file_is_shown_by_name_and_opens(qtbot: QtBot, host: TranscriptHost) -> None:
    files = [{"name": "notes & co.txt", "text": "The sea is blue."}, {"name": "long.txt", "text": "x" * 30_000}]
    files.append({"name": "x", "text": "x"})
    bubble = show(qtbot, Entry("u", "user", run_id="r", content="Read", files=tuple(files)), host)
    buttons = bubble.findChildren(QPushButton, "attached-file")
    assert [button.text() for button in buttons] == [
        "notes && co.txt · 16 characters",
        "long.txt · 30,000 characters",
        "x · 1 character",
    ]
    closed = bubble.fit(600)
    with qtbot.waitSignal(bubble.height_changed):
        QTest.mouseClick(buttons[0], Qt.MouseButton.LeftButton)
    assert bubble.fit(600) > closed
    attached = buttons[0].parentWidget()
    text = attached.findChild(ProseBlock)
    assert (text.isHidden(), text.toPlainText()) == (False, "The sea is blue.")
    QTest.mouseClick(buttons[1], Qt.MouseButton.LeftButton)
    assert text.toPlainText().endswith("… 10,000 more characters")
    QTest.mouseClick(buttons[1], Qt.MouseButton.LeftButton)
    assert (text.isHidden(), bubble.fit(600)) == (True, closed)
    switch_language("fr")
    QCoreApplication.sendPostedEvents()
    assert "16 caractères" in buttons[0].text()


def test_a_question_is_readable_by_a_screen_reader(qtbot: QtBot, host: TranscriptHost) -> None:
    entry = Entry("a", "assistant", run_id="r", asked=(QuestionRow("q", "Which way?"),))
    card = show(qtbot, entry, host).findChild(QWidget, "question-card")
    assert card.accessibleName() == "Which way?, waiting for you"
    assert card.findChild(QPushButton, "question-card-answer").accessibleName() == "Answer: Which way?"


def test_reasoning_costs_no_layout_while_collapsed_and_little_while_open(
    qtbot: QtBot, host: TranscriptHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry("a", "assistant", run_id="r", reasoning="One", live=True)
    widget = show(qtbot, entry, host)
    button = widget.findChild(QPushButton, "reasoning-fold")
    assert button.text() == "Thinking…"
    drawn: list[str] = []
    plain = ProseBlock.show_plain

    def show_plain(block: ProseBlock, text: str) -> None:
        drawn.append(text)
        plain(block, text)

    monkeypatch.setattr(ProseBlock, "show_plain", show_plain)
    for _number in range(50):
        entry.reasoning += " more"
        widget.stream()
    assert drawn == []
    button.click()
    drawn.clear()
    for _number in range(50):
        entry.reasoning += " more"
        widget.stream()
    with qtbot.waitSignal(widget.height_changed):
        pass
    assert drawn == [entry.reasoning]
    entry.content, entry.reasoning_ms = "Yes", 2300
    widget.stream()
    assert button.text() == "Thought for 2.3\u202fs"


def test_a_loading_model_is_not_shown_as_a_failed_attempt() -> None:
    entry = Entry("notice-1", "notice", run_id="r1", seq=1, topic="retry")
    entry.details = {"attempt": 3, "delay_s": 4.0, "reason": "loading"}
    assert notice_words(entry)[3:] == ("Loading the model", "The server is not ready yet; retrying in 4.0\u202fs.")
    entry.details = {"attempt": 1, "delay_s": 0.0, "reason": "loading"}
    assert notice_words(entry)[3:] == ("Loading the model", "The model will answer once it is loaded.")
    entry.details = {"attempt": 2, "delay_s": 0.5, "reason": "overloaded"}
    assert notice_words(entry)[3:] == ("Retrying the model", "Attempt 2 after 0.5\u202fs: the server is busy")


def test_tools_known_only_by_name_are_shown_with_their_title() -> None:
    for tool, text in (
        ("CalculatorTool", "“Calculator” was called 3 times"),
        ("mcp__shop__find", "“find” was called 3 times"),
    ):
        entry = Entry("n", "notice", run_id="r", topic="loop_detected", details={"tool": tool, "count": 3})
        assert notice_words(entry)[-1] == f"{text} with the same arguments and result."
    failed = Call("c", "SpawnAgentTool", {"operation": "spawn", "name": "Eve", "prompt": "Count"}, "error")
    assert "Eve · Count" in call_text(failed)
    assert "spawn" not in "".join(call_text(failed))


def test_an_error_card_names_the_cause_in_one_line(qtbot: QtBot, host: TranscriptHost) -> None:
    titles = {
        "query": "Internal error in Atelier",
        "internal_error": "Internal error in Atelier",
        "auth": "The model could not answer",
    }
    for code, title in titles.items():
        entry = Entry("n", "notice", run_id="r", topic="error", content="No.", details={"code": code}, actionable=True)
        assert notice_words(entry)[3] == title
    card = show(qtbot, entry, host)
    assert isinstance(card, NoticeCard)
    card.setFixedWidth(600)
    card.resize(600, card.fit(600))
    retry = card.findChild(QPushButton, "notice-retry")
    assert retry is not None
    words = card._card.title.mapTo(card, QPoint()).x()

    def below() -> None:
        assert retry.mapTo(card, QPoint()).x() == words
        assert card.height() >= retry.mapTo(card, QPoint(0, retry.height())).y()

    qtbot.waitUntil(below)


def test_unknown_counts_are_not_shown_as_zero() -> None:
    entry = Entry("n", "notice", topic="context_compacted", details={"tokens_before": 5_800})
    assert notice_words(entry)[-1] == "The history had 5.8\u202fk tokens; older parts were shortened."
    entry.details = {"tokens_before": 5_800, "tokens_after": 1_200}
    assert notice_words(entry)[-1] == "5.8\u202fk → 1.2\u202fk tokens; older parts were shortened."
