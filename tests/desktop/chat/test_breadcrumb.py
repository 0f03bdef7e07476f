"""The path to the agent in view, with as many names as fit."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.breadcrumb import Breadcrumb
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.presentation.rows.team_state import Member
from atelier_desk.support import i18n
from tests.helpers.child_widgets import child


def crumbs(line: Breadcrumb) -> list[str]:
    return [button.text() for button in line.findChildren(QPushButton, "agent-crumb") if button.isVisible()]


def test_names_are_complete_or_omitted_from_the_root_on(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    line = Breadcrumb(page)
    page.resize(1000, 60)
    line.resize(900, 40)
    page.show()
    line.show_path([Member("a", "Architect of it all"), Member("b", "Careful reviewer"), Member("c", "Type checker")])
    assert crumbs(line) == ["Architect of it all", "Careful reviewer"]
    button = line.findChildren(QPushButton, "agent-crumb")[1]
    line.resize(320, 40)
    assert crumbs(line) == ["Careful reviewer"]
    assert button.width() >= button.sizeHint().width()
    line.resize(150, 40)
    assert crumbs(line) == []
    assert line.accessibleName() == "Architect of it all › Careful reviewer › Type checker"
    line.resize(900, 40)
    assert crumbs(line) == ["Architect of it all", "Careful reviewer"]


def test_it_follows_language_theme_and_size(qtbot: QtBot) -> None:
    line = Breadcrumb()
    qtbot.addWidget(line)
    line.resize(900, 40)
    line.show()
    line.show_path([Member("a", ""), Member("b", "Reviewer")])
    button = child(line, QPushButton, "agent-crumb")
    arrow = next(each for each in line.findChildren(QLabel) if not each.pixmap().isNull())
    before, width = arrow.pixmap().toImage(), arrow.pixmap().width()
    assert (button.text(), button.accessibleName()) == ("Agent", "Go to Agent")
    i18n.set_language("fr")
    refresh_texts()
    assert button.accessibleName() != "Go to Agent"
    assert line.findChild(QPushButton, "agent-crumb") is button
    theme().set_mode("dark")
    assert arrow.pixmap().toImage() != before
    theme().set_scale(160)
    assert arrow.pixmap().width() > width
