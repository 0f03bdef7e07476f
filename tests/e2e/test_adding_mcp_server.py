"""A server is pasted, tested and saved, and the agent of the open workflow has its tools from the next message on."""

from __future__ import annotations

import shlex
from typing import Any

from PySide6.QtWidgets import QPlainTextEdit

from tests.e2e.conftest import OpenApp
from tests.e2e.scripted_model_server import ModelServer, config, hire
from tests.mcp.conftest import Make, plain

__all__ = ["plain"]


def offered(server: ModelServer, key: str) -> list[list[str]]:
    return [[tool["function"]["name"] for tool in body.get("tools", [])] for body in server.requests(key)]


def test_a_pasted_server_is_tested_saved_and_used(open_app: OpenApp, server: ModelServer, plain: Make) -> None:
    server.script("Hello", "Good morning.", "It is there.")
    made = plain().config()
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=("CalculatorTool",))))
    app.settle()
    app.send("Hello")
    app.until_reply("Good morning.")
    app.wait_done()
    app.action("settings")
    settings: Any = app.find("settings-window")
    settings.resize(1000, 900)
    settings.show_page("mcp")
    app.settle()
    app.click("mcp-add")
    app.find("mcp-import-text", QPlainTextEdit).setPlainText(shlex.join((made.command, *made.args)))
    app.click("mcp-import-take")
    page = settings.page("mcp")
    page.form.name.setText("plain")
    app.click("mcp-test")
    app.until_text("busy-text", "1 tool")
    app.click("mcp-save")
    app.until_text("busy-text", "Saved.")
    settings.close()
    app.settle()
    app.send("And now?")
    app.until_reply("It is there.")
    app.wait_done()
    first, second = offered(server, "Hello")
    assert "mcp__plain__echo" not in first
    assert "mcp__plain__echo" in second
