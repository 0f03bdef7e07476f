"""What is done to one message is kept: pins over a restart, a deleted branch until Undo, another model for one answer."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QPushButton

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk


def choose(desk: Desk, answer: str, name: str) -> None:
    """One command of the menu of the last answer, opened with the Menu key's event, once its turn is over and on the screen."""
    desk.last_reply(answer)
    desk.wait_done()
    desk.settle()
    shown = desk.last_reply(answer)
    shown.setFocus()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), shown.mapToGlobal(QPoint(5, 5)))
    QApplication.sendEvent(shown, event)
    menu = desk.until(lambda: next(iter(shown.findChildren(QMenu, "message-menu")), None), "the menu is open")
    assert menu is not None
    action = menu.findChild(QAction, f"message-{name}")
    assert action is not None
    action.trigger()
    menu.close()


def test_a_pin_is_there_after_a_restart_and_leads_to_its_message(open_desk: OpenDesk) -> None:
    desk = open_desk(["The ferry leaves at nine.", "Two."])
    desk.send("When?")
    choose(desk, "The ferry leaves at nine.", "pin")
    desk.until(lambda: desk.find("pinned-messages").accessibleName() == "1 pinned message", "the header counts it")
    desk.close()
    desk = open_desk()
    desk.until(lambda: desk.find("pinned-messages").accessibleName() == "1 pinned message", "the pin survived the restart")
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
