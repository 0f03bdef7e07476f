"""One focus indicator: a border in the accent colour, used for nothing else."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLineEdit, QPushButton, QRadioButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import mark, resource_paths_and_fonts

FILLED = ('[variant="primary"]', '[variant="send"]', "::indicator", "QTabBar::tab:selected", '[focused="true"]')
"""Filled with the accent, or a composer around the focused field; the line below the current tab is no border."""


def test_only_the_focused_widget_has_a_border_in_the_accent_colour() -> None:
    rules = re.findall(
        r"([^{}]+){([^{}]*)}",
        re.sub(
            r"\$\{(\w+)\}", r"<\1>", (resource_paths_and_fonts.resource_dir() / "style.qss").read_text(encoding="utf-8")
        ),
    )
    bordered = [selector.strip() for selector, body in rules if re.search(r"border[^;]*<accent>", body)]
    assert bordered
    others = [each for each in bordered if ":focus" not in each and not any(word in each for word in FILLED)]
    assert others == []


@pytest.mark.parametrize("kind", [QPushButton, QCheckBox, QRadioButton])
def test_only_the_border_marks_the_focus(qtbot: QtBot, kind: type[QAbstractButton]) -> None:
    """The style's own focus rectangle is not drawn inside it too."""
    window = QWidget()
    qtbot.addWidget(window)
    column, field, button = QVBoxLayout(window), QLineEdit(), kind()
    button.setText("Edit")
    column.addWidget(field)
    column.addWidget(button)
    window.show()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)

    def inside() -> QImage:
        return button.grab(button.rect().adjusted(3, 3, -3, -3)).toImage()

    before = inside()
    QTest.keyClick(field, Qt.Key.Key_Tab)
    qtbot.waitUntil(button.hasFocus)
    assert inside() == before


@pytest.mark.parametrize("variant", ["", "chip", "chip-plain", "card"])
def test_a_selected_button_shows_the_focus_too(qtbot: QtBot, variant: str) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column, field, button = QVBoxLayout(window), QLineEdit(), QPushButton("4×")
    mark(button, variant)
    button.setCheckable(True)
    button.setChecked(True)
    column.addWidget(field)
    column.addWidget(button)
    window.show()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    before = button.grab().toImage()
    QTest.keyClick(field, Qt.Key.Key_Tab)
    qtbot.waitUntil(button.hasFocus)
    assert button.grab().toImage() != before
