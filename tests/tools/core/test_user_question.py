"""UserQuestionTool asks; the answer becomes the call's result."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.question import QuestionSpec, QuestionStatus, QuestionType, UserQuestion
from atelier_desk.tools.base import AskUser
from atelier_desk.tools.core.user_question import answer_result
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.tools.conftest import Calls, MakeCalls

QUESTION = "UserQuestionTool"
OPTIONS = [{"id": "auth", "label": "Sign-in"}, {"id": "api", "label": "REST API"}]


async def test_the_question_has_everything_that_was_given(calls: Calls) -> None:
    asked = await calls.outcome(
        QUESTION,
        operation="ask",
        question="Which parts?",
        questionType="mixed",
        options=OPTIONS,
        textPlaceholder="Or another",
        textRequired=True,
        context="All that apply.",
    )
    assert isinstance(asked, AskUser)
    spec = asked.question
    assert spec.question_type is QuestionType.MIXED
    assert [option.id for option in spec.options] == ["auth", "api"]
    assert (spec.text_placeholder, spec.text_required, spec.context) == ("Or another", True, "All that apply.")
    assert asked.timeout_s is None


async def test_snake_case_names_are_accepted_too(calls: Calls) -> None:
    asked = await calls.outcome(QUESTION, question="Name?", question_type="text", text_placeholder="Ada")
    assert isinstance(asked, AskUser)
    assert asked.question.text_placeholder == "Ada"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"question": "", "questionType": "text"}, "question has 0 characters"),
        ({"question": "  ", "questionType": "text"}, "must not be blank"),
        ({"question": "x" * 2_001, "questionType": "text"}, "question has 2001 characters; the limit is 2000"),
        ({"question": "q", "questionType": "radio"}, "questionType is 'radio'"),
        ({"question": "q", "questionType": "checkbox"}, "options are required"),
        ({"question": "q", "questionType": "mixed", "options": []}, "options are required"),
        ({"question": "q", "questionType": "text", "options": OPTIONS}, "takes no options"),
        ({"question": "q", "questionType": "checkbox", "options": [OPTIONS[0], OPTIONS[0]]}, "unique"),
        (
            {"question": "q", "questionType": "checkbox", "options": [{"id": "a", "label": "x" * 257}]},
            "options[0].label has 257 characters",
        ),
        (
            {"question": "q", "questionType": "checkbox", "options": [{"id": str(n), "label": "x"} for n in range(21)]},
            "options has 21 items",
        ),
        ({"question": "q", "questionType": "text", "context": "x" * 5_001}, "context has 5001 characters"),
    ],
)
async def test_invalid_questions_are_refused(calls: Calls, arguments: dict[str, Any], part: str) -> None:
    data = await calls(QUESTION, **arguments)
    assert data["code"] == "invalid_arguments"
    assert part in data["error"]


async def test_the_gate_may_refuse(calls_with: MakeCalls) -> None:
    class Closed:
        async def refusal(self, workflow_id: str) -> str | None:
            return "User appears unresponsive (3 consecutive timeouts). Question rejected. Retry in 45 seconds."

    data = await calls_with(questions=Closed())(QUESTION, question="q", questionType="text")
    assert data["success"] is False
    assert (
        data["error"] == "User appears unresponsive (3 consecutive timeouts). Question rejected. Retry in 45 seconds."
    )


def question(**fields: Any) -> UserQuestion:
    spec = QuestionSpec(question="q", question_type=QuestionType.TEXT)
    return UserQuestion(workflow_id="w", run_id="r", call_id="c", spec=spec, **fields)


def test_an_answer_becomes_the_result() -> None:
    answered = question(status=QuestionStatus.ANSWERED, selected_options=("auth", "api"), text_response="and more")
    assert answer_result(answered).data == {
        "success": True,
        "selectedOptions": ["auth", "api"],
        "textResponse": "and more",
        "message": "User response received",
    }


def test_a_skip_is_an_error_with_the_specified_message() -> None:
    data = answer_result(question(status=QuestionStatus.SKIPPED)).data
    assert (data["success"], data["error"]) == (False, "Question skipped by user")


def test_a_timeout_reports_its_duration() -> None:
    data = answer_result(question(status=QuestionStatus.TIMEOUT, timeout_s=90)).data
    assert data["code"] == "timeout"
    assert "90 seconds" in data["error"]


def test_a_pending_question_has_no_result() -> None:
    with pytest.raises(ValueError, match="pending"):
        answer_result(question())


async def test_a_long_hint_is_cut_and_the_question_asked(calls: Calls) -> None:
    asked = await calls.outcome(
        "UserQuestionTool", operation="ask", question="?", questionType="text", textPlaceholder="w " * 200
    )
    assert isinstance(asked, AskUser)
    assert len(asked.question.text_placeholder) <= 256
    assert asked.question.text_placeholder.endswith("…")
    other = await calls.outcome("wait_user_response", question="?", placeholder="w" * 300)
    assert isinstance(other, AskUser)
    assert other.question.text_placeholder == "w" * 255 + "…"


def test_a_question_waits_forever_unless_its_agent_is_configured_otherwise() -> None:
    """The contract, the description for models, and the configuration agree: there is no default."""
    assert AgentConfig(name="A", provider="p", model="m").question_timeout_s == 0
    assert question(status=QuestionStatus.PENDING).timeout_s == 0
    tool = create_default_tool_registry().get_tool("UserQuestionTool")
    assert tool is not None
    assert tool.timeout_s == 0 or tool.awaits_external_response
    assert "without a time limit unless the agent has one" in tool.description
