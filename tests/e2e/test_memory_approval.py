"""A memory an agent proposes is approved in the card of its call; until then nothing claims it was remembered."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QAbstractButton, QWidget

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rendered
from tests.e2e.scripted_model_server import ModelServer, calls, config, held_reply, hire, newest_message
from tests.helpers.child_widgets import child
from tests.helpers.servers.scripted_http_server import Call

GOAL = "Remember that I like tea"
ADD = {"operation": "add", "type": "user_pref", "content": "The user likes tea."}


def test_a_proposed_memory_is_approved_at_once_with_one_click(open_app: OpenApp, server: ModelServer) -> None:
    thinking = asyncio.Event()
    server.script(GOAL, calls(Call("MemoryTool", ADD, id="m1")), held_reply("The card asks you.", thinking))
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=("MemoryTool",))))
    app.settle()
    app.send(GOAL)
    card = app.until(
        lambda: [each for each in app.window.chat.findChildren(QWidget, "remembered") if each.isVisible()], "the card"
    )[0]
    chat = app.window.chat
    assert "1 proposed memory" in rendered(card)
    assert "Proposed a memory" in rendered(chat)
    assert "Remembered" not in rendered(chat)
    assert "remembered" not in rendered(chat).replace("to remember", "")
    app.until(lambda: len(server.requests(GOAL)) == 2, "the agent continues")
    assert "Do not say that you remembered it" in newest_message(server.requests(GOAL)[1])
    app.click(child(card, QAbstractButton, "memory-keep"))
    app.until(lambda: "1 memory saved" in rendered(card), "it is stored while the agent still works")
    [memory] = app.engine(lambda a: a.memories.list())
    assert (memory.content, memory.proposed, memory.workflow_id) == ("The user likes tea.", False, None)
    server.free(thinking)
    app.until_reply("The card asks you.")
    app.wait_done()
    cards = [each for each in chat.findChildren(QWidget, "remembered") if each.isVisible()]
    assert cards == [card], "it stays where it was"


def test_a_memory_can_be_limited_to_its_workflow(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, calls(Call("MemoryTool", ADD, id="m1")), "The card asks you.")
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=("MemoryTool",))))
    app.settle()
    app.send(GOAL)
    app.wait_done()
    card = app.until(
        lambda: [each for each in app.window.chat.findChildren(QWidget, "remembered") if each.isVisible()], "the card"
    )[0]
    app.click(child(card, QAbstractButton, "memory-keep-here"))
    app.until(lambda: "1 memory saved" in rendered(card), "it is stored")
    assert app.engine(lambda a: a.memories.list()) == []
    assert [each.proposed for each in app.engine(lambda a: a.memories.list(app.workflow_id))] == [False]
