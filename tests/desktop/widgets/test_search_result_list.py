"""A searched list with headings: reachable rows and their keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets.list_rows import ListRow
from atelier_desk.desktop.widgets.search_result_list import PAGE, SearchList


def press(key: int, text: str = "") -> QKeyEvent:
    return QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier, text)


def lines(texts: str) -> list[tuple[ListRow, str]]:
    return [(ListRow(each), each) for each in texts]


@pytest.fixture
def listed(qtbot: QtBot) -> SearchList:
    made = SearchList(None, "found")  # type: ignore[arg-type]
    qtbot.addWidget(made)
    made.fill([("", lines("ab")), ("Others", lines("cdefghijklm"))])
    return made


def test_headings_are_skipped_and_single_steps_wrap_around(listed: SearchList) -> None:
    assert listed.currentIndex().data() == "a"
    seen = []
    moves = (*["Down"] * 2, *["PageDown"] * 2, "Down", "Up", "PageUp")
    for key in (Qt.Key[f"Key_{name}"] for name in moves):
        assert listed.key(press(key))
        seen.append(listed.currentIndex().data())
    assert seen == ["b", "c", "abcdefghijklm"[2 + PAGE], "m", "a", "m", "abcdefghijklm"[12 - PAGE]]


def test_other_keys_go_to_the_field(listed: SearchList) -> None:
    assert not listed.key(press(0x416, "Ж"))  # in no table of keys
    assert not listed.key(QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier))
    assert listed.currentIndex().data() == "a"


def test_without_results_there_is_no_line(listed: SearchList) -> None:
    listed.fill([])
    assert listed.key(press(Qt.Key.Key_Down))
    assert not listed.currentIndex().isValid()


@pytest.mark.parametrize(("by_click", "once"), [(True, ["b"]), (False, [])])
def test_a_line_is_chosen_by_click_or_double_click_and_always_by_enter(
    qtbot: QtBot, by_click: bool, once: list[str]
) -> None:
    field = QLineEdit()
    qtbot.addWidget(field)
    made = SearchList(None, "found", field, by_click=by_click, tab=True)  # type: ignore[arg-type]
    qtbot.addWidget(made)
    chosen: list[str] = []
    made.chosen.connect(chosen.append)
    made.fill([("Heading", lines("ab"))])
    made.show()
    for row, found in ((0, []), (2, once)):
        QTest.mouseClick(
            made.viewport(), Qt.MouseButton.LeftButton, pos=made.visualRect(made.rows.index(row, 0)).center()
        )
        assert chosen == found
    QTest.mouseDClick(made.viewport(), Qt.MouseButton.LeftButton, pos=made.visualRect(made.rows.index(2, 0)).center())
    assert chosen[-1:] == ["b"]
    chosen.clear()
    QTest.keyClick(field, Qt.Key.Key_Up)
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClick(made, Qt.Key.Key_Down)
    QTest.keyClick(made, Qt.Key.Key_Enter)
    assert chosen == ["a", "b"]


def test_an_empty_list_is_replaced_by_a_text(listed: SearchList) -> None:
    assert listed.nothing.isHidden()
    listed.fill([])
    assert (listed.isHidden(), listed.nothing.isHidden(), listed.nothing.text()) == (True, False, "No results")
