"""Requests of an MCP server in the question dialog: forms with all kinds of fields, pages, model access."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions.dialog import QuestionDialog
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.questions.queue import QueuePosition
from atelier_desk.desktop.system.answerable_notifications import question_notice
from atelier_desk.desktop.widgets.scrim import Scrim
from atelier_desk.domain.question import QuestionAnswer, QuestionSpec, UserQuestion, values_of
from atelier_desk.mcp import elicitation_and_sampling
from atelier_desk.support.i18n import set_language
from tests.desktop.questions.conftest import ask
from tests.helpers.fake_bridge import FakeBridge, settle
from tests.helpers.servers import mcp_elicitation_and_sampling

Find = Callable[[str], Any]


def spec_of(call: str, key: str) -> QuestionSpec:
    params: Any = mcp_elicitation_and_sampling.requests_of(call)[key].params
    if call == "think":
        return elicitation_and_sampling.sampling(params, "booking", "scripted", key=key)
    return elicitation_and_sampling.elicitation(params, "booking", key=key)


def question_of(spec: QuestionSpec) -> UserQuestion:
    return ask().model_copy(update={"spec": spec})


@pytest.fixture
def opened(host: QWidget, qtbot: QtBot) -> Callable[..., QuestionDialog]:
    def make(spec: QuestionSpec, draft: QuestionAnswer | None = None) -> QuestionDialog:
        scrim = Scrim(host)
        dialog = QuestionDialog(question_of(spec), QueuePosition(1, 1), draft or QuestionAnswer(), scrim)
        scrim.hold(dialog)
        qtbot.waitUntil(dialog.isVisible)
        return dialog

    return make


def test_a_form_is_filled_in_checked_and_sent(opened: Callable[..., QuestionDialog], child: Find) -> None:
    dialog = opened(spec_of("book", "who"))
    sent: list[QuestionAnswer] = []
    dialog.submitted.connect(sent.append)
    assert "“booking”" in child("question-title").text()
    assert "“booking”" in child("question-goes-to").text()
    assert child("question-text").text() == "Who travels?"
    send = child("question-submit")
    assert not send.isEnabled(), "a name is required"
    assert child("question-field-day").text() == "2026-11-23"
    assert child("question-field-window").isChecked()
    assert child("question-field-class").currentText() == "Second"
    child("question-field-name").setText("A")
    assert "minimum length is 2" in child("question-problem-name").text()
    child("question-field-name").setText("Ada")
    child("question-field-seats").setText("9")
    assert "at most 4" in child("question-problem-seats").text()
    assert not send.isEnabled()
    child("question-field-seats").setText("2")
    child("question-field-mail").setText("nobody")
    assert not send.isEnabled()
    child("question-field-mail").setText("ada@example.org")
    child("question-field-weight").setText("7,5")
    child("question-field-meal").setCurrentIndex(2)
    child("question-field-extras-bike").click()
    child("question-field-window").click()
    assert send.isEnabled()
    send.click()
    assert sent[0].selected_options == ("accept",)
    assert values_of(sent[0].text_response) == {
        "name": "Ada", "mail": "ada@example.org", "day": "2026-11-23", "seats": 2, "weight": 7.5, "window": False,
        "class": "2",
        "meal": "vegan", "extras": ["bike"],
    }  # fmt: skip


def test_declining_cancelling_and_later_are_distinct(opened: Callable[..., QuestionDialog], child: Find) -> None:
    dialog = opened(spec_of("book", "who"))
    decisions: list[object] = []
    dialog.submitted.connect(decisions.append)
    dialog.skipped.connect(lambda: decisions.append("cancelled"))
    dialog.postponed.connect(decisions.append)
    child("question-decline").click()
    dialog.set_busy(False)
    child("question-skip").click()
    dialog.set_busy(False)
    child("question-field-name").setText("Ada")
    child("question-later").click()
    assert decisions[:2] == [QuestionAnswer(selected_options=("decline",)), "cancelled"]
    draft = decisions[2]
    assert isinstance(draft, QuestionAnswer)
    again = opened(spec_of("book", "who"), draft)
    assert again.entered() == draft


def test_a_page_shows_its_host_in_ascii(opened: Callable[..., QuestionDialog], child: Find) -> None:
    params = types.ElicitRequestURLParams(message="Pay", url="http://раypal.example/login")
    opened(elicitation_and_sampling.elicitation(params, "booking"))
    assert child("question-host").text().startswith("xn--")
    assert "not encrypted" in child("question-plain-http").text()
    assert child("question-submit").text() == "Open the page"
    assert child("question-submit").isEnabled()


async def test_a_page_is_opened_once_accepted(host: QWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: pages.append(url.toString()))
    bridge = FakeBridge()
    question = question_of(spec_of("pay", "page"))

    async def answer(_id: str, reply: QuestionAnswer) -> None:
        assert pages == [], "not before the answer is committed"

    bridge.engine.questions = SimpleNamespace(answer=answer)
    presenter = QuestionPresenter(bridge, host)
    for end, opened in (("decline", []), ("accept", [mcp_elicitation_and_sampling.URL])):
        presenter.queue.add(question)
        presenter.answer(question.id, QuestionAnswer(selected_options=(end,)))
        await settle()
        assert pages == opened


def test_a_request_to_a_model_is_shown_completely(opened: Callable[..., QuestionDialog], child: Find) -> None:
    opened(spec_of("think", "thought"))
    assert [child(f"question-sampled-{number}").text() for number in (0, 1)] == ["Be brief.", "Name a colour."]
    assert "scripted" in child("question-model").text()
    assert "50" in child("question-model").text()
    assert child("question-submit").text() == "Allow"


def test_texts_asking_for_secrets_get_a_warning_and_markup_stays_text(
    opened: Callable[..., QuestionDialog], child: Find
) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "title": "<b>Value</b> & more"}}}
    dialog = opened(
        elicitation_and_sampling.elicitation(
            types.ElicitRequestFormParams(message="Your password, please", requested_schema=schema), "booking"
        )
    )
    assert "Do not enter a password" in child("question-doubtful").text()
    assert child("question-caption-x").textFormat().name == "PlainText"
    assert child("question-caption-x").text() == "<b>Value</b> & more"
    for label in dialog.findChildren(QLabel):
        assert "<b>" not in label.text() or label.textFormat().name == "PlainText"


def test_it_is_translated_to_french(opened: Callable[..., QuestionDialog], child: Find) -> None:
    set_language("fr")
    opened(spec_of("book", "who"))
    assert child("question-title").text() == "Le serveur «\u00a0booking\u00a0» a une question"
    assert [child(f"question-{name}").text() for name in ("submit", "decline", "skip")] == [
        "Envoyer",
        "Refuser",
        "Annuler",
    ]
    assert "au plus 4" in child("question-caption-seats").text()
    child("question-field-seats").setText("9")
    assert "4" in child("question-problem-seats").text()


def test_a_notification_only_opens_the_request() -> None:
    notice = question_notice(question_of(spec_of("pay", "page")), lambda: None, lambda answer: None)
    assert (notice.title, notice.actions, notice.reply) == ("The server “booking” has a question", (), None)


def test_the_reply_of_a_model_has_a_noun_as_caption(opened: Callable[..., QuestionDialog], child: Find) -> None:
    """The caption was the word of the button that answers."""
    asked: Any = mcp_elicitation_and_sampling.requests_of("think")["thought"].params
    reply = asked.messages[0].model_copy(update={"role": "assistant"})
    set_language("fr")
    dialog = opened(
        elicitation_and_sampling.sampling(asked.model_copy(update={"messages": [reply]}), "booking", "scripted")
    )
    assert "Réponse" in [each.text() for each in dialog.findChildren(QLabel)]
