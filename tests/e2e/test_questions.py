"""Questions: the dialog's three modes, Skip, Later, the inbox, their order, and after a restart."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from atelier_desk.domain.question import QuestionStatus
from tests.e2e import screens
from tests.e2e.conftest import OpenApp
from tests.e2e.echo_replies import echo
from tests.e2e.harness import AppDriver, error_text, rendered
from tests.e2e.scripted_tool_calls import ask_user


def begin(open_app: OpenApp, kind: str, **more: object) -> AppDriver:
    """Start a run that asks one question; returns its open dialog."""
    app = open_app([[ask_user("q1", "Which colour?", kind, **more)], echo])
    app.send("Paint it")
    dialog = app.until_text("user-question-modal", "Which colour?")
    app.until(lambda: dialog.isAncestorOf(app.window.focusWidget()), "the dialog has the keyboard")
    return app


def until_in_front(app: AppDriver) -> None:
    """Wait until nothing covers the button that sends the answer."""
    submit = app.find("question-submit")
    middle = submit.rect().center()
    app.until(lambda: QApplication.widgetAt(submit.mapToGlobal(middle)) is submit, "nothing covers Answer")


def test_in_a_narrow_window_an_answer_from_the_inbox_is_given_in_front(open_app: OpenApp) -> None:
    app = begin(open_app, "text")
    screens.resize(app, QSize(1024, 700))
    app.click("question-later")
    app.until_hidden("user-question-modal")
    app.action("show-questions")
    [question] = app.engine(lambda a: a.questions.pending())
    app.click(f"inbox-open-{question.id}")
    until_in_front(app)
    app.until(lambda: app.find("user-question-modal").isAncestorOf(app.window.focusWidget()), "it has the keyboard")
    app.action("show-questions")
    app.until(lambda: app.window.rail.drawer.open, "the drawer covers it")
    app.action("go-to-waiting")
    until_in_front(app)


def test_mixed_with_required_text_needs_both(open_app: OpenApp) -> None:
    app = begin(open_app, "mixed", textRequired=True)
    app.click("question-option-green")
    assert not app.find("question-submit").isEnabled()
    app.type("question-answer", "with stripes")
    assert app.find("question-submit").isEnabled()
    app.click("question-submit")
    assert "with stripes" in rendered(app.until_reply('"green"'))
    app.wait_done()
    card = app.find("tool-card")
    assert "answered" in rendered(card)
    assert "with stripes" in rendered(card)


def test_a_skipped_question_is_reported_to_the_agent(open_app: OpenApp) -> None:
    app = begin(open_app, "checkbox")
    app.click("question-skip")
    app.until_hidden("user-question-modal")
    app.until_reply("Question skipped by user")
    app.wait_done()
    assert "skipped" in rendered(app.find("tool-card"))
    assert error_text(app.find("tool-card")) == []
    app.until_row("activity-list", ", skipped, ")
    lived = app.find("tool-card").height()
    app.close()
    app = open_app()
    app.until_reply("Question skipped by user")
    app.until(lambda: app.find("tool-card").height() == lived, "the card is as high as it was")


def test_later_answers_nothing_and_the_inbox_reopens_the_question(open_app: OpenApp) -> None:
    app = begin(open_app, "mixed")
    app.type("question-answer", "half an answer")
    app.action("show-questions")
    [question] = app.engine(lambda a: a.questions.pending())
    app.until(lambda: not app.find_all(f"inbox-{question.id}"), "an open question is only in its dialog")
    app.until_text("question-inbox", "Nothing else is waiting for you")
    app.press("user-question-modal", Qt.Key.Key_Escape)
    app.until_hidden("user-question-modal")
    app.until(lambda: rendered(app.find("pending-count")) == "1", "one question waits")
    app.until_text("question-inbox", "postponed")
    [question] = app.engine(lambda a: a.questions.pending())
    assert question.status is QuestionStatus.PENDING
    app.click(f"inbox-open-{question.id}")
    app.find("user-question-modal")
    assert app.find("question-answer", QPlainTextEdit).toPlainText() == "half an answer"
    app.click("question-option-red")
    app.click("question-submit")
    app.until_reply("half an answer")
    app.wait_done()
    app.until(lambda: rendered(app.find("pending-count")) == "0", "no question waits")


def test_the_later_button_postpones_and_the_transcript_reopens_the_question(open_app: OpenApp) -> None:
    app = begin(open_app, "text")
    app.click("question-later")
    app.until_hidden("user-question-modal")
    app.click("question-card-answer")
    app.find("user-question-modal")
    app.type("question-answer", "now then")
    app.click("question-submit")
    app.until_reply("now then")
    app.wait_done()


def test_opening_find_postpones_the_question(open_app: OpenApp) -> None:
    app = begin(open_app, "text")
    app.type("question-answer", "half an ans")
    app.action("find")
    app.until_hidden("user-question-modal")
    assert app.find("find-field").hasFocus(), "the search field has the focus"
    app.press("find-field", Qt.Key.Key_Escape)
    app.click("question-card-answer")
    assert app.find("question-answer", QPlainTextEdit).toPlainText() == "half an ans"
    app.type("question-answer", "wer")
    app.click("question-submit")
    app.until_reply("half an answer")
    app.wait_done()


def test_two_questions_are_asked_in_their_order(open_app: OpenApp) -> None:
    calls = [ask_user("q1", "Which colour?", "checkbox"), ask_user("q2", "Whose door?", "text")]
    app = open_app([calls, echo])
    app.send("Paint it")
    app.until_text("question-text", "Which colour?")
    app.until_text("question-place", "1 / 2")
    app.click("question-option-red")
    app.click("question-submit")
    app.until_text("question-text", "Whose door?")
    app.until_text("question-place", "2 / 2")
    app.type("question-answer", "the neighbour's")
    app.click("question-submit")
    app.until_reply("the neighbour's")
    app.wait_done()
    assert app.model is not None
    assert len(app.model.requests) == 2


def test_another_workflow_stays_usable_while_a_question_waits(open_app: OpenApp) -> None:
    app = open_app([[ask_user("q1", "Which colour?", "text")], "A quick answer.", echo])
    app.send("Paint it")
    app.find("user-question-modal")
    asking = app.workflow_id
    app.click("new-workflow")
    app.until_hidden("user-question-modal")
    app.send("Something else")
    app.until_reply("A quick answer.")
    app.click_row(app.window.sidebar.list, "Paint it")
    app.until(lambda: app.workflow_id == asking, "the first workflow is back")
    app.find("user-question-modal")
    app.type("question-answer", "yellow")
    app.click("question-submit")
    app.until_reply("yellow")
    app.wait_done()


def test_after_a_restart_a_pending_question_is_asked_again(open_app: OpenApp) -> None:
    first = begin(open_app, "checkbox")
    workflow_id = first.workflow_id
    first.close()
    app = open_app([echo])
    app.until_text("user-question-modal", "Which colour?")
    assert app.workflow_id == workflow_id
    app.click("question-option-blue")
    app.click("question-submit")
    app.until_reply('"blue"')
    app.wait_done()
    run = app.engine(lambda a: a.repos.runs.list(workflow_id))[0]
    assert run.status.value == "completed"
