"""Validation of edited arguments, in the user's language."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from atelier_desk.desktop.questions.argument_check import parse, pretty, refusal
from atelier_desk.domain.errors import ToolError
from atelier_desk.engine.services.tools import ToolService
from atelier_desk.tools.registry.default_registry import create_default_tool_registry


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Line 1, column 1: a value is missing."),
        ('{"a" 1}', "Line 1, column 6: a colon is missing."),
        ('{"a": 1,}', "Line 1, column 9: a name in double quotes is missing."),
        ('{"a": "x}', "Line 1, column 7: this string has no closing quote."),
        ('{"a": "\n"}', "Line 1, column 8: a line break or tab inside a string must be written as \\n or \\t."),
        ('{"a": 1} 2', "Line 1, column 10: unexpected text after the end."),
        ("[1]", "The arguments must be an object: names and values between braces."),
        ('{"a": 1, "a": 2}', "The name a appears twice."),
        ('{"a": NaN}', "NaN is not a valid number in JSON."),
    ],
)
def test_invalid_arguments_are_reported_with_their_position(text: str, problem: str) -> None:
    assert parse(text) == (None, problem)


async def refused(tool: str, arguments: dict[str, object]) -> str:
    """The engine's error about them in words; empty if valid."""
    context: Any = SimpleNamespace(registry=create_default_tool_registry())
    try:
        await ToolService(context).check(tool, arguments)
    except ToolError as error:
        return refusal(error)
    return ""


def test_json_is_returned_unchanged() -> None:
    arguments = {"text": "é\n\"'", "big": 2**60, "none": None, "list": [1, {"a": []}]}
    assert parse(pretty(arguments)) == (arguments, "")


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("TodoTool", {"operation": "create", "name": "x"}, ""),
        (
            "TodoTool",
            {"operation": "create", "name": "x" * 2000},
            "name is too long: 2,000 characters; the maximum is 128.",
        ),
        ("TodoTool", {"operation": "create", "name": "x", "colour": 1}, "colour is not a known field."),
        ("TodoTool", {"name": "x"}, "operation is missing."),
        ("TodoTool", {"operation": "create", "name": "x", "priority": "high"}, "priority must be a whole number."),
        ("task_complete", {}, "summary is missing."),
        ("removed_tool", {"anything": 1}, ""),
    ],
)
async def test_arguments_are_checked_against_the_tools_schema(
    tool: str, arguments: dict[str, object], problem: str
) -> None:
    assert await refused(tool, arguments) == problem


async def test_for_an_unknown_operation_the_existing_ones_are_named() -> None:
    assert (await refused("TodoTool", {"operation": "paint"})).startswith('operation must be one of these: "create", ')
