"""Which tools the model sees in each tool loading mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import SearchScope, ToolMode
from atelier_desk.engine.run.request.toolset import tools_tokens
from atelier_desk.tools.base import Input, Tool, ToolContext, ToolResult
from atelier_desk.tools.registry import tool_modes as modes
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry

ENABLED = ("TodoTool", "ReportTool", "where", "SpawnAgentTool", "gone")
CONTROL = ["wait_user_response", "output", "task_complete", "task_abandon"]


class WhereInput(Input):
    pass


class Where(Tool):
    """A tool of the section that is always available."""

    name: ClassVar[str] = "where"
    section: ClassVar[str] = "context_ops"
    input: ClassVar[Any] = WhereInput

    @property
    def description(self) -> str:
        return "Says where the agent works."

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        return ToolResult.ok()


@pytest.fixture
def registry() -> ToolRegistry:
    registry = create_default_tool_registry()
    registry.register(Where())
    return registry


def visible(registry: ToolRegistry, mode: ToolMode, enabled: Sequence[str] = ENABLED, **changes: Any) -> list[str]:
    of = {"depth": changes.pop("depth", 0), "max_depth": changes.pop("max_depth", 3)}
    return modes.Toolset.of(registry, enabled, mode=mode, **of).visible(changes.pop("search", None), **changes)


def test_direct_shows_the_enabled_and_the_control_tools(registry: ToolRegistry) -> None:
    assert visible(registry, ToolMode.DIRECT) == ["TodoTool", "ReportTool", "where", "SpawnAgentTool", *CONTROL]


def test_every_agent_has_the_control_tools_in_every_mode_without_listing_them(registry: ToolRegistry) -> None:
    for mode in ToolMode:
        root = visible(registry, mode, [])
        assert set(CONTROL) <= set(root)
        assert ("invoke_tool" in root) is (mode is ToolMode.INVOKE)
        assert visible(registry, mode, CONTROL) == root


def test_control_tools_have_short_definitions() -> None:
    """Together at most 400 tokens by the program's own estimate: every request of every agent includes them."""
    for mode in (ToolMode.DIRECT, ToolMode.SECTIONS):
        for depth in (0, 1):
            shown = visible(REGISTRY, mode, [], depth=depth, has_parent=depth > 0)
            control = REGISTRY.get_definitions_by_names(
                [name for name in shown if name not in modes.planners(REGISTRY)]
            )
            assert len(control) == len(CONTROL) + depth
            assert tools_tokens(tuple(control)) <= 400


def test_a_sub_agent_can_always_ask_and_its_parent_answer_while_one_asks(registry: ToolRegistry) -> None:
    for mode in ToolMode:
        root = visible(registry, mode)
        assert "wait_parent" not in root
        assert "answer_child" not in root
        assert set(visible(registry, mode, has_parent=True, depth=1)) == {*root, "wait_parent"}
        assert visible(registry, mode, child_asks=True) == [*root, "answer_child"]


def test_a_tool_enabled_by_name_is_shown_once_and_in_its_section(registry: ToolRegistry) -> None:
    assert visible(registry, ToolMode.DIRECT, ["wait_parent", "TodoTool", "TodoTool"], has_parent=True) == [
        "TodoTool",
        *CONTROL,
        "wait_parent",
    ]
    assert "wait_parent" not in visible(registry, ToolMode.DIRECT, ["wait_parent"])


def test_sections_shows_the_planners_and_the_always_available_tools(registry: ToolRegistry) -> None:
    assert visible(registry, ToolMode.SECTIONS) == ["where", "list_tool_sections", "plan_actions", *CONTROL]


def test_invoke_shows_the_control_tools(registry: ToolRegistry) -> None:
    assert visible(registry, ToolMode.INVOKE) == [*CONTROL, "invoke_tool"]


def test_at_the_maximum_depth_nobody_plans_and_sections_are_shown_directly(registry: ToolRegistry) -> None:
    deep = {"depth": 3, "has_parent": True}
    direct = ["TodoTool", "ReportTool", "where", *CONTROL, "wait_parent"]
    assert visible(registry, ToolMode.DIRECT, ENABLED, **deep) == direct
    assert visible(registry, ToolMode.SECTIONS, [*ENABLED, "plan_actions"], **deep) == direct
    assert visible(registry, ToolMode.INVOKE, ENABLED, **deep) == [*CONTROL, "wait_parent", "invoke_tool"]
    at_depth = {mode: modes.Toolset.of(registry, ENABLED, mode=mode, depth=3, max_depth=3).mode for mode in ToolMode}
    assert at_depth == {
        ToolMode.DIRECT: ToolMode.DIRECT,
        ToolMode.SECTIONS: ToolMode.DIRECT,
        ToolMode.INVOKE: ToolMode.INVOKE,
    }


def test_usable_tools_are_the_enabled_ones_and_the_planners_of_sections_mode(registry: ToolRegistry) -> None:
    def usable(mode: ToolMode, depth: int = 0) -> list[str]:
        return modes.Toolset.of(registry, ENABLED, mode=mode, depth=depth, max_depth=3).usable

    assert usable(ToolMode.DIRECT) == usable(ToolMode.INVOKE) == ["TodoTool", "ReportTool", "where", "SpawnAgentTool"]
    assert usable(ToolMode.SECTIONS) == [
        "TodoTool",
        "ReportTool",
        "where",
        "SpawnAgentTool",
        "list_tool_sections",
        "plan_actions",
    ]
    assert {tuple(usable(mode, 3)) for mode in ToolMode} == {("TodoTool", "ReportTool", "where")}


def test_the_text_of_the_system_message(registry: ToolRegistry) -> None:
    def text(mode: ToolMode, depth: int = 0, enabled: Sequence[str] = ENABLED) -> str:
        return modes.Toolset.of(registry, enabled, mode=mode, depth=depth, max_depth=3).text()

    assert text(ToolMode.DIRECT) == ""
    assert text(ToolMode.SECTIONS, 3) == ""
    assert text(ToolMode.SECTIONS) == (
        "[TOOL SECTIONS] (reach these tools with list_tool_sections and plan_actions)\n"
        "- core_ops: Tasks, memory, calculation, questions to the user and reports (2)\n"
        "- planning_ops: Plan actions, start agents, delegate and run tasks in parallel (1)\n"
        "- context_ops: Where the agent works: folder, environment, project (1)"
    )
    assert text(ToolMode.SECTIONS, enabled=()).endswith("\n(none)")
    assert "- SpawnAgentTool: " in text(ToolMode.INVOKE)
    assert "SpawnAgentTool" not in text(ToolMode.INVOKE, 3).replace("(SpawnAgentTool", "")
    assert "CalculatorTool: " not in text(ToolMode.INVOKE)


def test_searchable_tools_are_listed_by_section_and_found_ones_come_last(registry: ToolRegistry) -> None:
    enabled = [*ENABLED, "read_file", "write_file"]
    outside = modes.Search(SearchScope.OUTSIDE_CORE, ("write_file", "TodoTool"))
    assert visible(registry, ToolMode.DIRECT, enabled, search=outside) == [
        "TodoTool", "ReportTool", "where", *CONTROL, "search_tools", "write_file",
    ]  # fmt: skip
    specialised = modes.Search(SearchScope.SPECIALISED)
    assert visible(registry, ToolMode.DIRECT, [*enabled, "run_command"], search=specialised) == [
        "TodoTool", "ReportTool", "where", "SpawnAgentTool", "read_file", "write_file", *CONTROL, "search_tools",
    ]  # fmt: skip
    every = modes.Search(SearchScope.ALL)
    assert visible(registry, ToolMode.DIRECT, enabled, search=every) == ["where", *CONTROL, "search_tools"]

    def text(mode: ToolMode, search: modes.Search) -> str:
        return modes.Toolset.of(registry, enabled, mode=mode).text(search)

    planning = "- planning_ops: Plan actions, start agents, delegate and run tasks in parallel (1 tool)"
    files = "- file_ops: Read, write, edit, find, move, copy and delete files (2 tools)"
    core = "- core_ops: Tasks, memory, calculation, questions to the user and reports (2 tools)"
    assert text(ToolMode.DIRECT, outside).splitlines() == [modes.SEARCHED_NOTE, planning, files]
    assert text(ToolMode.DIRECT, every).splitlines() == [modes.SEARCHED_NOTE, core, planning, files]
    listed = text(ToolMode.INVOKE, outside)
    assert [f"- {name}: " in listed for name in ("TodoTool", "where", "write_file", "read_file")] == [
        True,
        True,
        True,
        False,
    ]


REGISTRY = create_default_tool_registry()


@given(
    st.sampled_from(ToolMode),
    st.lists(st.sampled_from([*REGISTRY.get_all_tool_names(), "gone"])),
    st.integers(0, 6),
    st.integers(0, 6),
    st.booleans(),
    st.booleans(),
)
def test_no_unusable_tool_is_shown(
    mode: ToolMode, enabled: list[str], depth: int, max_depth: int, has_parent: bool, child_asks: bool
) -> None:
    shown = visible(
        REGISTRY, mode, enabled, depth=depth, max_depth=max_depth, has_parent=has_parent, child_asks=child_asks
    )
    assert len(shown) == len(set(shown))
    usable = modes.Toolset.of(REGISTRY, enabled, mode=mode, depth=depth, max_depth=max_depth).usable
    control = [name for name in shown if REGISTRY.get_tool(name).category.value == "control"]  # type: ignore[union-attr]
    assert set(shown) <= set(usable) | set(control)
    if depth >= max_depth:
        assert not {name for name in shown if REGISTRY.get_tool(name).section == "planning_ops"}  # type: ignore[union-attr]
    assert ("wait_parent" in shown) is has_parent
    assert ("answer_child" in shown) is child_asks
    assert set(CONTROL) <= set(shown)
