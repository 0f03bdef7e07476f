"""Requests shown in the context pane equal those the server received; pins, undone compactions, three workflows at
once.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QListWidget, QWidget

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.e2e.scripted_model_server import ModelServer, calculate, calls, config, held_reply, hire, spawn

GOAL, CHECK, NEXT = "Build the shelf", "Check the figures", "And now the door"


def open_alone(open_app: OpenApp, server: ModelServer, window: int = 32_000, **lead: Any) -> AppDriver:
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", **lead), window=window))
    app.settle()
    return app


def show_context(app: AppDriver) -> QWidget:
    app.action("show-context")
    pane = app.find("context-pane")
    app.until(lambda: pane.requests and pane.request is not None, "a request is shown")  # type: ignore[attr-defined]
    app.settle()
    return pane


def choose_request(app: AppDriver, number: int) -> None:
    """Select the request with this position in the run, from 0."""
    requests = app.find("context-request-list", QListWidget)
    requests.setCurrentRow(number)
    pane: Any = app.find("context-pane")
    app.until(lambda: pane.request.summary.seq == pane.requests[number].seq, "the request is shown")
    app.settle()


def shown_request(app: AppDriver) -> dict[str, Any]:
    """The request as the pane's Copy gives it."""
    app.click("context-copy")
    copied: dict[str, Any] = json.loads(QGuiApplication.clipboard().text())
    return copied


def as_received(body: dict[str, Any]) -> list[tuple[str, str, list[tuple[str, Any]]]]:
    """Role, text and calls of each message as received by the server."""
    return [
        (
            message["role"],
            message.get("content") or "",
            [
                (call["function"]["name"], json.loads(call["function"]["arguments"]))
                for call in message.get("tool_calls") or []
            ],
        )
        for message in body["messages"]
    ]


def as_shown(copied: dict[str, Any]) -> list[tuple[str, str, list[tuple[str, Any]]]]:
    return [
        (
            message["role"],
            message.get("content") or "",
            [(call["name"], call["arguments"]) for call in message.get("tool_calls") or []],
        )
        for message in copied["messages"]
    ]


def test_the_context_pane_shows_what_the_server_received(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK), text="I have it checked."), "All checked.", "The door too.")
    server.script(CHECK, calls(calculate("c1", "12*7")), "84 is right.")
    app = open_alone(open_app, server)
    app.send(GOAL)
    app.until_reply("All checked.")
    app.send(NEXT)
    app.until_reply("The door too.")
    app.wait_done()
    pane: Any = show_context(app)
    received = server.requests(GOAL)
    assert as_shown(shown_request(app)) == as_received(received[2])
    app.choose(app.find("context-turn", QComboBox), pane.turn.turns[0].run_id)
    app.settle()
    for number in (0, 1):
        choose_request(app, number)
        copied = shown_request(app)
        assert as_shown(copied) == as_received(received[number])
        assert {tool["name"]: tool["parameters"] for tool in copied["tools"]} == {
            tool["function"]["name"]: tool["function"]["parameters"] for tool in received[number]["tools"]
        }
        assert copied["temperature"] == received[number].get("temperature")
    agents = app.find("context-agent", QComboBox)
    app.choose(agents, next(agents.itemData(row) for row in range(agents.count()) if "Eve" in agents.itemText(row)))
    app.settle()
    for number, body in enumerate(server.requests(CHECK)):
        choose_request(app, number)
        assert as_shown(shown_request(app)) == as_received(body)
    shown = sum(part.tokens for part in pane.request.parts)
    assert shown == 11, "the parts add up to what the server counted"


def dot(app: AppDriver, name: str) -> str:
    """The state of a workflow as announced by a screen reader."""
    return str(app.until_row("workflow-list", name))


def dot_says(app: AppDriver, name: str, text: str) -> bool:
    return text in dot(app, name)


def test_three_workflows_run_at_once(open_app: OpenApp, server: ModelServer) -> None:
    gates = {goal: asyncio.Event() for goal in ("Measure the wall", "Cut the boards", "Glue the parts")}
    app = open_alone(open_app, server)
    app.window.activateWindow()
    app.until(app.window.isActiveWindow, "the window is in front")
    for goal, gate in gates.items():
        server.script(goal, held_reply(f"{goal}: this is done.", gate))
        app.click("new-workflow")
        app.send(goal)
        app.until_reply(goal[:6])
    for goal in gates:
        app.until(partial(dot_says, app, goal, "running"), f"{goal} has its dot")
    server.free(gates["Measure the wall"])
    app.until_text("toast", "“Measure the wall” is done")
    app.until(partial(dot_says, app, "Measure the wall", "unread"), "it ended out of sight")
    assert "running" in dot(app, "Cut the boards")
    app.click_row(app.window.sidebar.list, "Measure the wall")
    app.until_reply("Measure the wall: this is done.")
    app.until(lambda: "unread" not in dot(app, "Measure the wall"), "it was seen")
    for goal in ("Cut the boards", "Glue the parts"):
        server.free(gates[goal])
        app.until(partial(dot_says, app, goal, "unread"), f"{goal} ended out of sight")
    app.settle()
