"""A prompt from start to end: written in the settings, chosen with / in the composer, filled in, sent, deleted,
restored.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QListWidget, QPlainTextEdit, QPushButton

from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.widgets.search_list import SearchList
from tests.e2e.conftest import OpenDesk


def test_a_prompt_from_the_settings_to_the_model_and_back(open_desk: OpenDesk) -> None:
    desk = open_desk(["Salut Ann !"])
    desk.action("settings")
    settings = desk.find("settings-window", SettingsWindow)
    settings.show_page("prompts")
    desk.click(desk.find("prompt-new", QPushButton))
    desk.type(desk.find("prompt-name", QLineEdit), "greet")
    desk.find("prompt-text", QPlainTextEdit).setPlainText("Greet {{who}}\nin {{language=French}}.")
    desk.click(desk.find("prompt-save", QPushButton))
    rows = desk.find("prompt-list", QListWidget)
    desk.until(lambda: rows.count() == 1 and rows.item(0).text() == "/greet", "the prompt is stored")

    field = desk.find("chat-input", QPlainTextEdit)
    desk.window.activateWindow()
    field.setFocus()
    desk.until(field.hasFocus, "the composer has the keyboard")
    desk.type(field, "/gre")
    completion = desk.find("completion-list", SearchList)
    desk.until(lambda: completion.isVisible() and len(completion.lines()) == 1, "the prompt is offered")
    desk.qtbot.keyClick(field, Qt.Key.Key_Return)
    who = desk.find("variable-0", QPlainTextEdit)
    desk.type(who, "Ann")
    desk.qtbot.keyClick(who, Qt.Key.Key_Return)
    desk.until(lambda: field.toPlainText() == "Greet Ann\nin French.", "the text is in the composer")
    assert desk.model is not None
    assert desk.model.requests == [], "nothing is sent before the person says so"
    desk.qtbot.keyClick(field, Qt.Key.Key_Return)
    desk.last_reply("Salut Ann !")
    assert desk.model.requests[0].messages[-1].content == "Greet Ann\nin French."

    settings.activateWindow()
    desk.until(settings.isActiveWindow, "the settings have the keyboard")
    desk.click(desk.find("prompt-delete", QPushButton))
    desk.until(lambda: rows.count() == 0, "the prompt is deleted")
    desk.press(settings, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    desk.until(lambda: rows.count() == 1, "the prompt is back")
