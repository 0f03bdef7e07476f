"""From a key to an answer: the guide asks for service, key and model, and preserves input until it is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton

from atelier_desk.llm.network import local_server_detection
from atelier_desk.llm.provider_type_registry import provider_types
from tests.cli.server_thread import serving
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rendered
from tests.e2e.scripted_model_server import MODEL, ModelServer
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.scripted_http_server import Reply


def test_the_guide_reopens_with_its_draft_and_replaces_the_starter_model_of_all_agents(
    open_app: OpenApp, server: ModelServer
) -> None:
    server.script("Say hello", "Hello.")
    server.script("Good morning", "Good morning to you.")
    app = open_app(None)
    app.action("first-steps")
    app.until(lambda: app.find_all("first-start-next"), "it is open")
    app.click("first-start-next")
    app.until_text("first-start", "2 of 3")
    app.click("choice-other")
    address = server.provider.base_url.removeprefix("http://")
    app.type("other-url", address)
    app.press("first-start", Qt.Key.Key_Escape)
    app.until_hidden("first-start")
    app.click("better-models")
    assert app.find("other-url", QLineEdit).text() == address
    app.click("model-test")
    app.until_text("busy-text", f"{MODEL} answered")
    app.click("first-start-next")
    app.until_text("first-start", "3 of 3")
    app.click("first-start-next")
    app.until_hidden("first-start")
    provider = app.engine(lambda a: a.providers.list())[-1]
    assert provider.base_url == server.provider.base_url, "the scheme was added"
    agents = app.engine(lambda a: a.agents.list())
    assert {(each.config.provider, each.config.model) for each in agents} == {(provider.name, MODEL)}
    app.send("Good morning")
    app.until_reply("Good morning to you.")
    app.wait_done()


def test_an_added_provider_is_used_in_one_click_and_new_workflows_use_the_picked_model(
    open_app: OpenApp, server: ModelServer
) -> None:
    server.models(MODEL, "big-model")
    server.script("First", "One.")
    server.script("Second", "Two.")
    app = open_app(None)
    app.action("settings")
    settings: Any = app.find("settings-window")
    settings.resize(1000, 900)
    settings.show_page("providers")
    app.settle()
    settings.page("providers").begin("openai", "Mine", server.provider.base_url)
    app.click("provider-save")
    use = app.find("provider-use", QPushButton)
    assert use.text() == f"Use {MODEL} for Assistant and Team lead"
    app.click(use)
    app.until(lambda: not use.isVisible(), "it is used")
    app.until_text("toast", f"Model for Assistant and Team lead: {MODEL}")
    settings.close()
    app.settle()
    assert MODEL in rendered(app.find("start-agents"))
    app.window.chat.header.models.chosen.emit("Mine/big-model")
    app.send("First")
    app.until_reply("One.")
    app.wait_done()
    app.action("new-workflow")
    app.settle()
    card = next(each for each in app.find_all("agent-card") if each.isChecked())  # type: ignore[attr-defined]
    assert "big-model" in rendered(card)
    app.send("Second")
    app.until_reply("Two.")
    app.wait_done()
    assert [body["model"] for key in ("First", "Second") for body in server.requests(key)] == ["big-model"] * 2


def test_a_provider_is_saved_without_a_network_with_a_key_or_a_variable(open_app: OpenApp) -> None:
    app = open_app(None)
    for number, (field, value) in enumerate((("other-key", "sk-1"), ("other-variable", "MY_KEY")), 1):
        app.action("first-steps")
        app.click("first-start-next")
        app.until_text("first-start", "2 of 3")
        app.click("choice-other")
        app.type("other-url", f"127.0.0.1:{number}/v1")
        if field == "other-variable":
            app.click("first-key-variable")
        app.type(field, value)
        app.click("first-start-next")
        app.click("model-keep")
        app.until_text("first-start", "3 of 3")
        app.click("first-start-next")
        app.until_hidden("first-start")
    by_key, by_variable = [each for each in app.engine(lambda a: a.providers.list()) if each.kind == "openai"]
    assert (by_key.has_key, by_key.api_key_env) == (True, "")
    assert (by_variable.has_key, by_variable.api_key_env) == (False, "MY_KEY")


def test_a_running_ollama_is_offered_with_its_models_and_answers(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its embedding model was proposed, and its models were shown by their size: “8B”."""
    server = FakeOllama()
    server.installed = {"nomic-embed-text:latest": ["embedding"], "qwen3:4b": ["completion", "tools"]}
    server.script(Reply(text="Hello."), Reply(text="Good morning to you."))
    with serving(server):
        kinds = [replace(each, ports=(server.port,) if each.kind == "ollama" else ()) for each in provider_types()]
        monkeypatch.setattr(local_server_detection, "provider_types", lambda: kinds)
        app = open_app(None, first_start=True)
        app.click("first-start-next")
        app.click("choice-ollama")
        app.until_text("first-start", "1 model at")
        assert app.find("ollama-model", QComboBox).currentText() == "qwen3:4b"
        app.click("model-test")
        app.until_text("busy-text", "qwen3:4b answered")
        app.click("first-start-next")
        app.until_text("first-start", "3 of 3")
        app.click("first-start-next")
        app.until_hidden("first-start")
        app.until(lambda: "qwen3:4b" in rendered(app.find("start-agents")), "the cards name the model")
        app.send("Good morning")
        app.until_reply("Good morning to you.")
        app.wait_done()
        assert "qwen3:4b" in rendered(app.window.chat.header)
        app.close()
