"""The search field's magnifier."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.search_field import SearchField


def test_the_magnifier_of_a_search_field_grows_with_its_text(qtbot: QtBot) -> None:
    field = SearchField()
    qtbot.addWidget(field)
    lens = field.findChild(QToolButton)
    assert lens is not None
    assert lens.iconSize().width() == 16
    theme().set_scale(200)
    assert lens.iconSize().width() == 32
    assert field.textMargins().left() >= 32, "the text begins after it"
    theme().set_scale(100)
