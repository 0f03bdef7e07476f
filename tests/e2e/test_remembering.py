"""A memory an agent proposes is approved in the card of its call; until then nothing claims it was remembered."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QAbstractButton, QWidget

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import child, rendered
from tests.e2e.wire import ModelServer, calls, config, held, hire, told
from tests.support.servers.base import Call

GOAL = "Remember that I like tea"
ADD = {"operation": "add", "type": "user_pref", "content": "The user likes tea."}


def test_a_memory_is_asked_about_at_once_and_kept_with_one_click(open_desk: OpenDesk, server: ModelServer) -> None:
    thinking = asyncio.Event()
    server.script(GOAL, calls(Call("MemoryTool", ADD, id="m1")), held("The card asks you.", thinking))
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=("MemoryTool",))))
    desk.settle()
    desk.send(GOAL)
    card = desk.until(
        lambda: [each for each in desk.window.chat.findChildren(QWidget, "remembered") if each.isVisible()], "the card"
    )[0]
    chat = desk.window.chat
    assert "1 thing to remember?" in rendered(card)
    assert "Suggested to remember" in rendered(chat)
    assert "Remembered" not in rendered(chat)
    assert "remembered" not in rendered(chat).replace("to remember", "")
    desk.until(lambda: len(server.requests(GOAL)) == 2, "the agent goes on")
    assert "Do not say that you remembered it" in told(server.requests(GOAL)[1])
    desk.click(child(card, QAbstractButton, "memory-keep"))
    desk.until(lambda: "1 thing remembered" in rendered(card), "it is kept while the agent still works")
    [kept] = desk.engine(lambda a: a.memories.list())
    assert (kept.content, kept.proposed, kept.workflow_id) == ("The user likes tea.", False, None)
    server.free(thinking)
    desk.last_reply("The card asks you.")
    desk.wait_done()
    cards = [each for each in chat.findChildren(QWidget, "remembered") if each.isVisible()]
    assert cards == [card], "it stays where it was"


def test_only_here_holds_in_this_workflow(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(GOAL, calls(Call("MemoryTool", ADD, id="m1")), "The card asks you.")
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=("MemoryTool",))))
    desk.settle()
    desk.send(GOAL)
    desk.wait_done()
    card = desk.until(
        lambda: [each for each in desk.window.chat.findChildren(QWidget, "remembered") if each.isVisible()], "the card"
    )[0]
    desk.click(child(card, QAbstractButton, "memory-keep-here"))
    desk.until(lambda: "1 thing remembered" in rendered(card), "it is kept")
    assert desk.engine(lambda a: a.memories.list()) == []
    assert [each.proposed for each in desk.engine(lambda a: a.memories.list(desk.workflow_id))] == [False]
