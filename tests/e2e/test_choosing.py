"""A choice of model or agent persists, and the focus is in the composer: real window, real engine, loopback server."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from atelier_desk.desktop.widgets.picker import Picker
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered
from tests.e2e.wire import MODEL, ModelServer, config, held, hire

BIG = "big-model"
"""The picked model. The server names ``MODEL`` in its replies, as gateways do."""


def begin(open_desk: OpenDesk, server: ModelServer) -> Desk:
    server.models(MODEL, BIG)
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=()), config("Bea", tools=())))
    desk.until(lambda: len(model_picker(desk).choices) > 2, "the models are read")
    desk.settle()
    return desk


def model_picker(desk: Desk) -> Picker:
    return desk.find("model-select", Picker)


def pick(desk: Desk, letters: str) -> None:
    """Open the menu, move to the entry with the arrows, choose it with Enter."""
    picker = model_picker(desk)
    desk.click(picker)
    menu = picker.menu_open
    assert menu is not None
    while letters not in menu.current:
        desk.press(menu, Qt.Key.Key_Down)
    desk.press(menu, Qt.Key.Key_Return)


def asked(server: ModelServer, key: str) -> list[str]:
    return [str(body["model"]) for body in server.requests(key)]


def in_composer(desk: Desk) -> bool:
    return QApplication.focusWidget() is desk.window.chat.composer.field


def turn(desk: Desk, text: str, answer: str) -> None:
    desk.send(text)
    desk.until(lambda: answer in rendered(desk.find("chat-view")), answer)
    desk.wait_done()


def test_a_picked_model_holds_through_messages_edits_regeneration_and_a_restart(
    open_desk: OpenDesk, server: ModelServer
) -> None:
    server.script("Please", *(f"Answer {number}." for number in range(1, 8)))
    desk = begin(open_desk, server)
    pick(desk, BIG)
    desk.until(lambda: in_composer(desk), "the keyboard is in the composer after picking")
    for number, text in enumerate(("Please begin", "Continue", "And the end"), 1):
        turn(desk, text, f"Answer {number}.")
        assert model_picker(desk).full_text == BIG
    runs = desk.engine(lambda a: a.repos.runs.list(desk.workflow_id))
    desk.window.chat.host.resend_requested.emit(runs[0].id, "", "Please begin, better")
    desk.until(lambda: "Answer 4." in rendered(desk.find("chat-view")))
    desk.wait_done()
    desk.window.chat.host.regenerate_requested.emit(runs[0].id, "")
    desk.until(lambda: "Answer 5." in rendered(desk.find("chat-view")))
    desk.wait_done()
    desk.close()
    again = open_desk(None)
    again.until(
        lambda: again.all("model-select") and model_picker(again).full_text == BIG, "the picker shows what was chosen"
    )
    again.settle()
    turn(again, "Once more", "Answer 6.")
    assert asked(server, "Please") == [BIG] * 6
    pick(again, MODEL)
    turn(again, "With the other", "Answer 7.")
    assert asked(server, "Please")[-1] == MODEL


def test_messages_that_wait_are_changed_undone_and_sent(open_desk: OpenDesk, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script("Please", held("The first answer, which takes long.", gate), "To the one sent.", "To the other.")
    desk = begin(open_desk, server)
    desk.send("Please begin")
    desk.until(lambda: desk.window.chat.composer.stop.isVisible(), "the agent works")
    strip = desk.window.chat.queue.strip
    for text in ("first", "second", "third"):
        before = len(strip.rows)
        desk.send(text)
        desk.until(partial(lambda least: len(strip.rows) > least, before), text)
    assert "second" not in rendered(desk.find("chat-view"))
    desk.click(strip.rows[1].back)
    field = desk.window.chat.composer.field
    desk.until(lambda: field.toPlainText() == "second", "it is back in the composer")
    field.setPlainText("")
    desk.until(lambda: [row.waiting.content for row in strip.rows] == ["first", "third"])
    desk.click(strip.rows[0].edit)
    editor = desk.find("queued-editor", QPlainTextEdit)
    desk.settle()
    assert editor.hasFocus(), "what is typed goes into the message"
    desk.type(editor, ", better")
    desk.press(editor, Qt.Key.Key_Return)
    desk.until(lambda: strip.rows[0].waiting.content == "first, better")
    desk.click(strip.rows[1].up)
    desk.until(lambda: [row.waiting.content for row in strip.rows] == ["third", "first, better"])
    desk.click(desk.window.chat.composer.stop)
    desk.until(lambda: strip.send.isVisible(), "it says that they were not sent")
    server.free(gate)
    desk.close()
    again = open_desk(None)
    strip = again.window.chat.queue.strip
    again.until(
        lambda: [row.waiting.content for row in strip.rows] == ["third", "first, better"],
        "they are there after a restart",
    )
    again.click(strip.send)
    again.until(lambda: "To the other." in rendered(again.find("chat-view")), "both are answered")
    again.wait_done()
    assert strip.isHidden()
    last = [last_said(body) for body in server.requests("Please")[1:]]
    assert [text.split("\n")[-1] for text in last] == ["third", "first, better"]


def last_said(body: dict[str, Any]) -> str:
    return next(str(message["content"]) for message in reversed(body["messages"]) if message["role"] == "user")


def test_the_keyboard_is_in_the_composer_whatever_was_closed(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script("Please", "Answer 1.")
    desk = begin(open_desk, server)
    desk.until(lambda: in_composer(desk), "after the start")
    turn(desk, "Please begin", "Answer 1.")
    assert in_composer(desk)

    def back_after(what: str) -> None:
        desk.until(lambda: in_composer(desk), f"after {what}")

    desk.action("find")
    desk.until(lambda: not in_composer(desk))
    desk.press(desk.window.chat.find_bar.field, Qt.Key.Key_Escape)
    back_after("find")
    desk.action("command-palette")
    palette: Any = desk.window._palette
    desk.press(palette.field, Qt.Key.Key_Escape)
    back_after("the palette")
    desk.window.chat.open_settings()
    dialog = desk.find("workflow-settings")
    desk.press(dialog, Qt.Key.Key_Escape)
    back_after("a dialog")
    desk.action("settings")
    settings = desk.find("settings-window")
    desk.until(settings.isActiveWindow)
    settings.close()
    desk.window.activateWindow()  # as a window manager does
    back_after("the settings")
    desk.window.sidebar.search.setFocus()
    desk.press(desk.window.sidebar.search, Qt.Key.Key_Escape)
    back_after("Esc in the search")
    desk.action("new-workflow")
    back_after("a new workflow")
    desk.click_row(desk.window.sidebar.list, "Please begin")
    back_after("choosing a workflow")
    desk.click(desk.find("toggle-rail"))
    assert in_composer(desk), "a click on a button leaves it there"


def test_what_is_set_for_the_workflow_reaches_the_server(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script("Please", "Answer 1.")
    desk = begin(open_desk, server)
    desk.action("workflow-settings")
    dialog = desk.find("workflow-settings")
    desk.type(desk.find("workflow-instructions", QPlainTextEdit, dialog), "Answer in verse.")
    desk.click(desk.find("form-submit", within=dialog))
    desk.gone("workflow-settings")
    turn(desk, "Please begin", "Answer 1.")
    system = next(
        message["content"] for message in server.requests("Please")[0]["messages"] if message["role"] == "system"
    )
    assert "Answer in verse." in str(system)
    assert desk.engine(lambda a: a.workflows.get(desk.workflow_id)).choices.instructions == "Answer in verse."


def test_a_model_nobody_knows_answers_the_built_in_agent_at_once(open_desk: OpenDesk, server: ModelServer) -> None:
    """The first steps of a new user: connect a server, pick one of its models, write. Its context length is unknown."""
    server.models(BIG)
    server.script("Please", "Answer 1.")
    desk = open_desk(None)
    desk.engine(lambda a: a.providers.save(server.provider))
    desk.until(lambda: any(BIG in row.text for row in model_picker(desk).choices), "the models are read")
    desk.settle()
    pick(desk, BIG)
    desk.send("Please begin")
    desk.until(
        lambda: "Answer 1." in rendered(desk.find("chat-view")), "it is answered, and not refused for want of room"
    )
    desk.wait_done()
