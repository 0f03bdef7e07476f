"""Actions on one message persist: pins over a restart, a deleted branch until Undo, another model for one answer."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QPlainTextEdit, QPushButton, QWidget

from atelier_desk.domain.model_messages import Role
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver


def choose(app: AppDriver, answer: str, name: str) -> None:
    """Choose a command in the menu of the last answer, once its turn has ended."""
    app.until_reply(answer)
    app.wait_done()
    app.settle()
    choose_of(app, app.until_reply(answer), name)


def choose_of(app: AppDriver, message_widget: QWidget, name: str) -> None:
    """Choose a command in a message's menu, opened by the Menu key."""
    message_widget.setFocus()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), message_widget.mapToGlobal(QPoint(5, 5)))
    QApplication.sendEvent(message_widget, event)
    menu = app.until(lambda: next(iter(message_widget.findChildren(QMenu, "message-menu")), None), "the menu is open")
    assert menu is not None
    action = menu.findChild(QAction, f"message-{name}")
    assert action is not None
    action.trigger()
    menu.close()


def more(app: AppDriver) -> list[str]:
    """The entries of the workflow's menu."""
    menu = app.window.chat.header.more.open()
    texts = [each.text() for each in menu.actions()]
    menu.close()
    return texts


def test_a_pin_is_there_after_a_restart_and_leads_to_its_message(open_app: OpenApp) -> None:
    app = open_app(["The ferry leaves at nine.", "Two."])
    app.send("When?")
    choose(app, "The ferry leaves at nine.", "pin")
    app.until(lambda: "1 pinned message" in more(app), "the menu counts it")
    app.close()
    app = open_app()
    app.until(lambda: "1 pinned message" in more(app), "the pin survived the restart")
    app.action("pinned-messages")
    menu = app.until(lambda: next(iter(app.window.findChildren(QMenu, "pinned-menu")), None), "the list is open")
    assert menu is not None
    assert [each.text() for each in menu.actions()] == ["Assistant: The ferry leaves at nine."]
    menu.actions()[0].trigger()
    menu.close()
    app.settle()
    assert app.failures == []


def test_a_deleted_branch_is_restored_by_undo(open_app: OpenApp) -> None:
    app = open_app(["One.", "Another."])
    app.send("Say it")
    choose(app, "One.", "regenerate")
    choose(app, "Another.", "delete-branch")
    app.until_reply("One.")
    undo = app.until(lambda: app.window.toasts.current, "the message with Undo")
    assert undo is not None
    button = next(each for each in undo.findChildren(QPushButton) if each.text() == "Undo")
    app.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    app.until_reply("Another.")
    assert app.failures == []


def test_a_message_that_was_queued_is_edited_in_place(open_app: OpenApp) -> None:
    gate = asyncio.Event()
    app = open_app(ScriptedModel(["One.", "Two.", "One again.", "Two, better."], gate=gate))
    app.send("First")
    app.until_reply("One.")
    app.send("Second")
    app.until(lambda: len(app.find_all("queued-message")) == 1, "the second waits")
    app.engine(lambda a: gate.set())
    app.until_reply("Two.")
    app.wait_done()
    app.settle()
    choose_of(app, app.find_all("user-message")[-1], "edit")
    field = app.find("edit-field", QPlainTextEdit)
    app.until(field.hasFocus, "the text can be changed at once")
    app.press(field, Qt.Key.Key_End)
    app.type(field, ", please")
    app.press(field, Qt.Key.Key_Return)
    app.until_reply("Two, better.")
    app.wait_done()
    app.settle()
    assert app.model is not None
    contents = [
        message.content for message in app.model.requests[-1].messages if message.role in {Role.USER, Role.ASSISTANT}
    ]
    assert contents == ["First", "One again.", "Second, please"]
    assert len(app.find_all("branch-switch")) == 1, "the turn has versions, not each message in it"
