"""Tabs of stacked panes: all visible in a small window, and not switched by the wheel."""

from __future__ import annotations

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QTabBar
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.dock_tabs import DockTabs
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.window import MainWindow
from atelier_desk.support import i18n
from tests.desktop.panes.test_rail import started
from tests.support.wheel import turn


def rail_tabs(window: MainWindow) -> list[QTabBar]:
    """The tab bar of the low window's column, where all panes are stacked."""
    return [bar for bar in window.findChildren(QTabBar) if bar.count() >= 5]


@pytest.mark.parametrize(("language", "scale"), [("en", 100), ("fr", 100), ("fr", 150)])
async def test_every_tab_is_visible_in_a_small_window(qtbot: QtBot, language: str, scale: int) -> None:
    i18n.set_language(language)
    theme().set_scale(scale)
    window = await started(qtbot)
    window.resize(1024, 700)
    window.toggle_panes()

    def fits() -> None:
        bars = rail_tabs(window)
        assert bars
        widths = [(sum(bar.tabRect(number).width() for number in range(bar.count())), bar.width()) for bar in bars]
        assert all(needed <= there for needed, there in widths), widths
        assert all(bar.tabToolTip(number) == bar.tabText(number) for bar in bars for number in range(bar.count())), (
            "what may be cut"
        )

    qtbot.waitUntil(fits)


async def test_the_wheel_switches_no_tab_without_focus(qtbot: QtBot) -> None:
    window = await started(qtbot)
    window.resize(1024, 700)
    window.toggle_panes()
    qtbot.waitUntil(lambda: bool(rail_tabs(window)))
    bar = rail_tabs(window)[0]
    bar.setCurrentIndex(1)
    turn(bar)
    assert bar.currentIndex() == 1


def test_a_bar_that_qt_deleted_is_dropped(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    tabs, bar = DockTabs(window), QTabBar(window)
    tabs._bars.append(bar)
    shiboken6.delete(bar)
    tabs.fit()
    assert tabs._bars == []


async def test_titles_that_fit_are_complete(qtbot: QtBot) -> None:
    """In French they just fit; elided in advance they would read "Mém…" beside free space."""
    i18n.set_language("fr")
    window = await started(qtbot)
    window.resize(1366, 730)
    qtbot.waitUntil(lambda: bool(rail_tabs(window)))
    qtbot.waitUntil(lambda: all(bar.elideMode() is Qt.TextElideMode.ElideNone for bar in rail_tabs(window)))
