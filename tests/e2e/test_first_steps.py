"""From a key to an answer: the guide asks for service, key and model, and preserves input until it is stored."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import rendered
from tests.e2e.wire import MODEL, ModelServer


def test_first_steps_come_again_with_the_draft_and_give_a_model_to_all_who_had_the_starter(
    open_desk: OpenDesk, server: ModelServer
) -> None:
    server.script("Say hello", "Hello.")
    server.script("Good morning", "Good morning to you.")
    desk = open_desk(None)
    desk.action("first-steps")
    desk.until(lambda: desk.all("first-start-next"), "it is open")
    desk.click("first-start-next")
    desk.until_shown("first-start", "2 of 3")
    desk.click("choice-other")
    address = server.provider.base_url.removeprefix("http://")
    desk.type("other-url", address)
    desk.press("first-start", Qt.Key.Key_Escape)
    desk.gone("first-start")
    desk.click("better-models")
    assert desk.find("other-url", QLineEdit).text() == address
    desk.click("model-test")
    desk.until_shown("busy-text", f"{MODEL} answered")
    desk.click("first-start-next")
    desk.until_shown("first-start", "3 of 3")
    desk.click("first-start-next")
    desk.gone("first-start")
    provider = desk.engine(lambda a: a.providers.list())[-1]
    assert provider.base_url == server.provider.base_url, "the scheme was added"
    agents = desk.engine(lambda a: a.agents.list())
    assert {(each.config.provider, each.config.model) for each in agents} == {(provider.name, MODEL)}
    desk.send("Good morning")
    desk.last_reply("Good morning to you.")
    desk.wait_done()


def test_a_provider_added_in_the_settings_is_used_in_one_click_and_new_workflows_continue_with_what_was_picked(
    open_desk: OpenDesk, server: ModelServer
) -> None:
    server.models(MODEL, "big-model")
    server.script("First", "One.")
    server.script("Second", "Two.")
    desk = open_desk(None)
    desk.action("settings")
    settings: Any = desk.find("settings-window")
    settings.resize(1000, 900)
    settings.show_page("providers")
    desk.settle()
    settings.page("providers").begin("openai", "Mine", server.provider.base_url)
    desk.click("provider-save")
    use = desk.find("provider-use", QPushButton)
    assert use.text() == f"Use {MODEL} for Assistant and Team lead"
    desk.click(use)
    desk.until(lambda: not use.isVisible(), "it is used")
    settings.close()
    desk.settle()
    assert MODEL in rendered(desk.find("start-agents"))
    desk.window.chat.header.models.chosen.emit("Mine/big-model")
    desk.send("First")
    desk.last_reply("One.")
    desk.wait_done()
    desk.action("new-workflow")
    desk.settle()
    card = next(each for each in desk.all("agent-card") if each.isChecked())  # type: ignore[attr-defined]
    assert "big-model" in rendered(card)
    desk.send("Second")
    desk.last_reply("Two.")
    desk.wait_done()
    assert [body["model"] for key in ("First", "Second") for body in server.requests(key)] == ["big-model"] * 2
