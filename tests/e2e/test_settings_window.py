"""The settings: rows are found by their words, a deletion is confirmed in a sheet, a renamed provider still answers."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QListWidget, QPushButton, QWidget

from atelier_desk.desktop.settings.window import SettingsWindow
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_model_server import MODEL, PROVIDER, ModelServer, config, hire


def opened(app: AppDriver, page: str) -> Any:
    app.window.show_settings(page)
    window = app.find("settings-window", SettingsWindow)
    window.resize(1000, 900)
    app.settle()
    return window


@pytest.mark.parametrize(("language", "words"), [("english", "inactivity"), ("french", "délai d'inactivité")])
def test_a_row_is_found_by_its_words_and_a_change_is_stored_at_once(
    open_app: OpenApp, language: str, words: str
) -> None:
    app = open_app()
    app.action(f"language-{language}")
    window = opened(app, "providers")
    window.search.setText(words)
    app.press(window.search, Qt.Key.Key_Return)
    app.until(lambda: window.current == "general", "the page with the row is shown")
    field: Any = app.find("inactivity", within=window)
    app.until(lambda: not field.visibleRegion().isEmpty(), "the row is in sight")
    before = app.engine(lambda a: a.settings.get())
    field.setFocus()
    app.press(field, Qt.Key.Key_Up)
    app.press(field, Qt.Key.Key_Tab)
    app.until(lambda: app.engine(lambda a: a.settings.get()) != before, "it is stored without another button")


def test_deleting_a_provider_is_confirmed_in_a_sheet_that_names_it(open_app: OpenApp, server: ModelServer) -> None:
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada")))
    app.engine(lambda a: a.providers.set_key(PROVIDER, "sk-1"))
    window = opened(app, "providers")
    app.click_row(app.find("provider-list", QListWidget, window), PROVIDER)
    app.click(app.find("provider-test", within=window))
    result = app.until_text("busy-text", "Works")
    window.show_page("shortcuts")
    app.settle()
    window.show_page("providers")
    app.settle()
    assert not result.isVisible(), "the result went with what it was about"
    app.click(app.find("provider-remove", within=window))
    sheet = app.find("confirm", QWidget)
    assert window.isAncestorOf(sheet)
    assert not sheet.isWindow()
    assert f"Delete {PROVIDER}?" in rendered(sheet)
    assert app.find("confirm-yes", QPushButton).text() == "Delete"
    app.press(sheet, Qt.Key.Key_Escape)
    app.until_hidden("confirm")
    assert PROVIDER in [each.name for each in app.engine(lambda a: a.providers.list())]


def test_a_renamed_provider_still_answers_also_in_quick_ask(open_app: OpenApp, server: ModelServer) -> None:
    server.models(MODEL, "big-model")
    server.script("First", "One.")
    server.script("Second", "Two.")
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada")))
    window = opened(app, "providers")
    app.click_row(app.find("provider-list", QListWidget, window), PROVIDER)
    app.find("provider-name", QLineEdit).clear()
    app.type("provider-name", "Home")
    app.click("provider-save")
    app.until(lambda: "Home" in [each.name for each in app.engine(lambda a: a.providers.list())], "it is renamed")
    window.close()
    app.settle()
    app.window.chat.header.models.chosen.emit("Home/big-model")
    app.send("First")
    app.until_reply("One.")
    app.wait_done()
    app.action("quick-ask")
    quick = app.window._quick
    assert quick is not None
    assert "Ada · big-model" in rendered(quick)
    app.type(quick.field, "Second")
    app.press(quick.field, Qt.Key.Key_Return)
    app.until(lambda: "Two." in rendered(quick), "the small window shows the answer")
    quick.close()
    app.wait_done()
    assert [body["model"] for key in ("First", "Second") for body in server.requests(key)] == ["big-model"] * 2
