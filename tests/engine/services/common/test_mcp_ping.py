"""Servers are pinged while they are used or shown, and not before or after."""

from __future__ import annotations

from typing import Any

from atelier_desk.domain.mcp import McpError
from atelier_desk.engine.services.common.mcp_ping import CHECK_S, USED_S, McpPing
from tests.helpers.manual_clock import ManualClock


class Server:
    def __init__(self, clock: ManualClock, *, runs: bool = True, fails: bool = False) -> None:
        self.used_at, self.pingable, self.fails, self.asked = clock.monotonic(), runs, fails, 0

    async def ping(self) -> None:
        self.asked += 1
        if self.fails:
            raise McpError("The MCP server {server} did not answer in time.", server="x")


async def test_a_server_is_pinged_while_in_use(clock: ManualClock) -> None:
    servers: dict[str, Any] = {
        "used": Server(clock),
        "failing": Server(clock, fails=True),
        "idle": Server(clock, runs=False),
    }
    watch = McpPing(servers, clock)
    watch.begin()
    watch.begin()
    task = watch._task
    assert task is not None
    await clock.settle()
    rounds = round(USED_S / CHECK_S)
    for _round in range(rounds):
        await clock.advance(CHECK_S)
    assert [each.asked for each in servers.values()] == [rounds, rounds, 0]
    servers["used"].used_at = clock.monotonic()
    for _round in range(3):
        await clock.advance(CHECK_S)
    assert [each.asked for each in servers.values()] == [rounds + 3, rounds + 1, 0], "one was not used for long"
    gone = servers.pop("used")
    await clock.advance(CHECK_S)
    assert (gone.asked, task.done()) == (rounds + 3, True)


async def test_opening_the_page_pings_all_at_once(clock: ManualClock) -> None:
    servers: dict[str, Any] = {"a": Server(clock), "b": Server(clock, fails=True)}
    watch = McpPing(servers, clock)
    await watch.check()
    assert [each.asked for each in servers.values()] == [1, 1]
    watch.stop()
