"""Cards of a run that its person stopped, and of an agent that still works after its call has ended."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtWidgets import QWidget

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import in_red, rendered
from tests.e2e.test_teams import CHECK, GOAL, open_team, press, row
from tests.e2e.wire import ModelServer, calls, held, spawn


def head(card: str) -> list[str]:
    return card.splitlines()[:3]


def says(card: QWidget, state: str) -> bool:
    return head(rendered(card))[-1] == state


def test_a_sub_agent_stopped_by_its_person_has_not_failed(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "Nothing was checked.")
    server.script(CHECK, held("84 is right.", asyncio.Event()))
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    press(desk, row(desk, "Eve"), "agent-stop")
    desk.last_reply("Nothing was checked.")
    desk.wait_done()
    for again in (False, True):
        if again:  # as after a restart
            desk.close()
            desk = open_desk(None)
            desk.last_reply("Nothing was checked.")
        card = desk.find("team-card")
        desk.until(partial(says, card, "stopped"), "the card says that it was stopped")
        assert in_red(card) == []


def test_an_agent_in_the_background_is_at_work_when_its_call_has_ended(
    open_desk: OpenDesk, server: ModelServer
) -> None:
    gate = asyncio.Event()
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK, wait=False)), "Eve is at it.", "Done.")
    server.script(CHECK, held("84 is right.", gate))
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    desk.last_reply("Eve is at it.")
    desk.settle()
    card = desk.find("team-card")
    desk.until(lambda: head(rendered(card))[-1] == "running", "the card says that it works")
    server.free(gate)
    desk.until(lambda: head(rendered(card))[-1].startswith("✓"), "the card says that it is done")
    desk.wait_done()
