"""The settings window: registry of pages, search across them, keyboard, languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings import registry
from atelier_desk.desktop.settings.language import switch_language
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.theme import theme
from tests.support.fake_bridge import settle

NAMES = [
    "general",
    "providers",
    "agents",
    "prompts",
    "skills",
    "mcp",
    "tools",
    "approvals",
    "memory",
    "projects",
    "web",
    "media",
    "shortcuts",
    "quick",
    "usage",
    "data",
    "diagnostics",
]
Find = Callable[[str], Any]


@pytest.fixture
def _quick_doctor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    async def checks(_atelier: Any) -> list[Any]:
        return []

    monkeypatch.setattr("atelier_desk.engine.doctor.checks", checks)
    return


def test_pages_register_themselves_in_order_and_names_are_unique() -> None:
    assert [entry.name for entry in registry.pages()] == NAMES
    with pytest.raises(ValueError, match="registered by"):

        @registry.settings_page("general", order=1, icon="x", title="X")
        class Other(SettingsPage):
            """Another class under a taken name."""


@pytest.mark.usefixtures("_quick_doctor")
async def test_every_page_opens_by_its_name_and_every_control_has_an_accessible_name(window: SettingsWindow, find: Find) -> None:
    assert window.objectName() == "settings-window"
    for name in NAMES:
        window.show_page(name)
        await settle()
        page = find(f"settings-page-{name}")
        assert page.isVisible()
        for kind in (QAbstractButton, QComboBox, QLineEdit):
            for control in page.findChildren(kind):
                inside = isinstance(control.parentWidget(), QComboBox) or control.objectName().startswith("qt_")
                text = control.text() if isinstance(control, QAbstractButton) else ""
                assert inside or control.accessibleName() or text, (name, control, control.objectName())


@pytest.mark.usefixtures("_quick_doctor")
async def test_icons_have_one_size_on_every_screen(window: SettingsWindow) -> None:
    assert (window.list.iconSize().width(), window.list.iconSize().height()) == (theme().px(16), theme().px(16))


async def test_search_finds_a_setting_on_any_page(window: SettingsWindow, qtbot: QtBot) -> None:
    qtbot.keyClicks(window.search, "embedder")
    qtbot.keyClick(window.search, Qt.Key.Key_Return)
    await settle()
    shown = [NAMES[row] for row in range(window.list.count()) if not window.list.item(row).isHidden()]
    assert shown == ["memory"]
    assert window.current == "memory"
    window.search.setText("zebra crossing")
    window._find()
    assert window.nothing.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    window._find()
    assert all(not window.list.item(row).isHidden() for row in range(window.list.count()))
    with qtbot.waitSignal(window.closed):
        window.close()


async def test_general_stores_at_once(window: SettingsWindow, find: Find, atelier: Any, qtbot: QtBot) -> None:
    theme_box = find("theme-select")
    theme_box.setCurrentIndex(theme_box.findData("dark"))
    theme_box.activated.emit(theme_box.currentIndex())
    await settle()
    scale = find("font-scale")
    scale.setValue(15)
    qtbot.waitUntil(lambda: not scale.parent().saving.isActive())
    await settle()
    find("notifications").click()
    await settle()
    assert (atelier.kept.theme, atelier.kept.font_scale, atelier.kept.notifications) == ("dark", 150, False)
    find("workflows-running").setValue(7)
    await settle()
    assert atelier.kept.workflows_running == 7
    silence = find("inactivity")
    assert (silence.value(), silence.minimum(), silence.maximum()) == (300, 5, 3600)
    silence.setValue(900)
    await settle()
    assert atelier.kept.inactivity_s == 900


async def test_a_chosen_language_is_stored(window: SettingsWindow, find: Find, atelier: Any) -> None:
    box = find("language-select")
    box.setCurrentIndex(box.findData("fr"))
    await settle()
    assert atelier.kept.language == "fr"


async def test_a_language_tells_every_widget(window: SettingsWindow) -> None:
    heard: list[QEvent.Type] = []

    class Listener(QWidget):
        def changeEvent(self, event: QEvent) -> None:
            heard.append(event.type())

    listener = Listener(window)
    switch_language("fr")
    await settle()
    assert QEvent.Type.LanguageChange in heard
    from atelier_desk.i18n import language

    assert language() == "fr"
    listener.deleteLater()
    assert QApplication.instance() is not None
