"""Empty states in panes of every height."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import EmptyState

HINT = "The agent's tasks appear here. You can add your own."


@pytest.fixture
def host(qtbot: QtBot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    return window


def made(host: QWidget, height: int) -> EmptyState:
    empty = EmptyState("list-todo", parent=host)
    empty.set_texts("No tasks yet", HINT, "Add a task")
    empty.resize(240, height)
    host.resize(240, height)
    host.show()
    return empty


def shown(empty: EmptyState) -> list[str]:
    return [label.text() or "icon" for label in empty.findChildren(QLabel) if label.isVisible()]


@pytest.mark.parametrize(
    ("height", "expected"),
    [(400, ["icon", "No tasks yet", HINT]), (125, ["No tasks yet", HINT]), (70, ["No tasks yet"])],
)
def test_parts_that_do_not_fit_are_hidden_except_the_button(host: QWidget, height: int, expected: list[str]) -> None:
    empty = made(host, height)
    assert shown(empty) == expected
    assert empty.button.isVisible()
    assert (empty.toolTip() == HINT) == (HINT not in expected)


@pytest.mark.parametrize("scale", [100, 150, 200])
@pytest.mark.parametrize("height", [130, 180, 240, 420])
def test_no_line_is_clipped(host: QWidget, height: int, scale: int) -> None:
    theme().set_scale(scale)
    empty = made(host, height)
    layout = empty.layout()
    assert layout is not None
    layout.activate()
    for label in empty.findChildren(QLabel):
        if label.isVisible():
            assert label.height() >= min(label.heightForWidth(label.width()), label.sizeHint().height())
            assert empty.rect().contains(label.geometry())


def test_it_has_no_minimum_size(host: QWidget) -> None:
    assert made(host, 300).minimumSizeHint().height() == 0
