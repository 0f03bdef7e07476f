"""wait_user_response opens the same question as UserQuestionTool."""

from __future__ import annotations

from atelier_desk.domain.question import QuestionType
from atelier_desk.tools.base import AskUser
from tests.tools.conftest import Calls, MakeCalls


async def test_without_options_it_asks_for_text(calls: Calls) -> None:
    asked = await calls.outcome("wait_user_response", question="Which city?", placeholder="Paris")
    assert isinstance(asked, AskUser)
    assert asked.question.question_type is QuestionType.TEXT
    assert asked.question.text_placeholder == "Paris"
    assert asked.timeout_s is None


async def test_with_options_the_user_may_choose_and_write(calls: Calls) -> None:
    asked = await calls.outcome("wait_user_response", question="Which?", options=["PDF", "HTML"])
    assert isinstance(asked, AskUser)
    assert asked.question.question_type is QuestionType.MIXED
    assert [(option.id, option.label) for option in asked.question.options] == [("PDF", "PDF"), ("HTML", "HTML")]


async def test_ids_stay_unique_and_short(calls: Calls) -> None:
    asked = await calls.outcome("wait_user_response", question="Which?", options=["x" * 100, "x" * 101, "same", "same"])
    assert isinstance(asked, AskUser)
    ids = [option.id for option in asked.question.options]
    assert len(set(ids)) == 4
    assert all(len(name) <= 64 for name in ids)


async def test_the_gate_may_refuse(calls_with: MakeCalls) -> None:
    class Closed:
        async def refusal(self, workflow_id: str) -> str | None:
            return f"not now, {workflow_id}"

    calls = calls_with(questions=Closed())
    data = await calls("wait_user_response", question="Which?")
    assert data["error"] == f"not now, {calls.context.workflow_id}"
    assert data["code"] == "question_refused"
