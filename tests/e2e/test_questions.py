"""Questions: the dialog's three modes, Skip, Later, the inbox, their order, and after a restart."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit

from atelier_desk.domain.model_messages import ChatRequest, Role
from atelier_desk.domain.question import QuestionStatus
from tests.e2e.asking import ask
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, in_red, rendered


def told(request: ChatRequest) -> str:
    """The newest tool result sent to the model."""
    return [message.content for message in request.messages if message.role is Role.TOOL][-1]


def echo(request: ChatRequest) -> str:
    return "You said: " + told(request)


def begin(open_desk: OpenDesk, kind: str, **more: object) -> Desk:
    """Start a run that asks one question; returns its open dialog."""
    desk = open_desk([[ask("q1", "Which colour?", kind, **more)], echo])
    desk.send("Paint it")
    dialog = desk.until_shown("user-question-modal", "Which colour?")
    desk.until(lambda: dialog.isAncestorOf(desk.window.focusWidget()), "the dialog has the keyboard")
    return desk


def test_checkbox_needs_an_option(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "checkbox", context="The **door** is old.")
    assert desk.all("question-answer") == []
    assert "door" in rendered(desk.find("question-context"))
    assert "**" not in rendered(desk.find("question-context"))
    submit = desk.find("question-submit")
    assert not submit.isEnabled()
    desk.click("question-option-red")
    desk.press("user-question-modal", Qt.Key.Key_3)
    assert desk.find("question-option-blue", QCheckBox).isChecked()
    desk.click("question-option-red")
    assert submit.isEnabled()
    desk.click("question-submit")
    desk.gone("user-question-modal")
    reply = desk.last_reply("You said")
    assert '"blue"' in rendered(reply)
    assert '"red"' not in rendered(reply)
    desk.wait_done()


def test_text_needs_words_and_is_sent_by_keyboard(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "text", textPlaceholder="A colour")
    field = desk.find("question-answer", QPlainTextEdit)
    assert field.placeholderText() == "A colour"
    assert not desk.find("question-submit").isEnabled()
    desk.type(field, "   ")
    assert not desk.find("question-submit").isEnabled()
    desk.type(field, "deep purple")
    assert desk.find("question-submit").isEnabled()
    desk.press(field, Qt.Key.Key_Return)
    desk.gone("user-question-modal")
    desk.last_reply("deep purple")
    desk.wait_done()


def test_mixed_takes_an_option_alone(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "mixed")
    desk.type("question-answer", "something else")
    assert not desk.find("question-submit").isEnabled()
    desk.click("question-option-green")
    assert desk.find("question-submit").isEnabled()
    desk.find("question-answer", QPlainTextEdit).clear()
    assert desk.find("question-submit").isEnabled()
    desk.click("question-submit")
    desk.last_reply('"green"')
    desk.wait_done()


def test_mixed_with_required_text_needs_both(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "mixed", textRequired=True)
    desk.click("question-option-green")
    assert not desk.find("question-submit").isEnabled()
    desk.type("question-answer", "with stripes")
    assert desk.find("question-submit").isEnabled()
    desk.click("question-submit")
    assert "with stripes" in rendered(desk.last_reply('"green"'))
    desk.wait_done()
    card = desk.find("tool-card")
    assert "answered" in rendered(card)
    assert "with stripes" in rendered(card)


def test_a_skipped_question_is_reported_to_the_agent(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "checkbox")
    desk.click("question-skip")
    desk.gone("user-question-modal")
    desk.last_reply("Question skipped by user")
    desk.wait_done()
    assert "skipped" in rendered(desk.find("tool-card"))
    assert in_red(desk.find("tool-card")) == []
    desk.until_row("activity-list", ", skipped, ")
    lived = desk.find("tool-card").height()
    desk.close()
    desk = open_desk()
    desk.last_reply("Question skipped by user")
    desk.until(lambda: desk.find("tool-card").height() == lived, "the card is as high as it was")


def test_later_answers_nothing_and_the_inbox_brings_it_back(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "mixed")
    desk.type("question-answer", "half an answer")
    desk.action("show-questions")
    [question] = desk.engine(lambda a: a.questions.pending())
    desk.until(lambda: not desk.all(f"inbox-{question.id}"), "an open question stands in its dialog alone")
    desk.until_shown("question-inbox", "Nothing else is waiting")
    desk.press("user-question-modal", Qt.Key.Key_Escape)
    desk.gone("user-question-modal")
    desk.until(lambda: rendered(desk.find("pending-count")) == "1", "one question waits")
    desk.until_shown("question-inbox", "later")
    [question] = desk.engine(lambda a: a.questions.pending())
    assert question.status is QuestionStatus.PENDING
    desk.click(f"inbox-open-{question.id}")
    desk.find("user-question-modal")
    assert desk.find("question-answer", QPlainTextEdit).toPlainText() == "half an answer"
    desk.click("question-option-red")
    desk.click("question-submit")
    desk.last_reply("half an answer")
    desk.wait_done()
    desk.until(lambda: rendered(desk.find("pending-count")) == "0", "no question waits")


def test_later_from_the_button_and_back_from_the_transcript(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "text")
    desk.click("question-later")
    desk.gone("user-question-modal")
    desk.click("question-card-answer")
    desk.find("user-question-modal")
    desk.type("question-answer", "now then")
    desk.click("question-submit")
    desk.last_reply("now then")
    desk.wait_done()


def test_looking_something_up_puts_the_question_off(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, "text")
    desk.type("question-answer", "half an ans")
    desk.action("find")
    desk.gone("user-question-modal")
    assert desk.find("find-field").hasFocus(), "what is typed is looked for"
    desk.press("find-field", Qt.Key.Key_Escape)
    desk.click("question-card-answer")
    assert desk.find("question-answer", QPlainTextEdit).toPlainText() == "half an ans"
    desk.type("question-answer", "wer")
    desk.click("question-submit")
    desk.last_reply("half an answer")
    desk.wait_done()


def test_two_questions_are_asked_in_their_order(open_desk: OpenDesk) -> None:
    calls = [ask("q1", "Which colour?", "checkbox"), ask("q2", "Whose door?", "text")]
    desk = open_desk([calls, echo])
    desk.send("Paint it")
    desk.until_shown("question-text", "Which colour?")
    desk.until_shown("question-place", "1 / 2")
    desk.click("question-option-red")
    desk.click("question-submit")
    desk.until_shown("question-text", "Whose door?")
    desk.until_shown("question-place", "2 / 2")
    desk.type("question-answer", "the neighbour's")
    desk.click("question-submit")
    desk.last_reply("the neighbour's")
    desk.wait_done()
    assert desk.model is not None
    assert len(desk.model.requests) == 2


def test_another_workflow_stays_usable_while_a_question_waits(open_desk: OpenDesk) -> None:
    desk = open_desk([[ask("q1", "Which colour?", "text")], "A quick answer.", echo])
    desk.send("Paint it")
    desk.find("user-question-modal")
    asking = desk.workflow_id
    desk.click("new-workflow")
    desk.gone("user-question-modal")
    desk.send("Something else")
    desk.last_reply("A quick answer.")
    desk.click_row(desk.window.sidebar.list, "Paint it")
    desk.until(lambda: desk.workflow_id == asking, "the first workflow is back")
    desk.find("user-question-modal")
    desk.type("question-answer", "yellow")
    desk.click("question-submit")
    desk.last_reply("yellow")
    desk.wait_done()


def test_after_a_restart_a_pending_question_is_asked_again(open_desk: OpenDesk) -> None:
    first = begin(open_desk, "checkbox")
    workflow_id = first.workflow_id
    first.close()
    desk = open_desk([echo])
    desk.until_shown("user-question-modal", "Which colour?")
    assert desk.workflow_id == workflow_id
    desk.click("question-option-blue")
    desk.click("question-submit")
    desk.last_reply('"blue"')
    desk.wait_done()
    run = desk.engine(lambda a: a.repos.runs.list(workflow_id))[0]
    assert run.status.value == "completed"
