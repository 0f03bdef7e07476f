"""Cards of a run that its person stopped, and of an agent that still works after its call has ended."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtWidgets import QWidget

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import error_text, rendered
from tests.e2e.scripted_model_server import ModelServer, calls, held_reply, spawn
from tests.e2e.team_steps import CHECK, GOAL, open_team, press, row


def head(card: str) -> list[str]:
    return card.splitlines()[:3]


def has_state(card: QWidget, state: str) -> bool:
    return head(rendered(card))[-1] == state


def test_a_sub_agent_stopped_by_its_person_has_not_failed(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "Nothing was checked.")
    server.script(CHECK, held_reply("84 is right.", asyncio.Event()))
    app = open_team(open_app, server)
    app.send(GOAL)
    press(app, row(app, "Eve"), "agent-stop")
    app.until_reply("Nothing was checked.")
    app.wait_done()
    for again in (False, True):
        if again:  # as after a restart
            app.close()
            app = open_app(None)
            app.until_reply("Nothing was checked.")
        card = app.find("team-card")
        app.until(partial(has_state, card, "stopped"), "the card shows that it was stopped")
        assert error_text(card) == []


def test_an_agent_in_the_background_is_at_work_when_its_call_has_ended(open_app: OpenApp, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK, wait=False)), "Eve is at it.", "Done.")
    server.script(CHECK, held_reply("84 is right.", gate))
    app = open_team(open_app, server)
    app.send(GOAL)
    app.until_reply("Eve is at it.")
    app.settle()
    card = app.find("team-card")
    app.until(lambda: head(rendered(card))[-1] == "running", "the card shows that it works")
    server.free(gate)
    app.until(lambda: head(rendered(card))[-1].startswith("✓"), "the card shows that it is done")
    app.wait_done()
