"""A server is pasted, tested and saved, and the agent of the open workflow has its tools from the next message on."""

from __future__ import annotations

import shlex
from typing import Any

from PySide6.QtWidgets import QPlainTextEdit

from atelier_desk.domain.agent import ApprovalMode
from tests.e2e.conftest import OpenApp
from tests.e2e.scripted_model_server import ModelServer, calls, config, hire, newest_message
from tests.e2e.test_approvals import in_chat, press
from tests.helpers.servers.scripted_http_server import Call
from tests.mcp.conftest import Make, plain

__all__ = ["plain"]


def offered(server: ModelServer, key: str) -> list[list[str]]:
    return [[tool["function"]["name"] for tool in body.get("tools", [])] for body in server.requests(key)]


def test_a_pasted_server_is_tested_saved_and_called_in_the_open_workflow(
    open_app: OpenApp, server: ModelServer, plain: Make
) -> None:
    """Ada is the default agent, Ben that of the workflow."""
    echo = Call("mcp__plain__echo", {"text": "herons"}, id="1")
    server.script("Hello", "Good morning.", calls(echo), "It is there.")
    made = plain().config()
    app = open_app(None)
    team = [config(name, tools=("CalculatorTool",), approval=ApprovalMode.SELECTIVE) for name in ("Ada", "Ben")]
    app.engine(lambda a: hire(a, server.provider, *team))
    ben = next(each for each in app.engine(lambda a: a.agents.list()) if each.name == "Ben")
    app.settle()
    app.window.chat.header.agent_chosen.emit(ben.id)
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
    ticked = {row.property("agent"): row.control.isChecked() for row in page._agent_list.rows}
    assert [agent for agent, on in ticked.items() if on] == [ben.id]
    app.click("mcp-save")
    app.until_text("busy-text", "Saved.")
    settings.close()
    app.settle()
    app.send("And now?")
    press(app, in_chat(app), "approval-approve")
    app.until_reply("It is there.")
    app.wait_done()
    first, second, _third = offered(server, "Hello")
    assert "mcp__plain__echo" not in first
    assert "mcp__plain__echo" in second
    assert "herons" in newest_message(server.requests("Hello")[-1])
