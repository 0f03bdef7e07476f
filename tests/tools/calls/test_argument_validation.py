"""Errors for models: the field, the limit and the value's length, never a traceback."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.tools.calls.argument_validation import InvalidArgumentsError, closest, validate
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.helpers.error_codes import raises_code

REGISTRY = create_default_tool_registry()


def problem(tool: str, **arguments: Any) -> str:
    found = REGISTRY.get_tool(tool)
    assert found is not None
    with raises_code(InvalidArgumentsError, "invalid_arguments") as caught:
        validate(found, arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("tool", "arguments", "parts"),
    [
        ("TodoTool", {}, ["operation is required", "create, get, update_status, list, complete, delete"]),
        ("TodoTool", {"operation": "creat", "name": "x"}, ["'creat' is unknown", "closest: create"]),
        ("TodoTool", {"operation": "create"}, ["name is required", "operation create requires name"]),
        ("TodoTool", {"operation": "create", "name": "x" * 200}, ["name has 200 characters", "the limit is 128"]),
        ("TodoTool", {"operation": "create", "name": ""}, ["name has 0 characters", "at least 1"]),
        ("TodoTool", {"operation": "create", "name": "x", "priority": 9}, ["priority is 9", "at most 5"]),
        (
            "TodoTool",
            {"operation": "create", "name": "x", "priority": "soon"},
            ["priority must be a whole number", "'soon'"],
        ),
        ("TodoTool", {"operation": "create", "name": 5}, ["name must be a string", "5"]),
        ("TodoTool", {"operation": "create", "nam": "x"}, ["nam is not a parameter here", "did you mean name?"]),
        (
            "TodoTool",
            {"operation": "get", "task_id": "1", "status": "completed"},
            ["status is not a parameter here", "allowed: task_id"],
        ),
        (
            "TodoTool",
            {"operation": "update_status", "task_id": "1", "status": "done"},
            ["status is 'done'", "'in_progress'"],
        ),
        ("TodoTool", {"operation": "create", "name": "x", "dependencies": "1"}, ["dependencies must be an array"]),
        (
            "UserQuestionTool",
            {"question": "q", "questionType": "checkbox", "options": [{"id": "x" * 70, "label": "l"}]},
            ["options[0].id has 70 characters", "the limit is 64"],
        ),
        (
            "UserQuestionTool",
            {"question": "q", "questionType": "text", "options": [{}] * 21},
            ["options has 21 items", "the limit is 20"],
        ),
        ("MemoryTool", {"operation": "search", "query": "q", "threshold": 1.5}, ["threshold is 1.5", "at most 1"]),
        ("MemoryTool", {"operation": "add", "type": "fact", "content": "x"}, ["type is 'fact'", "'knowledge'"]),
        (
            "MemoryTool",
            {"operation": "add", "type": "context", "content": "x" * 50_001},
            ["content has 50001 characters", "50000"],
        ),
        (
            "MemoryTool",
            {"operation": "add", "type": "context", "content": "x", "metadata": {"colour": 1}},
            ["metadata.colour"],
        ),
        ("CalculatorTool", {"operation": "sqrt", "value": "nine"}, ["value: must be a number, not text"]),
    ],
)
def test_the_error_states_what_is_wrong_and_what_is_allowed(
    tool: str, arguments: dict[str, Any], parts: list[str]
) -> None:
    text = problem(tool, **arguments)
    assert text.startswith(f"Invalid arguments for {tool}: ")
    for part in parts:
        assert part in text
    assert "Traceback" not in text
    assert "pydantic" not in text


def test_a_few_problems_are_named_and_the_rest_counted() -> None:
    text = problem("TodoTool", operation="create", **{f"x{number}": 1 for number in range(20)})
    assert "and 15 more" in text
    assert len(text) < 1_500


def test_a_huge_wrong_value_is_not_repeated() -> None:
    assert len(problem("TodoTool", operation="update_status", task_id="1", status="x" * 100_000)) < 600


def test_null_counts_as_missing() -> None:
    tool = REGISTRY.get_tool("TodoTool")
    assert tool is not None
    made = validate(tool, {"operation": "list", "task_id": None, "name": None, "status_filter": None, "limit": None})
    assert made.limit == 100
    assert "colour is not a parameter" in problem("TodoTool", operation="list", colour=None)


def test_closest_ignores_case() -> None:
    assert closest("MEMORYTOOL", ["TodoTool", "MemoryTool"])[0] == "MemoryTool"
    assert closest("qqqq", ["TodoTool"]) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "operation",
    "name",
    "task_id",
    "query",
    "type",
    "content",
    "value",
    "a",
    "b",
    "options",
    "questionType",
    "metadata",
    "tags",
]


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(REGISTRY.get_all_tool_names()),
    arguments=st.dictionaries(
        st.sampled_from(FIELDS) | st.text(max_size=8),
        json_values | st.sampled_from(["create", "add", "eval", "sin"]),
        max_size=6,
    ),
)
def test_any_json_is_either_valid_or_explained(name: str, arguments: dict[str, Any]) -> None:
    tool = REGISTRY.get_tool(name)
    assert tool is not None
    explained = ""
    try:
        validate(tool, arguments)
    except InvalidArgumentsError as error:
        explained = str(error)
    assert not explained or explained.startswith(f"Invalid arguments for {name}: ")
