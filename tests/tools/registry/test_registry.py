"""The registry's interface and its guarded execution."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ConflictError, NotFoundError, ToolError, UsageError
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.tools.base import (
    AnswerChild,
    AskParent,
    Input,
    JoinChildren,
    Outcome,
    StartChildren,
    Tool,
    ToolCategory,
    ToolContext,
    ToolResult,
)
from atelier_desk.tools.definition.input_schema import operations_of
from atelier_desk.tools.registry.bound_tools import ToolFactory
from atelier_desk.tools.registry.registry import ToolRegistry
from tests.tools.conftest import Calls, MakeCalls


class EchoInput(Input):
    text: str = ""


class Echo(Tool):
    """Behaves as ``behaviour`` says."""

    name: ClassVar[str] = "echo"
    section: ClassVar[str] = "core_ops"
    input: ClassVar[Any] = EchoInput
    behaviour: Any = None

    @property
    def description(self) -> str:
        return "Echoes."

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        if self.behaviour is not None:
            outcome: Outcome = await self.behaviour()
            return outcome
        return ToolResult.ok(text=input.text)


def named(name: str, **attributes: Any) -> Tool:
    tool: Tool = type(name, (Echo,), {"name": name, **attributes})()
    return tool


async def test_tools_are_registered_looked_up_and_removed(context: ToolContext) -> None:
    registry = ToolRegistry()
    echo = Echo()
    registry.register(echo)
    assert registry.get_tool("echo") is echo
    assert registry.has("echo")
    assert registry.get_all_tool_names() == ["echo"]
    definition = registry.get_definition("echo")
    assert definition is not None
    assert definition.name == "echo"
    executor = registry.get_executor("echo")
    assert executor is not None
    result = await executor({"text": "hello"}, context)
    assert isinstance(result, ToolResult)
    assert result.data == {"success": True, "text": "hello"}
    registry.unregister("echo")
    assert not registry.has("echo")
    assert registry.get_tool("echo") is None
    assert registry.get_definition("echo") is None
    assert registry.get_executor("echo") is None
    registry.unregister("echo")


def test_a_name_can_be_registered_once() -> None:
    registry = ToolRegistry()
    registry.register(Echo())
    with pytest.raises(ConflictError, match="echo"):
        registry.register(Echo())


def test_registering_several_is_all_or_nothing() -> None:
    registry = ToolRegistry()
    with pytest.raises(ConflictError):
        registry.register_all([named("one"), named("two"), named("one")])
    assert registry.get_all_tool_names() == []


def test_every_tool_except_control_tools_is_in_a_known_section() -> None:
    registry = ToolRegistry()
    with pytest.raises(NotFoundError, match="core_ops"):
        registry.register(named("lost", section="nowhere"))
    with pytest.raises(NotFoundError):
        registry.register(named("lost", section=""))
    with pytest.raises(UsageError):
        registry.register(named("boss", category=ToolCategory.CONTROL, section="core_ops"))


def test_the_default_registry(registry: ToolRegistry) -> None:
    control = [tool.name for tool in registry.get_tools_by_category(ToolCategory.CONTROL)]
    assert control == [
        "wait_user_response",
        "output",
        "task_complete",
        "task_abandon",
        "wait_parent",
        "invoke_tool",
        "answer_child",
        "read_attachment",
        "search_tools",
    ]
    core = [tool.name for tool in registry.get_tools_by_section("core_ops")]
    assert core == ["TodoTool", "MemoryTool", "CalculatorTool", "UserQuestionTool", "ReportTool"]
    planning = [tool.name for tool in registry.get_tools_by_section("planning_ops")]
    assert planning == ["SpawnAgentTool", "DelegateTaskTool", "ParallelTasksTool", "list_tool_sections", "plan_actions"]
    waits = [
        tool.name for tool in registry.get_tools_by_category(ToolCategory.CONTROL) if tool.awaits_external_response
    ]
    assert waits == control[:-2], "an attachment is there to be read, and tools to be found"
    marked = [
        name
        for name in registry.get_all_tool_names()
        if (found := registry.get_definition(name)) and found.awaits_external_response
    ]
    assert marked == [*waits, "UserQuestionTool"]
    definition = registry.get_definition("UserQuestionTool")
    assert definition is not None
    assert definition.model_dump(mode="json")["awaits_external_response"] is True


def test_control_tools_by_name(registry: ToolRegistry) -> None:
    assert registry.is_control_tool("output")
    assert not registry.is_control_tool("TodoTool")
    assert registry.get_control_tool("output") is registry.get_tool("output")
    assert registry.get_control_tool("TodoTool") is None
    control = (
        "wait_user_response output task_complete task_abandon wait_parent invoke_tool answer_child read_attachment "
        "search_tools"
    )
    assert [spec.name for spec in registry.control_tools()] == control.split()


def test_definitions_by_name_keep_the_order_and_omit_unknown_names(registry: ToolRegistry) -> None:
    assert [spec.name for spec in registry.get_definitions_by_names(["ReportTool", "Gone", "TodoTool"])] == [
        "ReportTool",
        "TodoTool",
    ]


async def test_an_unknown_name_suggests_the_closest(calls: Calls) -> None:
    data = await calls("todotol")
    assert data["code"] == "unknown_tool"
    assert data["closest"][0] == "TodoTool"
    assert "TodoTool" in data["error"]


async def test_only_the_agents_own_tools_are_suggested(calls_with: MakeCalls) -> None:
    near = await calls_with(enabled_tools=("MemoryTool",))("TodTool")
    assert near["closest"] == ["MemoryTool"]
    assert "TodoTool" not in near["error"]
    none = await calls_with(enabled_tools=("CalculatorTool", "ReportTool"))("zzz")
    assert none["error"] == "There is no tool named 'zzz'. Your tools: CalculatorTool, ReportTool."
    through = await calls_with(enabled_tools=("MemoryTool",))("invoke_tool", tool_name="TodTool")
    assert through["closest"] == ["MemoryTool"]


async def test_at_the_maximum_depth_a_planning_tool_explains_why_it_is_missing_and_what_to_do(
    registry: ToolRegistry,
) -> None:
    refused = registry.refusal("plan_actions", ["TodoTool"], depth=3, max_depth=3)
    assert refused is not None
    assert refused.data["code"] == "depth"
    assert "You are at depth 3 of at most 3" in refused.data["error"]
    assert "Do the work yourself, with your own tools: TodoTool." in refused.data["error"]
    higher = registry.refusal("plan_actions", ["TodoTool"], depth=2, max_depth=3)
    assert higher is not None
    assert higher.data["code"] == "not_enabled"
    assert registry.refusal("plan_actions", ["plan_actions"], depth=2, max_depth=3) is None


async def test_a_name_without_a_similar_one_lists_all(calls: Calls) -> None:
    data = await calls("zzz")
    assert "CalculatorTool" in data["error"]


async def test_a_disabled_tool_is_refused_and_control_tools_never_are(
    registry: ToolRegistry, context: ToolContext
) -> None:
    limited = replace(context, enabled_tools=("TodoTool",))
    result = await registry.execute("CalculatorTool", {"operation": "eval", "expression": "1"}, limited)
    assert isinstance(result, ToolResult)
    assert result.data["code"] == "not_enabled"
    assert "TodoTool" in result.data["error"]
    shown = await registry.execute("output", {"content": "hi"}, replace(context, enabled_tools=()))
    assert isinstance(shown, ToolResult)
    assert shown.success


def test_a_planner_with_sections_is_told_how_to_reach_their_tools(registry: ToolRegistry) -> None:
    for name in ("CalculatorTool", "calculate"):
        planning = registry.refusal(name, ["list_tool_sections", "plan_actions", "TodoTool"])
        assert planning is not None
        assert "reached with list_tool_sections and plan_actions" in planning.data["error"]
        alone = registry.refusal(name, ["TodoTool"])
        assert alone is not None
        assert "plan_actions" not in alone.data["error"]


@pytest.mark.parametrize(
    "wish",
    [AskParent("Which one?"), AnswerChild("c1", "This one."), JoinChildren(("c1",)), StartChildren(TeamCall.SPAWN, ())],
)
async def test_a_request_to_wait_is_passed_on(wish: Outcome, registry: ToolRegistry, context: ToolContext) -> None:
    async def wait() -> Outcome:
        return wish

    registry.register(named("patient", behaviour=staticmethod(wait)))
    assert await registry.execute("patient", {}, context) is wish
    assert await ToolFactory(registry, context).create("patient", "w", "a").execute({}) is wish


async def test_a_timed_out_tool_is_stopped(context: ToolContext) -> None:
    stopped = asyncio.Event()

    async def wait_forever() -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ToolResult.ok()

    registry = ToolRegistry()
    registry.register(named("slow", behaviour=staticmethod(wait_forever), timeout_s=0.01))
    result = await registry.execute("slow", {}, context)
    assert isinstance(result, ToolResult)
    assert result.data["code"] == "timeout"
    assert "0.01 seconds" in result.data["error"]
    assert stopped.is_set()


async def test_cancellation_is_passed_on(context: ToolContext) -> None:
    begun = asyncio.Event()

    async def wait_forever() -> ToolResult:
        begun.set()
        await asyncio.Event().wait()
        return ToolResult.ok()

    registry = ToolRegistry()
    registry.register(named("slow", behaviour=staticmethod(wait_forever)))
    task = asyncio.create_task(registry.execute("slow", {}, context))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ToolError("The file {name} is gone.", name="a.txt", code="gone"), "gone", "The file a.txt is gone."),
        (NotFoundError("No such thing."), "not_found", "No such thing."),
        (RuntimeError("boom"), "internal_error", "RuntimeError: boom"),
        (TimeoutError("connect"), "timeout", "connect"),
    ],
)
async def test_errors_become_results_without_a_traceback(
    context: ToolContext, error: Exception, code: str, text: str
) -> None:
    async def fail() -> ToolResult:
        raise error

    registry = ToolRegistry()
    registry.register(named("broken", behaviour=staticmethod(fail)))
    result = await registry.execute("broken", {}, context)
    assert isinstance(result, ToolResult)
    assert result.data["success"] is False
    assert result.data["code"] == code
    assert text in result.data["error"]
    assert "Traceback" not in result.text


async def test_a_long_result_is_cut_for_the_model_and_stored_in_full(context: ToolContext) -> None:
    registry = ToolRegistry()
    registry.register(named("echo"))
    result = await registry.execute("echo", {"text": "x" * 50_000}, context)
    assert isinstance(result, ToolResult)
    assert len(result.text) <= limits.RESULT_TO_MODEL
    assert result.truncated
    assert len(result.data["text"]) == 50_000


def test_the_tool_list_for_context_is_grouped_and_omits_control_tools(registry: ToolRegistry) -> None:
    registry.register(named("review", category=ToolCategory.AGENT, section="custom_ops"))
    registry.register(named("submit", category=ToolCategory.WORKFLOW, section="custom_ops"))
    text = registry.format_tool_list_for_context()
    assert text.startswith("[AVAILABLE TOOLS] (use invoke_tool to call)")
    assert (
        text.index("Common Tools:")
        < text.index("- TodoTool:")
        < text.index("Agent Tools:\n- review: Echoes.")
        < text.index("Workflow Tools:\n- submit")
    )
    assert "task_complete:" not in text
    only = registry.format_tool_list_for_context(["review"])
    assert "TodoTool" not in only
    assert "Common Tools" not in only
    assert "(none)" in registry.format_tool_list_for_context([])


def test_a_tool_called_by_name_is_listed_with_every_parameter(registry: ToolRegistry) -> None:
    for name in registry.get_all_tool_names():
        tool, definition = registry.get_tool(name), registry.get_definition(name)
        if tool is None or definition is None or registry.is_control_tool(name):
            continue
        text = registry.format_tool_list_for_context([name])
        required = definition.parameters.get("required", ())
        if len(operations_of(tool.input)) == 1:
            for parameter in definition.parameters["properties"]:
                assert f"\n  - {parameter}{'*' if parameter in required else ''} " in text, f"{name}: {parameter}"
        for operation in operations_of(tool.input):
            assert all(field in text for field in operation.fields()), name
    assert "Parameters" not in registry.format_tool_list_for_context(["list_projects"])


def test_configured_tools_that_no_longer_exist_are_skipped() -> None:
    registry = ToolRegistry()
    registry.register_all([named("one"), named("two"), named("three", section="web_ops")])
    assert registry.configured(["three", "gone"], ["core_ops", "gone_ops"]) == ["three", "one", "two"]
    assert registry.configured(["two", "two"], ["core_ops"]) == ["two", "one"]
    assert registry.configured([], []) == []
