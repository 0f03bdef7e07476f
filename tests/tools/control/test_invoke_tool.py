"""invoke_tool: calls of another tool by name."""

from __future__ import annotations

from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.registry.registry import ToolRegistry
from tests.tools.conftest import Calls, MakeCalls


def test_it_unwraps_to_the_named_tool(registry: ToolRegistry) -> None:
    inner = {"operation": "eval", "expression": "1"}
    assert registry.meant("invoke_tool", {"tool_name": "CalculatorTool", "arguments": inner}) == (
        "CalculatorTool",
        inner,
    )


def test_another_call_is_unchanged(registry: ToolRegistry) -> None:
    assert registry.meant("TodoTool", {"operation": "list"}) == ("TodoTool", {"operation": "list"})


def test_arguments_may_be_json_text_or_missing(registry: ToolRegistry) -> None:
    assert registry.meant("invoke_tool", {"tool_name": "TodoTool", "arguments": '{"operation": "list"}'}) == (
        "TodoTool",
        {"operation": "list"},
    )
    assert registry.meant("invoke_tool", {"tool_name": "TodoTool"}) == ("TodoTool", {})


def failure(outcome: object) -> ToolResult:
    assert isinstance(outcome, ToolResult)
    assert not outcome.success
    return outcome


def test_an_unknown_name_suggests_the_closest(registry: ToolRegistry) -> None:
    result = failure(registry.meant("invoke_tool", {"tool_name": "Calculator"}))
    assert result.data["closest"] == ["CalculatorTool"]


def test_wrong_arguments_are_explained(registry: ToolRegistry) -> None:
    assert "tool_name is required" in failure(registry.meant("invoke_tool", {})).data["error"]
    assert (
        "not valid JSON"
        in failure(registry.meant("invoke_tool", {"tool_name": "TodoTool", "arguments": "{"})).data["error"]
    )
    assert (
        "must be an object"
        in failure(registry.meant("invoke_tool", {"tool_name": "TodoTool", "arguments": [1]})).data["error"]
    )


def test_it_cannot_call_itself(registry: ToolRegistry) -> None:
    assert "itself" in failure(registry.meant("invoke_tool", {"tool_name": "invoke_tool"})).data["error"]


async def test_when_executed_directly_it_runs_the_tool_within_the_same_rules(
    calls: Calls, calls_with: MakeCalls
) -> None:
    data = await calls("invoke_tool", tool_name="CalculatorTool", arguments={"operation": "eval", "expression": "6*7"})
    assert data["result"] == 42
    limited = calls_with(enabled_tools=("TodoTool",))
    assert (await limited("invoke_tool", tool_name="CalculatorTool", arguments={}))["code"] == "not_enabled"
    assert (await calls_with(registry=None)("invoke_tool", tool_name="TodoTool"))["code"] == "unknown_tool"
