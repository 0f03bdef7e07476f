"""The question dialog: its three modes, rules and keys, and that no input is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer_focus import ComposerFocus
from atelier_desk.desktop.questions.dialog import QuestionDialog
from atelier_desk.desktop.questions.digit_keys import digit_of
from atelier_desk.desktop.questions.queue import QueuePosition
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel
from atelier_desk.desktop.widgets.scrim import Scrim
from atelier_desk.domain import limits
from atelier_desk.domain.question import QuestionAnswer, UserQuestion
from atelier_desk.support.i18n import set_language
from tests.desktop.questions.approval_fixtures import LINEAGE
from tests.desktop.questions.conftest import ask
from tests.helpers.focused_widget import focused

Find = Callable[[str], Any]


@pytest.fixture
def opened(host: QWidget, qtbot: QtBot) -> Callable[..., QuestionDialog]:
    def make(question: UserQuestion, draft: QuestionAnswer | None = None) -> QuestionDialog:
        scrim = Scrim(host)
        dialog = QuestionDialog(question, QueuePosition(1, 2), draft or QuestionAnswer(), scrim)
        scrim.hold(dialog)
        qtbot.waitUntil(dialog.isVisible)
        return dialog

    return make


@pytest.mark.parametrize(
    ("kind", "required", "tick", "text", "ready"),
    [
        ("checkbox", False, False, "", False), ("checkbox", False, True, "", True), ("text", False, False, "", False),
        ("text", False, False, "  ", False), ("text", False, False, "yes", True),
        ("mixed", False, False, "words", False),
        ("mixed", False, True, "", True), ("mixed", True, True, "", False), ("mixed", True, True, "words", True),
    ],
)  # fmt: skip
def test_submit_is_enabled_only_when_the_rules_are_met(
    opened: Callable[..., QuestionDialog], child: Find, kind: str, required: bool, tick: bool, text: str, ready: bool
) -> None:
    opened(ask(kind=kind, text_required=required))
    if tick:
        child("question-option-o2").click()
    if text:
        child("question-answer").setPlainText(text)
    assert child("question-submit").isEnabled() is ready


@pytest.mark.parametrize(
    ("kind", "required", "tick", "text"),
    [
        ("checkbox", False, False, "Choose at least one option"),
        ("text", False, False, "A text answer is required"),
        ("mixed", False, False, "Choose at least one option"),
        ("mixed", True, False, "Choose at least one option and write an answer"),
        ("mixed", True, True, "A text answer is required"),
    ],
)
def test_missing_input_is_named_before_submitting_also_in_a_small_dialog(
    opened: Callable[..., QuestionDialog],
    child: Find,
    host: QWidget,
    kind: str,
    required: bool,
    tick: bool,
    text: str,
) -> None:
    host.resize(300, 600)
    dialog = opened(ask(kind=kind, text_required=required))
    dialog.fit()
    if tick:
        child("question-option-o2").click()
    assert child("question-submit").toolTip() == text
    hint = next(each for each in dialog.findChildren(ElidedLabel) if each.text() == text)
    assert hint.isVisible()


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_hint_about_missing_input_is_never_clipped(
    opened: Callable[..., QuestionDialog], child: Find, host: QWidget, language: str
) -> None:
    set_language(language)
    dialog = opened(ask(kind="mixed", text_required=True))
    dialog.fit()
    hint = next(each for each in dialog.findChildren(ElidedLabel) if each.text() == child("question-submit").toolTip())
    assert hint.width() >= hint.fontMetrics().horizontalAdvance(hint.text())


def test_a_long_placeholder_is_elided_at_the_end_of_the_field(
    opened: Callable[..., QuestionDialog], child: Find, host: QWidget
) -> None:
    host.resize(340, 700)
    long = "for instance a colour, a size and a reason " * 5
    dialog = opened(ask(kind="mixed", text_placeholder=long))
    dialog.fit()
    editor = child("question-answer")
    shown = editor.placeholderText()
    assert shown.endswith("…")
    rect = editor.fontMetrics().boundingRect(
        0, 0, editor.viewport().width() - 8, 10_000, int(Qt.TextFlag.TextWordWrap), shown
    )
    assert rect.height() <= editor.viewport().height()
    assert editor.toolTip() == long


def test_context_and_response_have_visible_labels_and_the_text_is_trimmed(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot
) -> None:
    dialog = opened(ask(kind="text", context="because"))
    assert (child("question-context-caption").text(), child("question-answer-caption").text()) == (
        "Context",
        "Your answer",
    )
    assert child("question-answer-caption").isVisible()
    child("question-answer").setPlainText("  yes, please \n")
    with qtbot.waitSignal(dialog.submitted) as sent:
        child("question-submit").click()
    assert sent.args == [QuestionAnswer(text_response="yes, please")]


def test_it_shows_who_asks_what_and_the_position_in_the_queue(
    opened: Callable[..., QuestionDialog], child: Find
) -> None:
    dialog = opened(ask(question="Which way is best?", context="because **so**"))
    assert isinstance(dialog, QDialog)
    assert dialog.objectName() == "user-question-modal"
    assert child("question-title").text() == "Architect has a question"
    assert dialog.accessibleName() == "Architect has a question"
    assert child("question-text").text() == "Which way is best?"
    assert child("question-text").textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse
    assert child("question-context").toPlainText() == "because so"
    assert child("question-place").text() == "question 1 / 2"
    dialog.set_place(QueuePosition(1, 1))
    assert child("question-place").isHidden(), "the only question is not counted"
    assert not dialog.isWindow()


def test_it_shows_the_agents_above_a_sub_agent(opened: Callable[..., QuestionDialog], child: Find) -> None:
    dialog = opened(ask(lineage=LINEAGE, agent_name="Scout"))
    assert child("question-lineage").text() == "Architect → Reviewer → Scout"
    assert dialog.accessibleDescription() == "Architect → Reviewer → Scout. Which way?"


def test_context_renders_no_html_and_loads_nothing(opened: Callable[..., QuestionDialog], child: Find) -> None:
    opened(ask(context="<script>x</script> <b>bold</b> ![p](http://127.0.0.1:9/x.png) ![f](file:///etc/hostname)"))
    view = child("question-context")
    assert "<b>bold</b>" in view.toPlainText()
    kind = QTextDocument.ResourceType.ImageResource.value
    assert view.loadResource(kind, "file:///etc/hostname") is None
    assert view.loadResource(kind, "http://127.0.0.1:9/x.png") is None


@pytest.mark.parametrize("modifiers", [Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier])
def test_digits_toggle_enter_submits_and_the_complete_row_is_clickable(
    opened: Callable[..., QuestionDialog], child: Find, modifiers: Qt.KeyboardModifier
) -> None:
    dialog = opened(ask(kind="checkbox"))
    answers: list[QuestionAnswer] = []
    dialog.submitted.connect(answers.append)
    QTest.keyClick(dialog, Qt.Key.Key_1)
    QTest.keyClick(child("question-option-o1"), Qt.Key.Key_3)
    QTest.keyClick(dialog, Qt.Key.Key_9)
    card = child("question-option-o2")
    QTest.mouseClick(card, Qt.MouseButton.LeftButton, pos=QPoint(card.width() - 5, card.height() - 5))
    QTest.keyClick(dialog, Qt.Key.Key_1)
    assert answers == []
    QTest.keyClick(card, Qt.Key.Key_Return, modifiers)
    assert answers == [QuestionAnswer(selected_options=("o2", "o3"))]
    QTest.keyClick(dialog, Qt.Key.Key_Return, modifiers)
    assert len(answers) == 1


def test_digits_typed_into_the_answer_are_text_and_alt_digits_toggle(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot
) -> None:
    dialog = opened(ask(kind="mixed"))
    field = child("question-answer")
    field.setFocus()
    QTest.keyClicks(field, "12")
    QTest.keyClick(field, Qt.Key.Key_2, Qt.KeyboardModifier.AltModifier)
    assert dialog.entered() == QuestionAnswer(selected_options=("o2",), text_response="12")
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert field.toPlainText() == "12\n"
    with qtbot.waitSignal(dialog.submitted):
        QTest.keyClick(field, Qt.Key.Key_Return)


def test_enter_names_missing_input_and_space_toggles(opened: Callable[..., QuestionDialog], child: Find) -> None:
    dialog = opened(ask(kind="checkbox"))
    hint = next(each for each in dialog.findChildren(ElidedLabel) if each.text() == "Choose at least one option")
    option = child("question-option-o1")
    QTest.keyClick(option, Qt.Key.Key_Return)
    assert not option.isChecked()
    assert hint.property("variant") == "error"
    QTest.keyClick(option, Qt.Key.Key_Space)
    assert option.isChecked()
    assert hint.property("variant") == "muted"


def test_enter_on_a_button_presses_it(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot, host: QWidget
) -> None:
    host.activateWindow()
    dialog = opened(ask(kind="checkbox"))
    sent: list[Any] = []
    dialog.submitted.connect(sent.append)
    child("question-option-o1").click()
    child("question-later").setFocus()
    with qtbot.waitSignal(dialog.postponed):
        QTest.keyClick(child("question-later"), Qt.Key.Key_Return)
    assert sent == []


def _event(key: Qt.Key, scan: int, virtual: int, text: str = "", native: int = 0) -> QKeyEvent:
    return QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier, scan, virtual, native, text)


@pytest.mark.parametrize(
    ("platform", "event", "digit"),
    [
        ("xcb", _event(Qt.Key.Key_Ampersand, 10, 0x26, "&"), 1),  # AZERTY, the key 1 without Shift
        ("xcb", _event(Qt.Key.Key_Eacute, 11, 0xE9, "é"), 2),
        ("wayland", _event(Qt.Key.Key_Ccedilla, 18, 0xE7, "ç"), 9),
        ("xcb", _event(Qt.Key.Key_Agrave, 19, 0xE0, "à"), 0),  # the key 0
        ("xcb", _event(Qt.Key.Key_AsciiTilde, 11, 0x7E, "~", 0x80), 0),  # AltGr writes
        ("xcb", _event(Qt.Key.Key_3, 12, 0x33, "3"), 3),  # QWERTY
        ("xcb", _event(Qt.Key.Key_3, 89, 0xFFB3, "3"), 3),  # the keypad
        ("xcb", _event(Qt.Key.Key_A, 24, 0x61, "a"), 0),
        ("windows", _event(Qt.Key.Key_QuoteDbl, 4, 0x33, '"'), 3),
        ("windows", _event(Qt.Key.Key_Ampersand, 2, 0x31, "&"), 1),
        ("windows", _event(Qt.Key.Key_A, 16, 0x41, "a"), 0),
        ("windows", _event(Qt.Key.Key_End, 79, 0x23), 0),  # the keypad without its lock
        ("cocoa", _event(Qt.Key.Key_ParenLeft, 1, 0x17, "("), 5),
        ("cocoa", _event(Qt.Key.Key_unknown, 1, 0x16, "§"), 6),
        ("cocoa", _event(Qt.Key.Key_Q, 1, 0x0C, "q"), 0),
    ],
)
def test_digit_keys_work_on_every_keyboard_layout(platform: str, event: QKeyEvent, digit: int) -> None:
    assert digit_of(event, platform) == digit


def test_on_azerty_the_digit_row_selects_and_enter_submits(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("PySide6.QtGui.QGuiApplication.platformName", lambda: "xcb")
    dialog = opened(ask(kind="mixed"))
    QCoreApplication.sendEvent(child("question-option-o1"), _event(Qt.Key.Key_Eacute, 11, 0xE9, "é"))
    assert dialog.entered() == QuestionAnswer(selected_options=("o2",)), "nothing was written into the answer"
    with qtbot.waitSignal(dialog.submitted):
        QTest.keyClick(child("question-option-o1"), Qt.Key.Key_Return)


def test_typing_while_it_opens_goes_to_the_previous_field(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot, host: QWidget
) -> None:
    """The next digit of a message selected an option, and its Enter submitted."""
    composer = host.findChild(QPlainTextEdit)
    assert composer is not None
    host.activateWindow()
    composer.setFocus()
    composer.clear()
    dialog = opened(ask(kind="mixed"))
    before = QApplication.focusWidget()
    assert before is composer
    QTest.keyClicks(before, "1 or 2")
    assert composer.toPlainText() == "1 or 2"
    assert dialog.entered() == QuestionAnswer()
    qtbot.waitUntil(lambda: dialog.isAncestorOf(focused()))


def test_keys_for_the_last_question_do_not_answer_the_next(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot, host: QWidget
) -> None:
    host.activateWindow()
    first = opened(ask(kind="checkbox"))
    scrim = first.parentWidget()
    assert isinstance(scrim, Scrim)
    scrim.give_keyboard()
    first.close_quietly()
    first.deleteLater()
    scrim.hold(None)
    dialog = QuestionDialog(ask("q2", kind="checkbox"), QueuePosition(2, 2), QuestionAnswer(), scrim)
    scrim.hold(dialog)
    before = QApplication.focusWidget()
    assert before is not None
    assert not dialog.isAncestorOf(before)
    QTest.keyClick(scrim, Qt.Key.Key_1)
    assert dialog.entered() == QuestionAnswer()
    qtbot.waitUntil(lambda: dialog.isAncestorOf(focused()))
    QTest.keyClick(dialog, Qt.Key.Key_1)
    assert dialog.entered() == QuestionAnswer(selected_options=("o1",))


def test_letters_typed_on_an_option_go_into_the_answer_never_to_the_window_below(
    opened: Callable[..., QuestionDialog], child: Find, host: QWidget
) -> None:
    """They reached the window, which typed them into the composer under the scrim."""
    composer = QLineEdit(host)
    composer.show()
    ComposerFocus(host, lambda: composer)
    dialog = opened(ask(kind="mixed"))
    child("question-option-o1").setFocus()
    QTest.keyClick(child("question-option-o1"), Qt.Key.Key_B)
    assert dialog.focusWidget() is child("question-answer")
    QTest.keyClicks(child("question-answer"), "ecause of it")
    assert dialog.entered() == QuestionAnswer(text_response="because of it")
    dialog.close_quietly()
    dialog = opened(ask(kind="checkbox"))
    option = dialog.options[0]
    option.setFocus()
    QTest.keyClicks(option, "because")
    assert dialog.focusWidget() is option
    assert dialog.entered() == QuestionAnswer()
    assert composer.text() == ""


@pytest.mark.parametrize("way", ["escape", "escape in the field", "button"])
def test_escape_and_later_preserve_the_draft_and_answer_nothing(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot, way: str
) -> None:
    dialog = opened(ask(kind="mixed"))
    sent: list[Any] = []
    dialog.submitted.connect(sent.append)
    dialog.skipped.connect(lambda: sent.append("skip"))
    child("question-option-o1").click()
    child("question-answer").setPlainText("not yet")
    with qtbot.waitSignal(dialog.postponed) as later:
        if way == "button":
            QTest.mouseClick(child("question-later"), Qt.MouseButton.LeftButton)
        else:
            QTest.keyClick(dialog if way == "escape" else child("question-answer"), Qt.Key.Key_Escape)
    assert later.args == [QuestionAnswer(selected_options=("o1",), text_response="not yet")]
    assert sent == []
    assert not dialog.isVisible()


def test_an_error_is_shown_in_place_and_input_stays(opened: Callable[..., QuestionDialog], child: Find) -> None:
    dialog = opened(ask(kind="mixed"), QuestionAnswer(selected_options=("o3",), text_response="kept"))
    QTest.mouseClick(child("question-submit"), Qt.MouseButton.LeftButton)
    assert not child("question-submit").isEnabled()
    assert not child("question-skip").isEnabled()
    dialog.show_error("The disk is full.")
    assert child("question-error").isVisible()
    assert child("question-error").text() == "The disk is full."
    assert dialog.entered() == QuestionAnswer(selected_options=("o3",), text_response="kept")
    assert child("question-submit").isEnabled()


def test_a_too_long_answer_cannot_be_sent_and_the_counter_shows_it(
    opened: Callable[..., QuestionDialog], child: Find
) -> None:
    dialog = opened(ask(kind="text"))
    field = dialog.answer
    assert field is not None
    field.set_text("x" * (limits.QUESTION_TEXT_RESPONSE - 5))
    assert field._counter.text() == "9,995 / 10,000 characters"
    assert child("question-submit").isEnabled()
    field.set_text("x" * (limits.QUESTION_TEXT_RESPONSE + 1))
    assert not child("question-submit").isEnabled()
    assert len(dialog.entered().text_response) == limits.QUESTION_TEXT_RESPONSE


@pytest.mark.parametrize("scale", [100, 200])
def test_buttons_stay_visible_however_many_and_long_the_options_are(
    opened: Callable[..., QuestionDialog], child: Find, host: QWidget, qtbot: QtBot, scale: int
) -> None:
    theme().set_scale(scale)
    long = ask(kind="mixed", options=20, question="Why? " * 200, context="word " * 500)
    dialog = opened(long)

    def in_view() -> None:
        assert child("question-scroll").verticalScrollBar().maximum() > 0
        for name in ("question-submit", "question-skip", "question-later"):
            button = child(name)
            corner = button.mapTo(host, button.rect().bottomRight())
            assert host.rect().contains(corner)
            assert dialog.rect().contains(button.mapTo(dialog, button.rect().bottomRight()))
            assert button.width() >= button.sizeHint().width()

    qtbot.waitUntil(in_view)


def test_a_short_question_needs_no_scroll_bar(opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot) -> None:
    opened(ask(kind="mixed", context="some **context**"))
    qtbot.waitUntil(lambda: child("question-scroll").verticalScrollBar().maximum() == 0)
    assert child("question-option-o3").isVisible()


@pytest.mark.parametrize(("height", "scrolls"), [(700, False), (360, True)])
def test_only_the_body_scrolls_and_only_where_the_view_is_too_low(
    opened: Callable[..., QuestionDialog], child: Find, host: QWidget, height: int, scrolls: bool
) -> None:
    """In the view of a window of 1024 × 700 with large French text, five options and a field just fit."""
    set_language("fr")
    theme().set_scale(150)
    host.resize(647, height)
    dialog = opened(ask(kind="mixed", options=5, context="some **context**"))
    QCoreApplication.processEvents()
    dialog.fit()
    QCoreApplication.processEvents()
    assert (child("question-scroll").verticalScrollBar().maximum() > 0) is scrolls
    assert dialog.height() <= host.height()
    if scrolls:
        assert dialog.height() >= host.height() - 8, "all there is"
    for name in ("question-title", "question-submit", "question-skip", "question-later"):
        part = child(name)
        assert dialog.rect().contains(part.rect().translated(part.mapTo(dialog, QPoint())))


def test_over_an_open_lower_pane_a_question_with_four_options_and_a_field_does_not_scroll(
    opened: Callable[..., QuestionDialog], child: Find, host: QWidget
) -> None:
    """In the view of a window of 1366 × 768 with an open lower pane."""
    host.resize(780, 416)
    dialog = opened(ask(kind="mixed", options=4, context="some **context**"))
    QCoreApplication.processEvents()
    dialog.fit()
    QCoreApplication.processEvents()
    assert child("question-scroll").verticalScrollBar().maximum() == 0
    assert dialog.height() <= host.height() - 8
    host.resize(780, 700)
    QCoreApplication.processEvents()
    assert dialog.height() > 416, "with room its parts are apart again"


def test_tab_cycles_inside_the_dialog(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot, host: QWidget
) -> None:
    dialog = opened(ask(kind="mixed"))
    host.activateWindow()
    seen = []
    for _ in range(7):
        dialog.focusNextPrevChild(True)
        now = dialog.focusWidget()
        assert now is not None
        seen.append(now.objectName())
    assert set(seen) == {
        "question-option-o1", "question-option-o2", "question-option-o3", "question-answer", "question-skip",
        "question-later",
    }  # fmt: skip


def test_remaining_time_is_shown_and_hidden(opened: Callable[..., QuestionDialog], child: Find) -> None:
    dialog = opened(ask())
    assert child("question-time").isHidden()
    dialog.set_remaining(272.4)
    assert child("question-time").text() == "4:32 left"
    dialog.set_remaining(0.2)
    assert child("question-time").text() == "0:00 left"


@pytest.mark.parametrize("kind", ["checkbox", "text", "mixed"])
@pytest.mark.parametrize(
    ("width", "height", "scale"), [(900, 700, 100), (420, 400, 100), (420, 400, 150), (700, 560, 200), (420, 460, 200)]
)
def test_nothing_in_header_or_footer_is_clipped(
    opened: Callable[..., QuestionDialog],
    host: QWidget,
    child: Find,
    qtbot: QtBot,
    kind: str,
    width: int,
    height: int,
    scale: int,
) -> None:
    theme().set_scale(scale)
    host.resize(width, height)
    dialog = opened(ask(kind=kind, context="because **so**"))
    dialog.set_remaining(25)
    dialog.fit()
    QCoreApplication.processEvents()
    for name in ("question-skip", "question-later", "question-submit", "question-time", "question-place"):
        widget = child(name)
        assert widget.width() >= widget.sizeHint().width(), name
        assert widget.height() >= widget.sizeHint().height() - 2, name
        assert dialog.rect().contains(widget.geometry()), name


def test_a_short_question_leaves_no_empty_space(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot
) -> None:
    theme().set_scale(150)
    dialog = opened(
        ask(kind="text", question="Which isolation should be switched on for the tools of this team, and why?")
    )
    QCoreApplication.processEvents()
    dialog.fit()
    answer, skip = child("question-answer"), child("question-skip")
    gap = skip.mapTo(dialog, QPoint()).y() - answer.mapTo(dialog, QPoint(0, answer.height())).y()
    assert 0 < gap < 40


def test_only_the_focused_widget_has_a_focus_ring(opened: Callable[..., QuestionDialog], child: Find) -> None:
    opened(ask())
    ticked, other = child("question-option-o1"), child("question-option-o2")
    ticked.click()
    other.setFocus()
    middle = QPoint(ticked.width() // 2, 1)
    accent = theme().colour("accent")
    assert other.grab().toImage().pixelColor(middle) == accent
    assert ticked.grab().toImage().pixelColor(middle) != accent


def test_skip_is_at_the_edge_when_the_hint_is_above_it(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot
) -> None:
    set_language("fr")
    dialog = opened(ask(kind="text"))
    dialog.setFixedWidth(theme().px(430))
    dialog.fit()
    skip, field = child("question-skip"), child("question-answer")

    def at_the_edge() -> None:
        assert abs(skip.mapTo(dialog, QPoint()).x() - field.mapTo(dialog, QPoint()).x()) <= 4
        assert skip.width() <= skip.sizeHint().width() + 2

    qtbot.waitUntil(at_the_edge)


def test_the_buttons_keep_their_size_under_a_long_hint(
    opened: Callable[..., QuestionDialog], child: Find, qtbot: QtBot
) -> None:
    dialog = opened(ask(kind="mixed", text_required=True))
    submit, field = child("question-submit"), child("question-answer")

    def at_the_other_edge() -> None:
        for name in ("question-later", "question-submit"):
            assert child(name).width() <= child(name).sizeHint().width() + 2
        right_edges = [each.mapTo(dialog, each.rect().topRight()).x() for each in (submit, field)]
        assert abs(right_edges[0] - right_edges[1]) <= 4

    qtbot.waitUntil(at_the_other_edge)
