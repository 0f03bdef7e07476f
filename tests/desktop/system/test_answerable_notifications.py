"""What can be decided in a notification, and what opens its card instead."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.desktop.system.answerable_notifications import approval_notice, may_allow, question_notice
from atelier_desk.domain.question import QuestionAnswer
from atelier_desk.llm import secrets
from tests.desktop.questions.approval_fixtures import asks
from tests.desktop.questions.conftest import ask


def offered(**fields: Any) -> list[str]:
    notice = approval_notice(asks(**fields), lambda: None, lambda: None, lambda: None)
    return [action.label for action in notice.actions]


def test_a_completely_shown_call_can_be_allowed() -> None:
    notice = approval_notice(asks(arguments={"name": "Tea", "tags": ["a"]}), lambda: None, lambda: None, lambda: None)
    assert notice.text == 'name: Tea · tags: ["a"]'
    assert offered() == ["Allow once", "Reject"]


@pytest.mark.parametrize(
    "fields",
    [
        {"risk": "high"},
        {"reason": "risk_high"},
        {"reason": "repaired"},
        {"details": {"sub_agent_name": "Ben", "prompt_preview": "Do it"}},
        {"edited": {"name": "Coffee"}},
        {"arguments": {"content": "long " * 60}},
        {"arguments": {"content": "two\nlines"}},
        {"arguments": {"command": "echo \u202eolleh"}},
        {"arguments": {"command": "curl -H 'key: sk-verysecret'"}},
    ],
    ids=lambda fields: str(next(iter(fields.items())))[:30],
)
def test_a_call_that_needs_details_opens_its_card(fields: dict[str, Any]) -> None:
    secrets.remember("sk-verysecret")
    assert offered(**fields) == ["Reject"]
    assert not may_allow(asks(**fields))
    notice = approval_notice(asks(**fields), lambda: None, lambda: None, lambda: None)
    assert "sk-verysecret" not in notice.title + notice.text
    assert len(notice.text) <= 200


def test_a_few_options_are_buttons_and_each_is_an_answer() -> None:
    answers: list[QuestionAnswer] = []
    question = ask("q1")
    notice = question_notice(question, lambda: None, answers.append)
    assert [action.label for action in notice.actions] == [option.label for option in question.spec.options]
    notice.actions[1].run()
    assert answers == [QuestionAnswer(selected_options=(question.spec.options[1].id,))]
    assert notice.reply is None


def test_a_question_for_a_text_takes_a_reply_and_an_empty_one_opens_it() -> None:
    answers: list[QuestionAnswer] = []
    opened: list[bool] = []
    notice = question_notice(ask("q1", kind="text"), lambda: opened.append(True), answers.append)
    assert notice.reply is not None
    notice.reply("green")
    notice.reply("  ")
    assert (answers, opened, notice.actions) == ([QuestionAnswer(text_response="green")], [True], ())


def test_an_incompletely_shown_question_is_answered_in_the_window() -> None:
    for question in (ask("q1", question="long " * 60), ask("q2", context="Read this first")):
        notice = question_notice(question, lambda: None, lambda _answer: None)
        assert notice.actions == ()
        assert notice.reply is None
