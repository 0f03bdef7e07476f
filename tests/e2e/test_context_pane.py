"""Requests shown in the context pane equal those the server received; pins, undone compactions, three workflows at
once.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QListWidget, QPlainTextEdit, QWidget

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rows
from tests.e2e.scripted_model_server import ModelServer, calculate, calls, config, held_reply, hire, spawn
from tests.helpers.servers.scripted_http_server import Call, Reply

LONG = "plank " * 700
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


def read(id: str) -> Any:
    """A call with a long result; the server counts no tokens, so the program uses its own estimate."""
    return calls(Call("ReportTool", {"operation": "read", "name": "plan"}, id=id), usage=None)


def results(body: dict[str, Any]) -> list[bool]:
    """For each result of a read report in a request, whether it is complete."""
    results_text = [str(message["content"]) for message in body["messages"] if message["role"] == "tool"]
    return [LONG.strip() in text for text in results_text if "plank" in text]


def pick_row(app: AppDriver, text: str, last: bool = True) -> None:
    """Select the last, or first, row of the request's parts whose text begins like this."""
    items = app.find("context-items", QListWidget)
    found = app.until(
        lambda: [row for row, line in enumerate(rows(items)) if line.startswith(text)], f"a row begins with {text!r}"
    )
    items.setCurrentRow(found[-1 if last else 0])


def answer(text: str) -> Reply:
    return Reply(text=text, usage=None)


def test_a_pinned_message_survives_compaction_and_a_compaction_is_undone(
    open_app: OpenApp, server: ModelServer
) -> None:
    # The context window holds the instructions, the tools, the written report and three readings of it (some 7,250
    # tokens), but not four (8,600).
    app = open_alone(open_app, server, window=9_368, max_tokens=1_024, tools=("ReportTool", "CalculatorTool"))
    write = Call("ReportTool", {"operation": "write", "name": "plan", "content": LONG}, id="w1")
    server.script(GOAL, calls(write, usage=None), read("r1"), answer("Read."))
    server.script(GOAL, read("r2"), read("r3"), read("r4"), answer("Read again."), answer("Everything is here."))
    app.send(GOAL)
    app.until_reply("Read.")
    app.wait_done()
    pane: Any = show_context(app)
    pick_row(app, "Result of “Reports”")
    app.click("context-pin")
    app.until(lambda: any(item.pinned for item in pane.request.items), "it is pinned")
    app.send(NEXT)
    app.until_reply("Read again.")
    app.wait_done()
    before = server.requests(GOAL)[-1]
    assert results(before) == [True, False, False, True], "the pinned result stayed complete, newer ones were shortened"
    app.until(lambda: pane.request.left_out, "the newest request tells what was left out")
    app.click("context-tab-left-out")
    pick_row(app, "Tool results shortened")
    assert LONG.strip()[:200] in app.find("context-details", QPlainTextEdit).toPlainText()
    app.click("context-undo")
    app.until(lambda: pane.request.left_out and pane.request.left_out[0].undone, "it is undone")
    assert "undone" in rows(app.find("context-items", QListWidget))[0]
    app.engine(lambda a: a.models.edit("server", "test-model", context_window=32_000))
    app.send("Is it all there?")
    app.until_reply("Everything is here.")
    app.wait_done()
    assert results(server.requests(GOAL)[-1]) == [True, True, True, True]
    app.until(
        lambda: as_shown(shown_request(app)) == as_received(server.requests(GOAL)[-1]),
        "the pane shows the newest turn",
    )


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
