"""Read-only code: rendering, gutter, and wheel."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QFont, QPainter, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets.code_text import CodeText


class Numbered(CodeText):
    """Records the lines whose gutter is painted."""

    def __init__(self, *, scrolls: bool = True) -> None:
        super().__init__(scrolls=scrolls)
        self.painted: list[int] = []

    @property
    def gutter_width(self) -> int:
        return 40

    def paint_gutter(self, painter: QPainter, line: QRect, number: int) -> None:
        self.painted.append(number)


def shown(qtbot: QtBot, *, scrolls: bool = True) -> Numbered:
    text = Numbered(scrolls=scrolls)
    qtbot.addWidget(text)
    text.apply_style()
    text.resize(300, 200)
    text.setPlainText("\n".join(f"{number} -> " + "x" * 200 for number in range(100)))
    text.show()
    return text


def test_code_is_shown_verbatim_and_read_only(qtbot: QtBot) -> None:
    text = shown(qtbot)
    assert text.font().featureValue(QFont.Tag("calt")) == 0, "no arrow is made of -> and >"
    QTest.keyClicks(text, "abc")
    assert text.toPlainText().startswith("0 -> ")
    assert text.viewportMargins().left() == 40


def test_the_gutter_paints_only_visible_lines(qtbot: QtBot) -> None:
    text = shown(qtbot)
    text.verticalScrollBar().setValue(50)
    text.painted.clear()
    text.grab()
    assert text.painted[0] == 50
    assert len(text.painted) < 20


@pytest.mark.parametrize(
    ("scrolls", "modifiers", "down", "across"),
    [
        (True, Qt.KeyboardModifier.NoModifier, True, False),
        (False, Qt.KeyboardModifier.NoModifier, False, False),
        (False, Qt.KeyboardModifier.ShiftModifier, False, True),
    ],
)
def test_the_wheel_scrolls_the_code_or_the_page(
    qtbot: QtBot, scrolls: bool, modifiers: Qt.KeyboardModifier, down: bool, across: bool
) -> None:
    text = shown(qtbot, scrolls=scrolls)
    position = QPointF(100, 100)
    turned = QPoint(-120, 0) if across else QPoint(0, -120)
    wheel = QWheelEvent(
        position, position, QPoint(), turned, Qt.MouseButton.NoButton, modifiers, Qt.ScrollPhase.NoScrollPhase, False
    )
    QApplication.sendEvent(text.viewport(), wheel)
    moved = text.verticalScrollBar().value() > 0, text.horizontalScrollBar().value() > 0
    assert moved == (down, across)
