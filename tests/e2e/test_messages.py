"""Actions on one message persist: pins over a restart, a deleted branch until Undo, another model for one answer."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QPlainTextEdit, QPushButton, QWidget

from atelier_desk.domain.model_messages import Role
from atelier_desk.llm.scripted import ScriptedModel
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk


def choose(desk: Desk, answer: str, name: str) -> None:
    """Choose a command in the menu of the last answer, once its turn has ended."""
    desk.last_reply(answer)
    desk.wait_done()
    desk.settle()
    choose_of(desk, desk.last_reply(answer), name)


def choose_of(desk: Desk, shown: QWidget, name: str) -> None:
    """Choose a command in a message's menu, opened by the Menu key."""
    shown.setFocus()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), shown.mapToGlobal(QPoint(5, 5)))
    QApplication.sendEvent(shown, event)
    menu = desk.until(lambda: next(iter(shown.findChildren(QMenu, "message-menu")), None), "the menu is open")
    assert menu is not None
    action = menu.findChild(QAction, f"message-{name}")
    assert action is not None
    action.trigger()
    menu.close()


def more(desk: Desk) -> list[str]:
    """The entries of the workflow's menu."""
    menu = desk.window.chat.header.more.open()
    texts = [each.text() for each in menu.actions()]
    menu.close()
    return texts


def test_a_pin_is_there_after_a_restart_and_leads_to_its_message(open_desk: OpenDesk) -> None:
    desk = open_desk(["The ferry leaves at nine.", "Two."])
    desk.send("When?")
    choose(desk, "The ferry leaves at nine.", "pin")
    desk.until(lambda: "1 pinned message" in more(desk), "the menu counts it")
    desk.close()
    desk = open_desk()
    desk.until(lambda: "1 pinned message" in more(desk), "the pin survived the restart")
    desk.action("pinned-messages")
    menu = desk.until(lambda: next(iter(desk.window.findChildren(QMenu, "pinned-menu")), None), "the list is open")
    assert menu is not None
    assert [each.text() for each in menu.actions()] == ["Assistant: The ferry leaves at nine."]
    menu.actions()[0].trigger()
    menu.close()
    desk.settle()
    assert desk.failures == []


def test_a_deleted_branch_comes_back_with_undo(open_desk: OpenDesk) -> None:
    desk = open_desk(["One.", "Another."])
    desk.send("Say it")
    choose(desk, "One.", "regenerate")
    choose(desk, "Another.", "delete-branch")
    desk.last_reply("One.")
    undo = desk.until(lambda: desk.window.toasts.current, "the message with Undo")
    assert undo is not None
    button = next(each for each in undo.findChildren(QPushButton) if each.text() == "Undo")
    desk.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    desk.last_reply("Another.")
    assert desk.failures == []


def test_a_message_that_waited_is_edited_in_its_own_place(open_desk: OpenDesk) -> None:
    gate = asyncio.Event()
    desk = open_desk(ScriptedModel(["One.", "Two.", "One again.", "Two, better."], gate=gate))
    desk.send("First")
    desk.last_reply("One.")
    desk.send("Second")
    desk.until(lambda: len(desk.all("queued-message")) == 1, "the second waits")
    desk.engine(lambda a: gate.set())
    desk.last_reply("Two.")
    desk.wait_done()
    desk.settle()
    choose_of(desk, desk.all("user-message")[-1], "edit")
    field = desk.find("edit-field", QPlainTextEdit)
    desk.until(field.hasFocus, "the text can be changed at once")
    desk.press(field, Qt.Key.Key_End)
    desk.type(field, ", please")
    desk.press(field, Qt.Key.Key_Return)
    desk.last_reply("Two, better.")
    desk.wait_done()
    desk.settle()
    assert desk.model is not None
    said = [
        message.content for message in desk.model.requests[-1].messages if message.role in {Role.USER, Role.ASSISTANT}
    ]
    assert said == ["First", "One again.", "Second, please"]
    assert len(desk.all("branch-switch")) == 1, "the turn has versions, not each message in it"
