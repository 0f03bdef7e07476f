"""No row is replaced under the pointer; the user's own changes are shown at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListWidget, QMenu
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets.hover_freeze import HoverGate, moved
from tests.helpers.mouse_pointer import aim, leave


class Names(QListWidget):
    """A list whose rows are reordered from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.latest = ["Ada", "Bea", "Cid"]
        self.addItems(self.latest)
        self.gate = HoverGate(self, self.refresh)

    def change(self, *names: str) -> None:
        self.latest = list(names)
        if moved(self.rows(), self.latest) and self.gate.holds():
            return
        self.refresh()

    def refresh(self) -> None:
        self.clear()
        self.addItems(self.latest)

    def rows(self) -> list[str]:
        return [self.item(row).text() for row in range(self.count())]


@pytest.fixture
def names(qtbot: QtBot) -> Names:
    made = Names()
    qtbot.addWidget(made)
    made.resize(200, 200)
    made.show()
    qtbot.waitExposed(made)
    return made


def rest(names: Names) -> None:
    names.gate._rest.timeout.emit()


@pytest.mark.parametrize("end", [leave, rest])
def test_rows_are_reordered_when_the_pointer_leaves_or_rests(names: Names, end: Callable[[Names], None]) -> None:
    aim(names, 1)
    names.change("Cid", "Ada", "Bea")
    names.change("Cid", "Ada")
    assert names.rows() == ["Ada", "Bea", "Cid"]
    end(names)
    assert names.rows() == ["Cid", "Ada"]
    names.change("Ada")
    assert names.rows() == ["Ada"]


def test_rows_added_at_the_end_are_shown_at_once(names: Names) -> None:
    aim(names, 1)
    names.change("Ada", "Bea", "Cid", "Dan")
    assert names.rows()[-1] == "Dan"


def test_a_list_without_the_pointer_changes_at_once(names: Names) -> None:
    names.change("Cid", "Ada", "Bea")
    assert names.rows()[0] == "Cid"


def test_changes_made_by_a_key_are_shown_at_once(names: Names) -> None:
    aim(names, 1)
    QTest.keyClick(names, Qt.Key.Key_Delete)
    aim(names, 1, at_once=True)
    names.change("Ada", "Cid")
    assert names.rows() == ["Ada", "Cid"]


def test_changes_made_in_a_menu_are_shown_at_once(names: Names) -> None:
    aim(names, 1)
    menu = QMenu(names)
    menu.addAction("Delete")
    menu.popup(names.mapToGlobal(names.rect().center()))
    leave(names)
    menu.close()
    aim(names, 1, at_once=True)
    names.change("Ada", "Cid")
    assert names.rows() == ["Ada", "Cid"]


def test_the_pointer_over_a_linked_list_counts_too(names: Names, qtbot: QtBot) -> None:
    below = QListWidget()
    qtbot.addWidget(below)
    below.show()
    names.gate.watch(below)
    aim(below)
    names.change("Cid", "Ada", "Bea")
    assert names.rows()[0] == "Ada"
    leave(below)
    assert names.rows()[0] == "Cid"
