"""A prompt from start to end: written in the settings, chosen with / in the composer, filled in, sent, deleted,
restored.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QListWidget, QPlainTextEdit, QPushButton

from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.widgets.search_result_list import SearchList
from tests.e2e.conftest import OpenApp


def test_a_prompt_from_the_settings_to_the_model_and_back(open_app: OpenApp) -> None:
    app = open_app(["Salut Ann !"])
    app.action("settings")
    settings = app.find("settings-window", SettingsWindow)
    settings.show_page("prompts")
    app.click(app.find("prompt-new", QPushButton))
    app.type(app.find("prompt-name", QLineEdit), "greet")
    app.find("prompt-text", QPlainTextEdit).setPlainText("Greet {{who}}\nin {{language=French}}.")
    app.click(app.find("prompt-save", QPushButton))
    rows = app.find("prompt-list", QListWidget)
    app.until(lambda: rows.count() == 1 and rows.item(0).text() == "/greet", "the prompt is stored")

    field = app.find("chat-input", QPlainTextEdit)
    app.window.activateWindow()
    field.setFocus()
    app.until(field.hasFocus, "the composer has the keyboard")
    app.type(field, "/gre")
    completion = app.find("completion-list", SearchList)
    app.until(lambda: completion.isVisible() and len(completion.lines()) == 1, "the prompt is offered")
    app.qtbot.keyClick(field, Qt.Key.Key_Return)
    variable = app.find("variable-0", QPlainTextEdit)
    app.type(variable, "Ann")
    app.qtbot.keyClick(variable, Qt.Key.Key_Return)
    app.until(lambda: field.toPlainText() == "Greet Ann\nin French.", "the text is in the composer")
    assert app.model is not None
    assert app.model.requests == [], "nothing is sent before the person sends it"
    app.qtbot.keyClick(field, Qt.Key.Key_Return)
    app.until_reply("Salut Ann !")
    assert app.model.requests[0].messages[-1].content == "Greet Ann\nin French."

    settings.activateWindow()
    app.until(settings.isActiveWindow, "the settings have the keyboard")
    app.click(app.find("prompt-delete", QPushButton))
    app.until(lambda: rows.count() == 0, "the prompt is deleted")
    app.press(settings, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    app.until(lambda: rows.count() == 1, "the prompt is back")
