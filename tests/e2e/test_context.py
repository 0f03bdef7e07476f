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

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rows
from tests.e2e.wire import ModelServer, calculate, calls, config, held, hire, spawn
from tests.support.servers.base import Call, Reply

LONG = "plank " * 700
GOAL, CHECK, NEXT = "Build the shelf", "Check the figures", "And now the door"


def open_alone(open_desk: OpenDesk, server: ModelServer, window: int = 32_000, **lead: Any) -> Desk:
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", **lead), window=window))
    desk.settle()
    return desk


def show_context(desk: Desk) -> QWidget:
    desk.action("show-context")
    pane = desk.find("context-pane")
    desk.until(lambda: pane.requests and pane.request is not None, "a request is shown")  # type: ignore[attr-defined]
    desk.settle()
    return pane


def choose_request(desk: Desk, number: int) -> None:
    """Select the request with this position in the run, from 0."""
    requests = desk.find("context-request-list", QListWidget)
    requests.setCurrentRow(number)
    pane: Any = desk.find("context-pane")
    desk.until(lambda: pane.request.summary.seq == pane.requests[number].seq, "the request is shown")
    desk.settle()


def shown_request(desk: Desk) -> dict[str, Any]:
    """The request as the pane's Copy gives it."""
    desk.click("context-copy")
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


def test_what_is_shown_is_what_the_server_received(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK), text="I have it checked."), "All checked.", "The door too.")
    server.script(CHECK, calls(calculate("c1", "12*7")), "84 is right.")
    desk = open_alone(open_desk, server)
    desk.send(GOAL)
    desk.last_reply("All checked.")
    desk.send(NEXT)
    desk.last_reply("The door too.")
    desk.wait_done()
    pane: Any = show_context(desk)
    received = server.requests(GOAL)
    assert as_shown(shown_request(desk)) == as_received(received[2])
    desk.choose(desk.find("context-turn", QComboBox), pane.turn.turns[0].run_id)
    desk.settle()
    for number in (0, 1):
        choose_request(desk, number)
        copied = shown_request(desk)
        assert as_shown(copied) == as_received(received[number])
        assert {tool["name"]: tool["parameters"] for tool in copied["tools"]} == {
            tool["function"]["name"]: tool["function"]["parameters"] for tool in received[number]["tools"]
        }
        assert copied["temperature"] == received[number].get("temperature")
    agents = desk.find("context-agent", QComboBox)
    desk.choose(agents, next(agents.itemData(row) for row in range(agents.count()) if "Eve" in agents.itemText(row)))
    desk.settle()
    for number, body in enumerate(server.requests(CHECK)):
        choose_request(desk, number)
        assert as_shown(shown_request(desk)) == as_received(body)
    shown = sum(part.tokens for part in pane.request.parts)
    assert shown == 11, "the parts add up to what the server counted"


def read(id: str) -> Any:
    """A call with a long result; the server counts no tokens, so the program uses its own estimate."""
    return calls(Call("ReportTool", {"operation": "read", "name": "plan"}, id=id), usage=None)


def results(body: dict[str, Any]) -> list[bool]:
    """For each result of a read report in a request, whether it is complete."""
    told = [str(message["content"]) for message in body["messages"] if message["role"] == "tool"]
    return [LONG.strip() in text for text in told if "plank" in text]


def pick_row(desk: Desk, text: str, last: bool = True) -> None:
    """Select the last, or first, row of the request's parts whose text begins like this."""
    items = desk.find("context-items", QListWidget)
    found = desk.until(
        lambda: [row for row, words in enumerate(rows(items)) if words.startswith(text)], f"a row begins with {text!r}"
    )
    items.setCurrentRow(found[-1 if last else 0])


def say(text: str) -> Reply:
    return Reply(text=text, usage=None)


def test_a_pin_holds_and_a_compaction_is_undone(open_desk: OpenDesk, server: ModelServer) -> None:
    # The context window holds the instructions, the tools, the written report and three readings of it (some 7,250
    # tokens), but not four (8,600).
    desk = open_alone(open_desk, server, window=9_368, max_tokens=1_024, tools=("ReportTool", "CalculatorTool"))
    write = Call("ReportTool", {"operation": "write", "name": "plan", "content": LONG}, id="w1")
    server.script(GOAL, calls(write, usage=None), read("r1"), say("Read."))
    server.script(GOAL, read("r2"), read("r3"), read("r4"), say("Read again."), say("Everything is here."))
    desk.send(GOAL)
    desk.last_reply("Read.")
    desk.wait_done()
    pane: Any = show_context(desk)
    pick_row(desk, "Result of Reports")
    desk.click("context-pin")
    desk.until(lambda: any(item.pinned for item in pane.request.items), "it is pinned")
    desk.send(NEXT)
    desk.last_reply("Read again.")
    desk.wait_done()
    before = server.requests(GOAL)[-1]
    assert results(before) == [True, False, False, True], "the pinned result stayed whole, newer ones were shortened"
    desk.until(lambda: pane.request.left_out, "the newest request tells what was left out")
    desk.click("context-tab-left-out")
    pick_row(desk, "Tool results shortened")
    assert LONG.strip()[:200] in desk.find("context-details", QPlainTextEdit).toPlainText()
    desk.click("context-undo")
    desk.until(lambda: pane.request.left_out and pane.request.left_out[0].undone, "it is undone")
    assert "undone" in rows(desk.find("context-items", QListWidget))[0]
    desk.engine(lambda a: a.models.edit("server", "test-model", context_window=32_000))
    desk.send("Is it all there?")
    desk.last_reply("Everything is here.")
    desk.wait_done()
    assert results(server.requests(GOAL)[-1]) == [True, True, True, True]
    desk.until(
        lambda: as_shown(shown_request(desk)) == as_received(server.requests(GOAL)[-1]),
        "the pane shows the newest turn",
    )


def dot(desk: Desk, name: str) -> str:
    """The state of a workflow as announced by a screen reader."""
    return str(desk.until_row("workflow-list", name))


def dot_says(desk: Desk, name: str, text: str) -> bool:
    return text in dot(desk, name)


def test_three_workflows_work_at_once(open_desk: OpenDesk, server: ModelServer) -> None:
    gates = {goal: asyncio.Event() for goal in ("Measure the wall", "Cut the boards", "Glue the parts")}
    desk = open_alone(open_desk, server)
    desk.window.activateWindow()
    desk.until(desk.window.isActiveWindow, "the window is in front")
    for goal, gate in gates.items():
        server.script(goal, held(f"{goal}: this is done.", gate))
        desk.click("new-workflow")
        desk.send(goal)
        desk.last_reply(goal[:6])
    for goal in gates:
        desk.until(partial(dot_says, desk, goal, "running"), f"{goal} has its dot")
    server.free(gates["Measure the wall"])
    desk.until_shown("toast", "“Measure the wall” is done")
    desk.until(partial(dot_says, desk, "Measure the wall", "unread"), "it ended out of sight")
    assert "running" in dot(desk, "Cut the boards")
    desk.click_row(desk.window.sidebar.list, "Measure the wall")
    desk.last_reply("Measure the wall: this is done.")
    desk.until(lambda: "unread" not in dot(desk, "Measure the wall"), "it was seen")
    for goal in ("Cut the boards", "Glue the parts"):
        server.free(gates[goal])
        desk.until(partial(dot_says, desk, goal, "unread"), f"{goal} ended out of sight")
    desk.settle()
