"""A missing API key is asked for where it is needed, and one stored in a file is still there at the second start."""

from __future__ import annotations

import asyncio
from typing import Any

from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListWidget

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rows
from tests.e2e.wire import PROVIDER, ModelServer, config, held, hire

KEY, RIGHT = "sk-lost-0123456789", "sk-right-0123456789"


def settings_of(desk: Desk) -> Any:
    window: Any = desk.find("settings-window")
    window.resize(1000, 900)
    return window


def test_a_lost_key_is_asked_for_and_can_be_kept(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script("Hello", "Good morning.")
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=())))
    desk.engine(lambda a: a.providers.set_key(PROVIDER, KEY))
    desk.close()
    desk = open_desk(None)
    desk.until_shown("connection-state", "No valid key")
    desk.send("Hello")
    card = desk.until_shown("notice-card", "needs its API key again")
    assert server.requests("Hello") == []
    desk.click(desk.find("notice-provider", within=card))
    window = settings_of(desk)
    field = desk.find("provider-key", QLineEdit)
    desk.until(lambda: QApplication.focusWidget() is field, "the keyboard is in the field of the key")
    assert field.placeholderText() == "API key required"
    assert [
        row
        for row in rows(desk.find("provider-list", QListWidget, window))
        if PROVIDER in row and "API key required" in row
    ]
    assert "lost when Atelier closes" in desk.find("provider-key-note", QLabel).text()
    desk.type(field, KEY)
    desk.click("provider-save")
    desk.until_shown("busy-text", "until Atelier closes")
    desk.click("provider-key-file")
    desk.click("confirm-yes")
    desk.until_shown("provider-key-note", "unencrypted")
    window.close()
    desk.until_shown("connection-state", "Ready")
    desk.click("notice-retry")
    desk.last_reply("Good morning.")
    desk.wait_done()
    desk.close()
    desk = open_desk(None)
    assert desk.engine(lambda a: a.keys.states())[PROVIDER] == "saved"


def test_a_key_the_server_refuses_is_reported_where_the_program_says_how_it_is(
    open_desk: OpenDesk, server: ModelServer
) -> None:
    gate = asyncio.Event()
    server.script("Hello", held("Good morning.", gate))
    server._server.api_key = RIGHT
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=())))
    desk.engine(lambda a: a.providers.set_key(PROVIDER, KEY))
    desk.until(lambda: desk.window.chat.choices.model[0] == PROVIDER, "the new agent answers")
    desk.settle()
    desk.until_shown("connection-state", "Ready")
    desk.send("Hello")
    desk.until_shown("connection-state", "No valid key")
    assert "Providers" in desk.find("connection-state").toolTip()
    desk.engine(lambda a: a.providers.set_key(PROVIDER, RIGHT))
    desk.until_shown("connection-state", "Ready")
    desk.click("notice-retry")
    desk.until_shown("connection-state", "Working")
    server.free(gate)
    desk.last_reply("Good morning.")
    desk.until_shown("connection-state", "Ready")
