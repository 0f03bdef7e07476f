"""The find bar: its requests, movements, and texts."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets.find_bar import FindBar

SHIFT = Qt.KeyboardModifier.ShiftModifier
PLAIN = Qt.KeyboardModifier.NoModifier


def bar(qtbot: QtBot, *, newest_last: bool = False) -> tuple[FindBar, list[str], list[int]]:
    made = FindBar("find", "Find in this workflow", None, newest_last=newest_last)  # type: ignore[arg-type]
    qtbot.addWidget(made)
    asked: list[str] = []
    reached: list[int] = []
    made.needle_changed.connect(asked.append)
    made.reached.connect(reached.append)
    return made, asked, reached


@pytest.mark.parametrize(
    ("newest_last", "key", "modifiers", "expected_position"),
    [
        (False, Qt.Key.Key_Return, PLAIN, 2),
        (False, Qt.Key.Key_Enter, SHIFT, 0),
        (True, Qt.Key.Key_Return, PLAIN, 0),
        (True, Qt.Key.Key_Return, SHIFT, 2),
        (True, Qt.Key.Key_F3, PLAIN, 2),
        (False, Qt.Key.Key_F3, SHIFT, 0),
    ],
)
def test_keys_go_to_the_next_and_previous_match(
    qtbot: QtBot, newest_last: bool, key: Qt.Key, modifiers: Qt.KeyboardModifier, expected_position: int
) -> None:
    made, _asked, reached = bar(qtbot, newest_last=newest_last)
    made.enter("word")
    made.show_found(3, 1)
    QTest.keyClick(made.field, key, modifiers)
    assert reached == [1, expected_position]


def test_it_wraps_around_and_shows_the_position(qtbot: QtBot) -> None:
    made, _asked, reached = bar(qtbot)
    made.enter("word")
    made.show_found(2, 1, more=True)
    assert (made.count.text(), made.count.accessibleName()) == ("2 / 2+", "2 results")
    made.step(1)
    assert (reached, made.count.text()) == ([1, 0], "1 / 2+")
    made.show_found(1, 0, move=False)
    assert (reached, made.up.isEnabled(), made.down.isEnabled()) == ([1, 0], False, False)
    made.show_found(0)
    made.step(1)
    assert (reached, made.count.text()) == ([1, 0], "No results")


def test_a_text_is_searched_again_until_the_bar_is_closed(qtbot: QtBot) -> None:
    made, asked, _reached = bar(qtbot)
    made.field.setText("word")
    assert asked == [""], "nothing is searched while it is hidden"
    made.enter()
    assert asked == ["", "word"]
    made.show_found(2, 1)
    with qtbot.waitSignal(made.closed):
        QTest.keyClick(made.field, Qt.Key.Key_Escape)
    assert (asked[-1], made.isHidden(), made.count.text()) == ("", True, "")
    made.enter()
    assert asked[-1] == "word"
