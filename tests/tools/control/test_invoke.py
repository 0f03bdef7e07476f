"""invoke_tool: the call that is meant."""

from __future__ import annotations

from dataclasses import replace

from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.control.invoke import unwrap
from atelier_desk.tools.registry import ToolRegistry
from tests.tools.conftest import Calls, MakeCalls


def test_unwraps_to_the_tool_that_is_meant(registry: ToolRegistry) -> None:
    inner = {"operation": "eval", "expression": "1"}
    assert unwrap("invoke_tool", {"tool_name": "CalculatorTool", "arguments": inner}, registry) == ("CalculatorTool", inner)


def test_another_call_is_its_own(registry: ToolRegistry) -> None:
    assert unwrap("TodoTool", {"operation": "list"}, registry) == ("TodoTool", {"operation": "list"})


def test_arguments_may_be_json_text_or_missing(registry: ToolRegistry) -> None:
    assert unwrap("invoke_tool", {"tool_name": "TodoTool", "arguments": '{"operation": "list"}'}, registry) == (
        "TodoTool",
        {"operation": "list"},
    )
    assert unwrap("invoke_tool", {"tool_name": "TodoTool"}, registry) == ("TodoTool", {})


def failure(outcome: object) -> ToolResult:
    assert isinstance(outcome, ToolResult)
    assert not outcome.success
    return outcome


def test_an_unknown_name_gives_the_closest(registry: ToolRegistry) -> None:
    result = failure(unwrap("invoke_tool", {"tool_name": "Calculator"}, registry))
    assert result.data["closest"] == ["CalculatorTool"]


def test_wrong_arguments_are_explained(registry: ToolRegistry) -> None:
    assert "tool_name is required" in failure(unwrap("invoke_tool", {}, registry)).data["error"]
    assert "not valid JSON" in failure(unwrap("invoke_tool", {"tool_name": "TodoTool", "arguments": "{"}, registry)).data["error"]
    assert "must be an object" in failure(unwrap("invoke_tool", {"tool_name": "TodoTool", "arguments": [1]}, registry)).data["error"]


def test_it_cannot_call_itself(registry: ToolRegistry) -> None:
    assert "itself" in failure(unwrap("invoke_tool", {"tool_name": "invoke_tool"}, registry)).data["error"]


async def test_run_by_itself_it_runs_the_tool_within_the_same_rules(calls: Calls, calls_with: MakeCalls) -> None:
    data = await calls("invoke_tool", tool_name="CalculatorTool", arguments={"operation": "eval", "expression": "6*7"})
    assert data["result"] == 42
    limited = calls_with(enabled_tools=("TodoTool",))
    assert (await limited("invoke_tool", tool_name="CalculatorTool", arguments={}))["code"] == "not_enabled"
    assert replace(calls.context, registry=None).registry is None
    assert (await calls_with(registry=None)("invoke_tool", tool_name="TodoTool"))["code"] == "unknown_tool"
