"""From a key to an answer: the guide takes a service, a key and a model, and what was entered stays until it is stored."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from tests.e2e.conftest import OpenDesk
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
