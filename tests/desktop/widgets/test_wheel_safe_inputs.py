"""Inputs leave the wheel to the page until focused; popups have rounded corners."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QStyleOptionComboBox,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

import atelier_desk.desktop
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import bind_text
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox, DoubleSpinBox, Slider, SpinBox
from tests.helpers.mouse_wheel import turn_over, value

PLAIN = {
    "QComboBox",
    "QSpinBox",
    "QDoubleSpinBox",
    "QSlider",
    "QDial",
    "QDateTimeEdit",
    "QDateEdit",
    "QTimeEdit",
    "QFontComboBox",
}


@pytest.fixture
def area(qtbot: QtBot) -> QScrollArea:
    """A scrolled page with one input of each kind at its top."""
    made = QScrollArea()
    page = QWidget()
    page.setMinimumHeight(2000)
    column = QVBoxLayout(page)
    combo = ComboBox()
    combo.addItems(["one", "two", "three"])
    combo.setCurrentIndex(1)
    spin, decimal, slider = SpinBox(), DoubleSpinBox(), Slider(Qt.Orientation.Horizontal)
    for each in (spin, decimal, slider):
        each.setValue(5)
    for control in (combo, spin, decimal, slider):
        column.addWidget(control)
    column.addStretch(1)
    made.setWidget(page)
    made.setWidgetResizable(True)
    qtbot.addWidget(made)
    made.resize(300, 200)
    with qtbot.waitExposed(made):
        made.show()
    return made


@pytest.mark.parametrize("kind", [ComboBox, SpinBox, DoubleSpinBox, Slider])
def test_the_wheel_scrolls_the_page_and_changes_only_a_focused_input(
    area: QScrollArea, kind: type[QWidget], qtbot: QtBot
) -> None:
    widget = area.findChild(kind)
    assert widget is not None
    before = value(widget)
    area.setFocus()
    turn_over(widget)
    assert value(widget) == before
    assert area.verticalScrollBar().value() > 0
    area.verticalScrollBar().setValue(0)
    widget.setFocus()
    qtbot.waitUntil(widget.hasFocus)
    turn_over(widget)
    assert value(widget) != before


def test_the_popup_of_a_combo_box_has_round_corners(area: QScrollArea) -> None:
    combo = area.findChild(ComboBox)
    assert combo is not None
    combo.showPopup()
    window = combo.view().window()
    assert not window.mask().isEmpty()
    assert not window.mask().contains(window.rect().topLeft())
    assert window.mask().contains(window.rect().center())
    combo.hidePopup()


def test_a_text_that_does_not_fit_ends_in_an_ellipsis(qtbot: QtBot) -> None:
    combo = ComboBox()
    qtbot.addWidget(combo)
    combo.addItem("Rendered in an installed browser, wherever there is one")
    combo.resize(1000, 30)
    option = QStyleOptionComboBox()
    combo.initStyleOption(option)
    assert option.currentText == combo.currentText()
    combo.resize(160, 30)
    combo.initStyleOption(option)
    assert option.currentText.endswith("…")
    assert len(option.currentText) > 5
    assert not combo.grab().isNull()


@pytest.mark.parametrize("scale", [100, 150])
def test_controls_in_a_row_have_one_height(qtbot: QtBot, scale: int) -> None:
    theme().set_scale(scale)
    row = QWidget()
    qtbot.addWidget(row)
    line = QHBoxLayout(row)
    parts = [QLineEdit(), ComboBox(), SpinBox(), DoubleSpinBox(), QPushButton("Save")]
    for part in parts:
        line.addWidget(part)
    with qtbot.waitExposed(row):
        row.show()
    heights = {type(part).__name__: part.height() for part in parts}
    assert max(heights.values()) - min(heights.values()) <= (0 if scale == 100 else 1), heights


def test_every_input_of_the_window_is_of_these_classes() -> None:
    """A plain Qt input would be changed by the wheel unnoticed: none is created or derived from, except here."""
    found = []
    for path in Path(atelier_desk.desktop.__file__).parent.rglob("*.py"):
        if path.name == "wheel_safe_inputs.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
            found += [f"{path.name}: {each.id}" for each in named if isinstance(each, ast.Name) and each.id in PLAIN]
    assert found == []


def test_a_combo_box_is_named_by_a_label_for_screen_readers_of_linux(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    combo = ComboBox(page)
    combo.addItems(["English", "français"])
    bind_text(combo, tip="Language")
    interface = QAccessible.queryAccessibleInterface(combo)
    named = [
        other.text(QAccessible.Text.Name)
        for other, relation in interface.relations(QAccessible.RelationFlag.Label)
        if relation & QAccessible.RelationFlag.Label
    ]
    assert named == ["Language"]
    bind_text(combo, tip="Langue")
    assert [label.text() for label in page.findChildren(QLabel) if label.buddy() is combo] == ["Langue"]


def test_a_text_elided_by_a_combo_box_is_in_its_tool_tip(qtbot: QtBot) -> None:
    box = ComboBox()
    qtbot.addWidget(box)
    box.addItem("A model with a name that is longer than the box is wide")
    box.resize(120, 30)
    box.show()
    box.grab()
    assert box.toolTip() == box.currentText()
    box.resize(900, 30)
    box.grab()
    assert box.toolTip() == ""
    box.setToolTip("Who answers")
    box.resize(120, 30)
    box.grab()
    assert box.toolTip() == "Who answers"
