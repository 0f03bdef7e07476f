"""A choice of model or agent persists, and the focus is in the composer: real window, real engine, loopback server."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from atelier_desk.desktop.widgets.picker import Picker
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_model_server import MODEL, ModelServer, config, held_reply, hire

BIG = "big-model"
"""The picked model. The server names ``MODEL`` in its replies, as gateways do."""


def begin(open_app: OpenApp, server: ModelServer) -> AppDriver:
    server.models(MODEL, BIG)
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=()), config("Bea", tools=())))
    app.until(lambda: len(model_picker(app).choices) > 2, "the models are read")
    app.settle()
    return app


def model_picker(app: AppDriver) -> Picker:
    return app.find("model-select", Picker)


def pick(app: AppDriver, letters: str) -> None:
    """Open the menu, move to the entry with the arrows, choose it with Enter."""
    picker = model_picker(app)
    app.click(picker)
    menu = picker.menu_open
    assert menu is not None
    while letters not in menu.current:
        app.press(menu, Qt.Key.Key_Down)
    app.press(menu, Qt.Key.Key_Return)


def requested_models(server: ModelServer, key: str) -> list[str]:
    return [str(body["model"]) for body in server.requests(key)]


def in_composer(app: AppDriver) -> bool:
    return QApplication.focusWidget() is app.window.chat.composer.field


def turn(app: AppDriver, text: str, answer: str) -> None:
    app.send(text)
    app.until(lambda: answer in rendered(app.find("chat-view")), answer)
    app.wait_done()


def test_a_picked_model_persists_over_messages_edits_regeneration_and_a_restart(
    open_app: OpenApp, server: ModelServer
) -> None:
    server.script("Please", *(f"Answer {number}." for number in range(1, 8)))
    app = begin(open_app, server)
    pick(app, BIG)
    app.until(lambda: in_composer(app), "the keyboard is in the composer after picking")
    for number, text in enumerate(("Please begin", "Continue", "And the end"), 1):
        turn(app, text, f"Answer {number}.")
        assert model_picker(app).full_text == BIG
    runs = app.engine(lambda a: a.repos.runs.list(app.workflow_id))
    app.window.chat.host.resend_requested.emit(runs[0].id, "", "Please begin, better")
    app.until(lambda: "Answer 4." in rendered(app.find("chat-view")))
    app.wait_done()
    app.window.chat.host.regenerate_requested.emit(runs[0].id, "")
    app.until(lambda: "Answer 5." in rendered(app.find("chat-view")))
    app.wait_done()
    app.close()
    again = open_app(None)
    again.until(
        lambda: again.find_all("model-select") and model_picker(again).full_text == BIG, "the picker shows the choice"
    )
    again.settle()
    turn(again, "Once more", "Answer 6.")
    assert requested_models(server, "Please") == [BIG] * 6
    pick(again, MODEL)
    turn(again, "With the other", "Answer 7.")
    assert requested_models(server, "Please")[-1] == MODEL


def test_queued_messages_are_edited_withdrawn_moved_and_sent(open_app: OpenApp, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script(
        "Please", held_reply("The first answer, which takes long.", gate), "To the one sent.", "To the other."
    )
    app = begin(open_app, server)
    app.send("Please begin")
    app.until(lambda: app.window.chat.composer.stop.isVisible(), "the agent works")
    strip = app.window.chat.queue.strip
    for text in ("first", "second", "third"):
        before = len(strip.rows)
        app.send(text)
        app.until(partial(lambda least: len(strip.rows) > least, before), text)
    assert "second" not in rendered(app.find("chat-view"))
    app.click(strip.rows[1].back)
    field = app.window.chat.composer.field
    app.until(lambda: field.toPlainText() == "second", "it is back in the composer")
    field.setPlainText("")
    app.until(lambda: [row.waiting.content for row in strip.rows] == ["first", "third"])
    app.click(strip.rows[0].edit)
    editor = app.find("queued-editor", QPlainTextEdit)
    app.settle()
    assert editor.hasFocus(), "the editor has the focus"
    app.type(editor, ", better")
    app.press(editor, Qt.Key.Key_Return)
    app.until(lambda: strip.rows[0].waiting.content == "first, better")
    app.click(strip.rows[1].up)
    app.until(lambda: [row.waiting.content for row in strip.rows] == ["third", "first, better"])
    app.click(app.window.chat.composer.stop)
    app.until(lambda: strip.send.isVisible(), "the unsent messages can be sent")
    server.free(gate)
    app.close()
    again = open_app(None)
    strip = again.window.chat.queue.strip
    again.until(
        lambda: [row.waiting.content for row in strip.rows] == ["third", "first, better"],
        "they are restored after a restart",
    )
    again.click(strip.send)
    again.until(lambda: "To the other." in rendered(again.find("chat-view")), "both are answered")
    again.wait_done()
    assert strip.isHidden()
    last = [last_user_message(body) for body in server.requests("Please")[1:]]
    assert [text.split("\n")[-1] for text in last] == ["third", "first, better"]


def last_user_message(body: dict[str, Any]) -> str:
    return next(str(message["content"]) for message in reversed(body["messages"]) if message["role"] == "user")


def test_the_composer_has_the_focus_after_anything_is_closed(open_app: OpenApp, server: ModelServer) -> None:
    server.script("Please", "Answer 1.")
    app = begin(open_app, server)
    app.until(lambda: in_composer(app), "after the start")
    turn(app, "Please begin", "Answer 1.")
    assert in_composer(app)

    def back_after(closed: str) -> None:
        app.until(lambda: in_composer(app), f"after {closed}")

    app.action("find")
    app.until(lambda: not in_composer(app))
    app.press(app.window.chat.find_bar.field, Qt.Key.Key_Escape)
    back_after("find")
    app.action("command-palette")
    palette: Any = app.window._palette
    app.press(palette.field, Qt.Key.Key_Escape)
    back_after("the palette")
    app.window.chat.open_settings()
    dialog = app.find("workflow-settings")
    app.press(dialog, Qt.Key.Key_Escape)
    back_after("a dialog")
    app.action("settings")
    settings = app.find("settings-window")
    app.until(settings.isActiveWindow)
    settings.close()
    app.window.activateWindow()  # as a window manager does
    back_after("the settings")
    app.window.sidebar.search.setFocus()
    app.press(app.window.sidebar.search, Qt.Key.Key_Escape)
    back_after("Esc in the search")
    app.action("new-workflow")
    back_after("a new workflow")
    app.click_row(app.window.sidebar.list, "Please begin")
    back_after("choosing a workflow")
    app.click(app.find("toggle-rail"))
    assert in_composer(app), "a click on a button does not move the focus"


def test_workflow_settings_reach_the_server(open_app: OpenApp, server: ModelServer) -> None:
    server.script("Please", "Answer 1.")
    app = begin(open_app, server)
    app.action("workflow-settings")
    dialog = app.find("workflow-settings")
    app.type(app.find("workflow-instructions", QPlainTextEdit, dialog), "Answer in verse.")
    app.click(app.find("form-submit", within=dialog))
    app.until_hidden("workflow-settings")
    turn(app, "Please begin", "Answer 1.")
    system = next(
        message["content"] for message in server.requests("Please")[0]["messages"] if message["role"] == "system"
    )
    assert "Answer in verse." in str(system)
    assert app.engine(lambda a: a.workflows.get(app.workflow_id)).choices.instructions == "Answer in verse."


def test_an_unknown_model_works_with_the_built_in_agent_at_once(open_app: OpenApp, server: ModelServer) -> None:
    """The first steps of a new user: connect a server, pick one of its models, write. Its context length is unknown."""
    server.models(BIG)
    server.script("Please", "Answer 1.")
    app = open_app(None)
    app.engine(lambda a: a.providers.save(server.provider))
    app.until(lambda: any(BIG in row.text for row in model_picker(app).choices), "the models are read")
    app.settle()
    pick(app, BIG)
    app.send("Please begin")
    app.until(
        lambda: "Answer 1." in rendered(app.find("chat-view")), "it is answered, and not refused for want of room"
    )
    app.wait_done()
