"""A server is pasted, tested and saved, and the agent of the open workflow has its tools from the next message on."""

from __future__ import annotations

import shlex
from typing import Any

from PySide6.QtWidgets import QPlainTextEdit

from tests.e2e.conftest import OpenDesk
from tests.e2e.wire import ModelServer, config, hire
from tests.mcp.conftest import Make, plain

__all__ = ["plain"]


def offered(server: ModelServer, key: str) -> list[list[str]]:
    return [[tool["function"]["name"] for tool in body.get("tools", [])] for body in server.requests(key)]


def test_paste_test_done(open_desk: OpenDesk, server: ModelServer, plain: Make) -> None:
    server.script("Hello", "Good morning.", "It is there.")
    made = plain().config()
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=("CalculatorTool",))))
    desk.settle()
    desk.send("Hello")
    desk.last_reply("Good morning.")
    desk.wait_done()
    desk.action("settings")
    settings: Any = desk.find("settings-window")
    settings.resize(1000, 900)
    settings.show_page("mcp")
    desk.settle()
    desk.click("mcp-add")
    desk.find("mcp-import-text", QPlainTextEdit).setPlainText(shlex.join((made.command, *made.args)))
    desk.click("mcp-import-take")
    page = settings.page("mcp")
    page.form.name.setText("plain")
    desk.click("mcp-test")
    desk.until_shown("busy-text", "1 tool")
    desk.click("mcp-save")
    desk.until_shown("busy-text", "Saved.")
    settings.close()
    desk.settle()
    desk.send("And now?")
    desk.last_reply("It is there.")
    desk.wait_done()
    first, second = offered(server, "Hello")
    assert "mcp__plain__echo" not in first
    assert "mcp__plain__echo" in second
