"""Server tools that are too many for the model's context: found by search, then called; the journal records which
were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from atelier_desk.domain.agent import ApprovalMode, ToolMode
from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.domain.mcp import McpEntry, McpKnown, McpServer
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.mcp.results import Answer
from tests.engine.conftest import Opener, create_workflow, send_and_wait
from tests.engine.services.inspected_requests import assert_exact, conversation_requests, inspected
from tests.helpers.runs_without_driver import agent
from tests.helpers.servers.misbehaving_mcp_stdio import tool
from tests.helpers.tool_calls import tool_call

TEXT = {"type": "string", "description": "What it is about. " * 10}
TOOLS = tuple(
    tool(f"{verb}_{thing}", f"{verb.title()}s a {thing} of the shop.", text=TEXT)
    for verb in ("create", "delete", "list")
    for thing in ("invoice", "customer", "parcel", "refund", "voucher")
)
CREATE = "mcp__shop__create_invoice"


async def shop(atelier: Atelier, monkeypatch: pytest.MonkeyPatch, tools: Sequence[Any] = TOOLS) -> list[str]:
    """A server with many approved tools; ``calls`` to it are recorded."""
    called: list[str] = []

    async def call(server: str, name: str, digest: str, arguments: Any, progress: Any) -> Answer:
        called.append(name)
        return Answer(failed=False, text="done")

    entry = McpEntry(
        name="shop",
        config=McpServer(name="shop", command="x"),
        known=McpKnown(approved=tuple(tools), seen=tuple(tools)),
    )
    await atelier.repos.mcp_servers.save(entry)
    monkeypatch.setattr(atelier.mcp, "call", call)
    monkeypatch.setattr(atelier.mcp, "_entries", None)
    await atelier.mcp.load()
    return called


def config(**fields: Any) -> Any:
    return agent(tools=("calculate",), mcp_servers=("shop",), approval=ApprovalMode.AUTO, **fields)


def search(id: str, query: str) -> ToolCall:
    return tool_call("search_tools", id, query=query)


def create(id: str) -> ToolCall:
    return tool_call(CREATE, id, text="x")


def servers(request: Any) -> list[str]:
    return [each.name for each in request.tools if each.name.startswith("mcp__")]


async def turn(
    atelier: Atelier, text: str = "Go", workflow_id: str | None = None, **fields: Any
) -> tuple[str, list[dict[str, Any]]]:
    """The workflow and the results of the calls of a turn."""
    if workflow_id is None:
        workflow_id = await create_workflow(atelier)
    run_id = await send_and_wait(atelier, workflow_id, text, agent=config(**fields))
    events = await atelier.repos.journal.events(run_id)
    return workflow_id, [event.body.result for event in events if isinstance(event.body, ToolCallFinished)]


async def test_found_tools_are_called_and_known_in_the_next_turn_and_after_a_restart(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(
        [[create("a")], [search("b", "write an invoice")], [create("c")], "Done.", [create("d")], "Done."]
    )
    async with open_atelier(model) as atelier:
        called = await shop(atelier, monkeypatch)
        workflow_id, results = await turn(atelier)
        assert results[0]["code"] == "not_loaded"
        assert "search_tools" in results[0]["error"]
        found = results[1]["found"]
        assert found[0]["name"].endswith("_invoice")
        assert {
            "name": CREATE,
            "server": "shop",
            "description": "Creates a invoice of the shop.",
            "takes": "text",
        } in found
        assert called == ["create_invoice"], "a call of what was not found goes nowhere"
        first, second, third = model.requests[:3]
        assert (servers(first), servers(second)) == ([], [])
        assert servers(third) == [each["name"] for each in reversed(found)]
        assert third.tools[: len(first.tools)] == first.tools, "what was sent before stays as it was"
        assert "- shop: shop (15 tools)" in first.messages[0].content
        shown = await inspected(atelier, workflow_id)
        assert_exact(shown, conversation_requests(model))
        assert {each.searched_tools for each in shown} == {15}
        assert shown[0].searched_tokens > 0.05 * 32_768
        tokens = [next(part.estimate for part in each.parts if part.kind == "tools") for each in shown]
        assert tokens[0] == tokens[1] < tokens[2] < shown[0].searched_tokens
    async with open_atelier(model) as atelier:
        called = await shop(atelier, monkeypatch)
        _workflow, results = await turn(atelier, "Again", workflow_id)
        assert (results[0]["success"], called) == (True, ["create_invoice"])


async def test_few_tools_are_listed_without_a_word_about_searching(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([[create("a")], "Done."])
    async with open_atelier(model) as atelier:
        called = await shop(atelier, monkeypatch, TOOLS[:3])
        workflow_id, _results = await turn(atelier)
        assert called == ["create_invoice"]
        assert len(servers(model.requests[0])) == 3
        assert not any(each.name == "search_tools" for each in model.requests[0].tools)
        assert "search_tools" not in model.requests[0].messages[0].content
        assert [each.searched_tools for each in await inspected(atelier, workflow_id)] == [0, 0]


async def test_an_agent_with_text_tools_searches_and_calls_by_name(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = tool_call("invoke_tool", "b", tool_name=CREATE, arguments={"text": "x"})
    model = ScriptedModel([[through], [search("c", CREATE)], [through.model_copy(update={"id": "d"})], "Done."])
    long = [tool(each["name"], each["description"] + " And more." * 40) for each in TOOLS]
    long[0] = tool("create_invoice", "Writes one." * 40, text={"type": "string"})
    async with open_atelier(model) as atelier:
        called = await shop(atelier, monkeypatch, long)
        _workflow, results = await turn(atelier, tool_mode=ToolMode.INVOKE)
        assert [each.get("code") for each in results] == ["not_loaded", None, None]
        assert called == ["create_invoice"]
        systems = [each.messages[0].content for each in model.requests]
        assert ["mcp__shop__delete_parcel" in each for each in systems] == [False] * 4
        assert [f"- {CREATE}: Writes" in each for each in systems] == [False, False, True, True]


async def test_found_tools_use_only_their_share_of_the_context(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([[search("a", "invoice")], [search("b", "parcel")], [create("c")], "Done."])
    huge = [tool(each["name"], each["description"] + " And more." * 500) for each in TOOLS]
    async with open_atelier(model) as atelier:
        called = await shop(atelier, monkeypatch, huge)
        monkeypatch.setattr("atelier_desk.engine.run.request.tool_search.FOUND_SHARE", 0.1)
        await turn(atelier)
        assert [len(servers(each)) for each in model.requests[:3]] == [0, 2, 2]
        assert all("parcel" in name for name in servers(model.requests[2])), "the newest stay"
        assert called == ["create_invoice"], "what was found once can be called"
