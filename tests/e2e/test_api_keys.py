"""A missing API key is asked for where it is needed, and one stored in a file is still there at the second start."""

from __future__ import annotations

import asyncio
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListWidget

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rows
from tests.e2e.scripted_model_server import PROVIDER, ModelServer, config, held_reply, hire

KEY, RIGHT = "sk-lost-0123456789", "sk-right-0123456789"


def settings_of(app: AppDriver) -> Any:
    window: Any = app.find("settings-window")
    window.resize(1000, 900)
    return window


def test_a_missing_key_is_asked_for_and_can_be_stored(open_app: OpenApp, server: ModelServer) -> None:
    server.script("Hello", "Good morning.")
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=())))
    app.engine(lambda a: a.providers.set_key(PROVIDER, KEY))
    app.close()
    app = open_app(None)
    app.until_text("connection-state", "No valid key")
    app.send("Hello")
    card = app.until_text("notice-card", "needs its API key again")
    assert server.requests("Hello") == []
    app.click(app.find("notice-provider", within=card))
    window = settings_of(app)
    field = app.find("provider-key", QLineEdit)
    app.until(lambda: QApplication.focusWidget() is field, "the keyboard is in the field of the key")
    assert field.placeholderText() == "API key required"
    assert [
        row
        for row in rows(app.find("provider-list", QListWidget, window))
        if PROVIDER in row and "API key required" in row
    ]
    assert "lost when Atelier closes" in app.find("provider-key-note", QLabel).text()
    app.type(field, KEY)
    app.click("provider-save")
    app.until_text("busy-text", "until Atelier closes")
    app.click("provider-key-file")
    app.click("confirm-yes")
    app.until_text("provider-key-note", "unencrypted")
    window.close()
    app.until_text("connection-state", "Ready")
    app.click("notice-retry")
    app.until_reply("Good morning.")
    app.wait_done()
    app.close()
    app = open_app(None)
    assert app.engine(lambda a: a.keys.states())[PROVIDER] == "saved"


def test_the_status_line_reports_a_refused_key(open_app: OpenApp, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script("Hello", held_reply("Good morning.", gate))
    server._server.api_key = RIGHT
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=())))
    app.engine(lambda a: a.providers.set_key(PROVIDER, KEY))
    app.until(lambda: app.window.chat.choices.model[0] == PROVIDER, "the new agent answers")
    app.settle()
    app.until_text("connection-state", "Ready")
    app.send("Hello")
    app.until_text("connection-state", "No valid key")
    assert "Providers" in app.find("connection-state").toolTip()
    app.engine(lambda a: a.providers.set_key(PROVIDER, RIGHT))
    app.until_text("connection-state", "Ready")
    app.click("notice-retry")
    app.until_text("connection-state", "Working")
    server.free(gate)
    app.until_reply("Good morning.")
    app.until_text("connection-state", "Ready")


def test_a_disabled_provider_is_enabled_from_the_error_card(open_app: OpenApp, server: ModelServer) -> None:
    server.script("Hello", "Good morning.")
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=())))
    app.engine(lambda a: a.providers.save(server.provider.model_copy(update={"enabled": False})))
    app.settle()
    app.send("Hello")
    card = app.until_text("notice-card", "is disabled")
    app.click(app.find("notice-provider", within=card))
    window = settings_of(app)
    app.press(app.find("provider-enabled", within=window), Qt.Key.Key_Space)
    app.click("provider-save")
    app.until_text("busy-text", "Saved")
    window.close()
    app.click("notice-retry")
    app.until_reply("Good morning.")
    app.wait_done()
