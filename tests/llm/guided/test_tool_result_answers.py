"""Template answers, in both languages."""

import json
from collections.abc import Mapping

import pytest

from atelier_desk.domain.model_messages import ChatMessage, Role, ToolCall
from atelier_desk.llm.guided import tool_result_answers
from atelier_desk.llm.guided.actions import action_of
from atelier_desk.llm.guided.language_data import Language, language
from tests.llm.guided.tool_specs import specs

EN, FR = language("en"), language("fr")


def said(words: Language, tool: str, arguments: Mapping[str, object], result: object, success: bool = True) -> str:
    content = result if isinstance(result, str) else json.dumps(result)
    message = ChatMessage(role=Role.TOOL, content=content, tool_call_id="c1", name=tool, success=success)
    call = ToolCall(id="c1", name=tool, arguments=dict(arguments))
    answer = tool_result_answers.answer(
        call, message, words, action_of(call, specs("CalculatorTool", "TodoTool", "MemoryTool", "UserQuestionTool"))
    )
    assert answer is not None
    return answer


def test_a_calculation() -> None:
    arguments = {"operation": "eval", "expression": "12*7"}
    assert said(EN, "CalculatorTool", arguments, {"success": True, "result": 84, "expression": "12*7"}) == "12 × 7 = 84"
    assert (
        said(FR, "CalculatorTool", arguments, {"success": True, "result": 59.97, "expression": "3*19.99"})
        == "3 × 19,99 = 59,97"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(84.0, "84"), (0.1 + 0.2, "0.3"), (1e20, "1e+20"), (10**30, str(10**30)), (-2.5, "-2.5")]
)
def test_numbers_without_rounding_noise(value: float, text: str) -> None:
    assert tool_result_answers.number(value, EN) == text


def test_a_task_and_a_memory_repeat_the_users_words() -> None:
    assert "“buy ink”" in said(
        EN, "TodoTool", {"operation": "create", "name": "buy ink"}, {"success": True, "task_id": "1"}
    )
    assert "je suis gaucher" in said(
        FR, "MemoryTool", {"operation": "add", "content": "je suis gaucher"}, {"success": True}
    )


def test_lists() -> None:
    tasks = [{"name": f"task {number}", "status": "pending"} for number in range(13)]
    shown = said(EN, "TodoTool", {"operation": "list"}, {"success": True, "tasks": tasks})
    assert "- task 0 (to do)" in shown
    assert "task 10" not in shown
    assert "(+3)" in shown
    assert said(FR, "TodoTool", {"operation": "list"}, {"success": True, "tasks": []}) == "Vous n’avez aucune tâche."


def test_memories_found_and_not_found() -> None:
    found = {"success": True, "results": [{"content": f"fact {number}"} for number in range(5)]}
    assert said(EN, "MemoryTool", {"operation": "search", "query": "x"}, found).count("fact") == 3
    assert "rien trouvé" in said(
        FR, "MemoryTool", {"operation": "search", "query": "x"}, {"success": True, "results": []}
    )


def test_the_users_answer_by_its_label() -> None:
    arguments = {
        "operation": "ask",
        "question": "?",
        "options": [{"id": "1", "label": "red"}, {"id": "2", "label": "blue"}],
    }
    assert (
        said(EN, "UserQuestionTool", arguments, {"success": True, "selectedOptions": ["2"], "textResponse": "sky"})
        == "Your answer: blue, sky"
    )


def test_a_skipped_and_a_timed_out_question() -> None:
    arguments = {"operation": "ask", "question": "?"}
    skipped = {"success": False, "error": "Question skipped by user", "code": "skipped"}
    assert "skipped" in said(EN, "UserQuestionTool", arguments, skipped)
    late = {"success": False, "error": "too late", "code": "timeout"}
    assert "too late" in said(EN, "UserQuestionTool", arguments, late)


def test_a_failed_call_is_explained() -> None:
    failed = {"success": False, "error": "division by zero", "code": "tool_error"}
    assert "division by zero" in said(
        EN, "CalculatorTool", {"operation": "eval", "expression": "1/0"}, failed, success=False
    )
    assert "boom" in said(EN, "CalculatorTool", {"operation": "eval"}, "boom", success=False)


def test_the_result_of_another_tool_is_shown_unchanged() -> None:
    assert said(EN, "ReportTool", {"operation": "write"}, {"success": True, "message": "written"}) == "written"
    assert said(EN, "ReportTool", {"operation": "read"}, "plain text") == "plain text"
