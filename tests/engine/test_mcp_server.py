"""Atelier as an MCP server: other programs run agents under the same permissions, and read memories and reports."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.engine import Atelier, mcp_server
from tests.engine.conftest import Opener
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call
from tests.mcp.conftest import Make, plain

__all__ = ["plain"]


async def asked(atelier: Atelier, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The results for the other program: objects where they are JSON, otherwise texts."""
    from mcp import Client

    found: list[Any] = []
    async with Client(mcp_server.offered(atelier, "1")) as client:
        for name, arguments in calls:
            (block,) = (await client.call_tool(name, arguments)).content
            assert block.type == "text"
            found.append(json.loads(block.text) if block.text.startswith("{") else block.text)
    return found


async def test_an_agent_works_and_its_results_can_be_read(open_atelier: Opener) -> None:
    async with open_atelier(["Twelve.", "Still twelve."]) as atelier:
        await atelier.agents.save(agent(name="Counter"))
        await atelier.memories.add("The sea is wide.")
        (first,) = await asked(atelier, ("run_agent", {"prompt": "How many?", "agent": "Counter"}))
        assert (first["status"], first["answer"]) == ("completed", "Twelve.")
        await atelier.reports.write(first["workflow_id"], "count", "# Twelve")
        again, agents, memories, reports, report, unknown, wrong = await asked(
            atelier,
            ("run_agent", {"prompt": "And now?", "workflow_id": first["workflow_id"]}),
            ("list_agents", {}),
            ("search_memory", {"query": "sea"}),
            ("list_reports", {"workflow_id": first["workflow_id"]}),
            ("read_report", {"workflow_id": first["workflow_id"], "name": "count"}),
            ("run_agent", {"prompt": "x", "agent": "Nobody"}),
            ("search_memory", {"query": "sea", "limit": 5_000}),
        )
        assert again["workflow_id"] == first["workflow_id"]
        assert "Counter" in [each["name"] for each in agents["agents"]]
        assert [each["content"] for each in memories["memories"]] == ["The sea is wide."]
        assert [each["name"] for each in reports["reports"]] == ["count"]
        assert report == "# Twelve"
        assert "Nobody" in unknown
        assert wrong == "search_memory: limit must be at most 50."


async def test_a_call_that_needs_approval_waits_for_the_person(open_atelier: Opener, plain: Make) -> None:
    steps = [[tool_call("mcp__plain__echo", "c1", text="hello")], "Done."]
    async with open_atelier(steps) as atelier:
        server = plain()
        await atelier.mcp.save(server.config(), new=True)
        await atelier.mcp.test("plain")
        await atelier.agents.save(agent(name="Careful", mcp_servers=("plain",), approval=ApprovalMode.SELECTIVE))
        (found,) = await asked(atelier, ("run_agent", {"prompt": "Echo", "agent": "Careful"}))
        assert found["status"] == "waiting"
        assert "A person has to" in found["note"]
        assert "tools/call" not in server.notes
        assert len(await atelier.repos.approvals.pending()) == 1


async def test_it_serves_lines_until_the_input_ends(open_atelier: Opener) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    written: asyncio.Queue[str] = asyncio.Queue()
    async with open_atelier() as atelier:
        serving = asyncio.create_task(mcp_server.serve(mcp_server.offered(atelier, "1"), lines.get, written.put_nowait))
        lines.put_nowait("nonsense")
        lines.put_nowait(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
        answer = json.loads(await written.get())
        while answer.get("id") != 1:
            answer = json.loads(await written.get())
        assert answer["result"]["serverInfo"]["name"] == "atelier"
        lines.put_nowait(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        lines.put_nowait(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}))
        listed = json.loads(await written.get())
        assert {each["name"] for each in listed["result"]["tools"]} >= {"run_agent", "list_agents", "search_memory"}
        lines.put_nowait(None)
        await serving
