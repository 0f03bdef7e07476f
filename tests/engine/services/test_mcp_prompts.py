"""Prompts of MCP servers: listed from what is kept, made by the server when they are called, and untrusted."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from atelier_desk.domain.errors import AtelierError, NotFoundError, UsageError
from atelier_desk.domain.mcp import McpError, McpServer, McpState
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted import ScriptedModel
from tests.engine.conftest import Opener
from tests.mcp.conftest import Make, plain
from tests.support.runs import agent

__all__ = ["plain"]
FREE = agent(tools=())
SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("made")
@server.prompt(title="A poem", description="Writes one.")
def poem(topic: str, style: str = "free") -> str:
    return f"Write a poem about {topic}, style {style}."
@server.prompt(name="tidy up")
def tidy() -> str:
    return "Tidy everything up."
server.run("stdio")
"""
PLAIN = {"prompts": [{"name": "poem", "arguments": [{"name": "topic", "required": True}]}]}


def gives(text: str) -> dict[str, object]:
    return {
        "prompts/list": PLAIN,
        "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]},
    }


async def refused(atelier: Atelier, text: str) -> AtelierError:
    """Why a message cannot be sent; nothing of it is in the workflow."""
    workflow = await atelier.workflows.create()
    with pytest.raises(AtelierError) as caught:
        await atelier.runs.send(workflow.id, text, agent=FREE)
    assert (await atelier.workflows.get(workflow.id)).head_run_id is None
    return caught.value


async def test_the_sdks_own_server_makes_a_prompt_and_the_run_has_read_from_outside(
    open_atelier: Opener, tmp_path: Path
) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    model = ScriptedModel(["The sea is wide.", "Tidy."])
    async with open_atelier(model) as atelier:
        await atelier.mcp.save(
            McpServer(name="made", command=sys.executable, args=(str(tmp_path / "server.py"),)), new=True
        )
        assert (await atelier.mcp.test("made")).prompts
        listed = await atelier.mcp.content.prompts()
        assert [(server, each.call, each.title) for server, each in listed] == [
            ("made", "poem", "A poem"),
            ("made", "tidy_up", ""),
        ]
        assert [(each.name, each.required) for each in listed[0][1].arguments] == [("topic", True), ("style", False)]
        said = await refused(atelier, "/made:poem style=haiku")
        assert isinstance(said, UsageError)
        assert str(said) == "The prompt poem of the MCP server made needs topic. It takes: topic=… [style=…]."
        assert "does not take colour. It takes: topic=…" in str(await refused(atelier, "/made:poem sea colour=red"))

        workflow = await atelier.workflows.create()
        run_id = await atelier.runs.send(workflow.id, '/made:poem topic="the wide sea" style=haiku', agent=FREE)
        await atelier.runs.wait(run_id)
        asked = model.requests[0].messages[-1].content
        assert "The user called the prompt made:poem" in asked
        assert "Write a poem about the wide sea, style haiku." in asked
        state = atelier.runs.state_of(run_id)
        assert state is not None
        assert state.current.tainted == ("made:poem",)

        await atelier.runs.wait(await atelier.runs.send(workflow.id, "/made:tidy_up", agent=FREE))
        assert "Tidy everything up." in model.requests[1].messages[-1].content
        unknown = await refused(atelier, "/made:song")
        assert isinstance(unknown, NotFoundError)
        assert str(unknown) == "The MCP server made has no prompt song. Known: poem, tidy_up."
        await atelier.mcp.switch("made", False)
        assert await atelier.mcp.content.prompts() == []
        assert str(await refused(atelier, "/made:tidy_up")) == "The MCP server made is disabled."


async def test_a_server_that_no_longer_exists_or_gives_nothing_is_named(open_atelier: Opener, plain: Make) -> None:
    server = plain(tools=[], answers=gives(""), capabilities={"prompts": {}})
    async with open_atelier(ScriptedModel([])) as atelier:
        await atelier.mcp.save(server.config(), new=True)
        await atelier.mcp.test("plain")
        assert str(await refused(atelier, "/plain:poem sea")) == "The MCP server plain returned nothing for poem."
        await atelier.mcp.stop("plain")
        assert [each.call for _server, each in await atelier.mcp.content.prompts()] == ["poem"]
        assert isinstance(await refused(atelier, "/plain:poem"), UsageError)
        assert (await atelier.mcp.get("plain")).state is McpState.IDLE, (
            "looking, and what cannot be right, start nothing"
        )
        server.say(mode="dies")
        gone = await refused(atelier, "/plain:poem sea")
        assert isinstance(gone, McpError)
        assert "plain" in str(gone)
        assert "no licence was found" in str(gone)


async def test_waiting_for_a_prompt_can_be_cancelled(open_atelier: Opener, plain: Make) -> None:
    server = plain(tools=[], answers=gives("Do."), capabilities={"prompts": {}})
    async with open_atelier(ScriptedModel(["Done."])) as atelier:
        await atelier.mcp.save(server.config(), new=True)
        await atelier.mcp.test("plain")
        await atelier.mcp.stop("plain")
        server.say(mode="hangs")
        workflow = await atelier.workflows.create()
        sending = asyncio.create_task(atelier.runs.send(workflow.id, "/plain:poem sea", agent=FREE))
        while not sending.done() and (await atelier.mcp.get("plain")).state is not McpState.STARTING:
            await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        sending = asyncio.create_task(atelier.runs.send(workflow.id, "/plain:poem sea", agent=FREE))
        while not sending.done() and (await atelier.mcp.get("plain")).state is not McpState.STARTING:
            await asyncio.sleep(0)
        await atelier.mcp.content.stop_waiting()
        with pytest.raises(McpError, match="You stopped waiting for the MCP server plain"):
            await sending
        server.say(mode="")
        run_id = await atelier.runs.send(workflow.id, "/plain:poem sea", agent=FREE)
        await atelier.runs.wait(run_id)


async def test_what_names_no_server_is_a_message(open_atelier: Opener) -> None:
    async with open_atelier(ScriptedModel(["Yes?"])) as atelier:
        workflow = await atelier.workflows.create()
        run_id = await atelier.runs.send(workflow.id, "/nobody:poem sea", agent=FREE)
        await atelier.runs.wait(run_id)
        assert await atelier.skills.invoked("/nobody:poem sea", ()) is None
