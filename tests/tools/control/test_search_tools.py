"""search_tools: the words of a query against names, descriptions and parameters."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.mcp import McpServer
from atelier_desk.mcp.results import Answer
from atelier_desk.tools import mcp_tool
from atelier_desk.tools.base import ToolContext
from atelier_desk.tools.control import search_tools
from atelier_desk.tools.default import create_default_tool_registry
from atelier_desk.tools.mcp_tool import McpTool
from atelier_desk.tools.sections import Section, of_server
from tests.support.servers.mcp_plain import tool

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
def test_what_fits_best_comes_first(query: str, found: list[str]) -> None:
    assert [each.own_name for each in search_tools.best(tools(), query)] == found


async def test_only_tools_of_servers_that_the_agent_has_are_found() -> None:
    registry = create_default_tool_registry()
    registry.sections.register(Section(of_server("git"), "git", "git"))
    registry.register_all(tools())
    mine = ("mcp__git__merge", "CalculatorTool")

    async def search(query: str) -> dict[str, Any]:
        context = ToolContext(workflow_id="w", run_id="r", call_id="c", enabled_tools=mine)
        outcome: Any = await registry.execute("search_tools", {"query": query}, context)
        return dict(outcome.data)

    assert [each["name"] for each in (await search("pull request"))["found"]] == ["mcp__git__merge"]
    nothing = await search("calculate an expression")
    assert (nothing["found"], nothing["names"]) == ([], ["mcp__git__merge"])
