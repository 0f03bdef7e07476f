"""list_tool_sections: only tools that the run may use."""

from __future__ import annotations

from atelier_desk.tools.base import Effect, Risk
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.teams.list_tool_sections import ListToolSections
from tests.tools.conftest import Calls, MakeCalls


async def test_lists_the_sections_of_the_enabled_tools(calls_with: MakeCalls) -> None:
    names = ("TodoTool", "ReportTool", "SpawnAgentTool", "list_tool_sections", "plan_actions")
    data = await calls_with(enabled_tools=names)("list_tool_sections")
    assert data["always_available"] == ["list_tool_sections", "plan_actions"]
    core, planning = data["sections"]
    assert core == {
        "id": "core_ops",
        "name": "Basics",
        "description": "Tasks, memory, calculation, questions to the user and reports",
        "tools": ["TodoTool", "ReportTool"],
        "tool_count": 2,
    }
    assert (planning["id"], planning["tools"]) == ("planning_ops", ["SpawnAgentTool"])


async def test_without_a_selection_every_tool_is_listed(calls: Calls) -> None:
    data = await calls("list_tool_sections")
    assert {section["id"]: section["tool_count"] for section in data["sections"]} == {
        "core_ops": 5,
        "planning_ops": 3,
        "context_ops": 4,
        "file_ops": 13,
        "shell_ops": 9,
        "web_ops": 3,
        "media_ops": 8,
        "project_ops": 10,
        "rag_ops": 5,
    }


async def test_without_a_registry_it_is_reported(calls_with: MakeCalls) -> None:
    assert (await calls_with(registry=None)("list_tool_sections"))["code"] == "unknown_tool"


def test_it_only_reads() -> None:
    call = ToolRegistry().prepare(ListToolSections(), {}).described
    assert (call.effect, call.risk) == (Effect.READ, Risk.LOW)
