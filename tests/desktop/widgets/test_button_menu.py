"""A button does not stay highlighted after its menu was closed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.header_menu import MoreButton
from atelier_desk.desktop.widgets import vbox


class Paints(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, watched: QWidget) -> None:
        super().__init__(watched)
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.Paint
        return False


def test_a_button_is_painted_as_the_pointer_is_once_its_menu_is_closed(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field, button = QLineEdit(window), MoreButton(window)
    vbox(window, field, button)
    window.show()
    field.setFocus()
    button.pinned = lambda menu: menu.addAction("Copy")
    menu: QMenu = button.open()
    qtbot.waitUntil(menu.isVisible)
    paints = Paints(button)
    for _ in range(5):
        QApplication.processEvents()
    before = paints.count
    menu.hide()
    for _ in range(5):
        QApplication.processEvents()
    assert paints.count > before
