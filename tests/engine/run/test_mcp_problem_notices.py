"""Problems of its agents' MCP servers are reported once per workflow, not by every turn and sub-agent, and again
when they change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.presentation.run_notices import servers_text
from tests.engine.conftest import Opener
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

TEAM = agent(tools=("SpawnAgentTool",), mcp_servers=("files", "mail"), approval="auto", tool_dialect="native")
BOTH = [tool_call("SpawnAgentTool", name, operation="spawn", name=name, prompt="Do it.") for name in ("a", "b")]
FAILED = ServerProblem(server="mail", code="failed", detail="it ended at 10:31", key="start")
TOOLS = ServerProblem(server="files", code="left_out", detail="tool odd: …", key="1f")


async def told(atelier: Atelier, workflow_id: str | None = None) -> tuple[str, list[list[str]]]:
    """A turn: its workflow, and the servers named in each notice, including those of sub-agents."""
    events = [event async for event in atelier.run("Go", agent=TEAM, workflow_id=workflow_id)]
    notices = [event.data["details"] for event in events if event.chunk_type is ChunkType.SERVERS_LACKING]
    assert all(servers_text(details)[1] for details in notices), "no notice is empty"
    return events[0].workflow_id, [[problem["server"] for problem in details["problems"]] for details in notices]


class Servers:
    """Replaces the status of servers, read when each run starts; ``now`` are the current problems, ``first`` those
    of the very first read if they differ.
    """

    def __init__(self, atelier: Atelier, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now: tuple[ServerProblem, ...] = ()
        self.first: tuple[ServerProblem, ...] | None = None
        self.looks = 0
        monkeypatch.setattr(atelier.runs.env, "server_problems", self._look)

    async def _look(self, servers: Sequence[str]) -> tuple[ServerProblem, ...]:
        self.looks += 1
        await asyncio.sleep(0)
        found = self.first if self.first is not None and self.looks == 1 else self.now
        return tuple(each for each in found if each.server in servers)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([(FAILED,), (FAILED,), (FAILED,)], [["mail"]]),
        ([(TOOLS, FAILED), (FAILED, TOOLS)], [["files", "mail"]]),
        ([(FAILED,), (FAILED.model_copy(update={"detail": "il s’est terminé à 10:32"}),)], [["mail"]]),
        ([(FAILED,), (FAILED.model_copy(update={"key": "signin"}),)], [["mail"], ["mail"]]),
        ([(TOOLS,), (TOOLS.model_copy(update={"key": "2e"}),), (TOOLS,)], [["files"], ["files"], ["files"]]),
        ([(FAILED,), (FAILED, TOOLS), (TOOLS,), (TOOLS,)], [["mail"], ["files"]]),
        ([(FAILED,), (), (), (FAILED,)], [["mail"], ["mail"]]),
        ([(), (), (TOOLS,)], [["files"]]),
    ],
)
async def test_each_turn_reports_only_new_problems(
    turns: list[tuple[ServerProblem, ...]],
    expected: list[list[str]],
    open_atelier: Opener,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_atelier(["Fine."] * len(turns)) as atelier:
        servers, workflow = Servers(atelier, monkeypatch), await atelier.workflows.create()
        notices = []
        for servers.now in turns:
            notices += (await told(atelier, workflow.id))[1]
        assert notices == expected
        assert servers.looks == len(turns)


async def test_parallel_sub_agents_repeat_nothing_and_another_workflow_gets_its_own_report(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(ScriptedModel([BOTH, "Done.", "Done.", "All done.", "Fine."])) as atelier:
        servers = Servers(atelier, monkeypatch)
        servers.now = (FAILED, TOOLS)
        first, notices = await told(atelier)
        assert servers.looks == 3
        assert notices == [["mail", "files"]]
        second, notices = await told(atelier)
        assert first != second
        assert notices == [["mail", "files"]]


async def test_servers_of_sub_agents_only_are_reported_by_one_of_them(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_atelier(ScriptedModel([BOTH, "Done.", "Done.", "All done."])) as atelier:
        servers = Servers(atelier, monkeypatch)
        servers.first, servers.now = (), (FAILED,)
        assert (await told(atelier))[1] == [["mail"]]
        assert servers.looks == 3
