"""search_tools: the words of a query are compared with names, descriptions and parameters."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.agent import SearchScope
from atelier_desk.domain.mcp import McpServer
from atelier_desk.mcp.results import Answer
from atelier_desk.tools.base import ToolContext
from atelier_desk.tools.control import search_tools
from atelier_desk.tools.registry import mcp_tool
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.mcp_tool import McpTool
from atelier_desk.tools.registry.sections import Section, of_server
from tests.helpers.servers.misbehaving_mcp_stdio import tool

DEFINITIONS = (
    tool("getPullRequest", "Reads one pull request.", number={"type": "integer"}),
    tool("create_issue", "Opens a new issue in a repository.", title={"type": "string"}, body={"type": "string"}),
    tool("list_issues", "Lists the issues of a repository.", state={"type": "string"}),
    tool("merge", "Merges a pull request.", number={"type": "integer"}),
)


class Nobody:
    async def call(self, *_given: Any) -> Answer:
        raise AssertionError


def tools() -> list[McpTool]:
    server = McpServer(name="git", command="x")
    return [mcp_tool.make(server, f"mcp__git__{each['name']}", each, Nobody()) for each in DEFINITIONS]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("create issues", ["create_issue", "list_issues"]),
        ("repositories opened", ["create_issue"]),
        ("pull request", ["getPullRequest", "merge"]),
        ("get_pull_request", ["getPullRequest", "merge"]),
        ("merge", ["merge"]),
        ("mcp__git__list_issues", ["list_issues"]),
        ("merges", ["merge"]),
        ("weather", []),
        ("?!", []),
    ],
)
def test_the_best_match_comes_first(query: str, found: list[str]) -> None:
    assert [each.name.removeprefix("mcp__git__") for each in search_tools.best(tools(), query)] == found


async def test_only_tools_of_the_agents_servers_are_found() -> None:
    registry = create_default_tool_registry()
    registry.sections.register(Section(of_server("git"), "git", "git"))
    registry.register_all(tools())
    mine = ("mcp__git__merge", "CalculatorTool")

    async def search(query: str) -> dict[str, Any]:
        context = ToolContext(workflow_id="w", run_id="r", call_id="c", enabled_tools=mine)
        outcome: Any = await registry.execute("search_tools", {"query": query}, context)
        return dict(outcome.data)

    assert [each["name"] for each in (await search("pull request"))["found"]] == ["mcp__git__merge"]
    assert [each["name"] for each in (await search("git"))["found"]] == ["mcp__git__merge"]
    nothing = await search("calculate an expression")
    assert (nothing["found"], nothing["names"]) == ([], ["mcp__git__merge"])


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("read a file", "read_file"),
        ("lire un fichier", "read_file"),
        ("chercher sur le web", "search_web"),
        ("remember a preference", "MemoryTool"),
        ("mémoire", "MemoryTool"),
        ("create a task", "TodoTool"),
        ("ask the user a question", "UserQuestionTool"),
        ("list files in a folder", "list_directory"),
        ("run a shell command", "run_command"),
        ("spawn an agent", "SpawnAgentTool"),
        ("calculate", "CalculatorTool"),
    ],
)
def test_built_in_tools_are_found_by_their_purpose_in_both_languages(query: str, first: str) -> None:
    registry = create_default_tool_registry()
    own = [
        tool for name in registry.get_all_tool_names() if (tool := registry.get_tool(name)) is not None and tool.section
    ]
    assert search_tools.best(own, query)[0].name == first


def test_a_sections_name_gives_its_tools_and_weak_matches_are_skipped() -> None:
    registry = create_default_tool_registry()
    own = [
        tool for name in registry.get_all_tool_names() if (tool := registry.get_tool(name)) is not None and tool.section
    ]
    assert search_tools.best(own, "file_ops") == registry.get_tools_by_section("file_ops")
    assert [each.name for each in search_tools.best(own, "remember a preference")] == ["MemoryTool"], (
        "others say when to use that one instead"
    )


async def test_listed_tools_are_not_found() -> None:
    registry = create_default_tool_registry()
    mine = ("TodoTool", "read_file", "get_working_directory")

    async def names(scope: SearchScope) -> list[str]:
        context = ToolContext(workflow_id="w", run_id="r", call_id="c", enabled_tools=mine, search_scope=scope)
        outcome: Any = await registry.execute("search_tools", {"query": "zzz"}, context)
        return list(outcome.data["names"])

    assert await names(SearchScope.SERVERS) == []
    assert await names(SearchScope.OUTSIDE_CORE) == ["read_file"]
    assert await names(SearchScope.ALL) == ["TodoTool", "read_file"]
