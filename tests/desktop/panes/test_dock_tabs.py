"""Tabs of stacked panes: all visible in a small window, and not switched by the wheel."""

from __future__ import annotations

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMainWindow, QStyleOptionTab, QTabBar
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.dock_tabs import DockTabs
from atelier_desk.desktop.panes.pane_docks import WIDTH
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.window import MainWindow
from atelier_desk.support import i18n
from tests.desktop.panes.started_window import started
from tests.helpers.mouse_wheel import turn


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


def cut_titles(bar: QTabBar) -> list[str]:
    """The titles that are painted elided."""
    cut = []
    for number in range(bar.count()):
        option = QStyleOptionTab()
        bar.initStyleOption(option, number)
        cut += [option.text] if option.text != bar.tabText(number) else []
    return cut


@pytest.mark.parametrize(("language", "scale"), [("en", 100), ("fr", 100), ("en", 150), ("fr", 150)])
async def test_titles_that_fit_are_complete(qtbot: QtBot, language: str, scale: int) -> None:
    """In French they just fit; elided in advance they would read "Mém…" beside free space."""
    i18n.set_language(language)
    theme().set_scale(scale)
    window = await started(qtbot)
    window.resize(1366, 730)
    qtbot.waitUntil(lambda: bool(rail_tabs(window)))
    qtbot.waitUntil(lambda: all(cut_titles(bar) == [] for bar in rail_tabs(window)))


async def test_french_titles_and_a_count_fit_large_text(qtbot: QtBot) -> None:
    i18n.set_language("fr")
    theme().set_scale(150)
    window = await started(qtbot)
    window.resize(1366, 730)
    qtbot.waitUntil(lambda: bool(rail_tabs(window)))
    window.rail._badge("questions", 2)
    qtbot.waitUntil(lambda: all(cut_titles(bar) == [] for bar in rail_tabs(window)))


async def test_titles_that_do_not_fit_are_elided(qtbot: QtBot) -> None:
    window = await started(qtbot)
    window.resize(1366, 730)
    qtbot.waitUntil(lambda: bool(rail_tabs(window)))
    window.resizeDocks([window.rail.docks["questions"]], [180], Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: all(cut_titles(bar) != [] for bar in rail_tabs(window)))
    # Qt lays the tabs out again only after the bar has its new width.
    qtbot.waitUntil(lambda: all(bar.tabRect(bar.count() - 1).right() < bar.width() for bar in rail_tabs(window)))


@pytest.mark.parametrize("width", [0, 240])
async def test_neither_titles_nor_theme_nor_language_change_the_width_of_the_column(qtbot: QtBot, width: int) -> None:
    """The column keeps its first width, or the one a person gave it."""
    i18n.set_language("fr")
    window = await started(qtbot)
    window.resize(1366, 730)
    qtbot.waitUntil(lambda: bool(rail_tabs(window)))
    if width:
        window.resizeDocks([window.rail.docks["questions"]], [width], Qt.Orientation.Horizontal)
    wanted = width or WIDTH

    def settled() -> int:
        QApplication.processEvents()
        (bar,) = rail_tabs(window)
        return bar.width()

    assert settled() == wanted
    window.rail._badge("questions", 12)
    assert settled() == wanted
    if not width:
        qtbot.waitUntil(lambda: cut_titles(rail_tabs(window)[0]) == [])  # with less space around them
    for mode in ("dark", "light"):
        theme().set_mode(mode)
        assert settled() == wanted, mode
    for language in ("en", "fr"):
        switch_language(language)
        assert settled() == wanted, language
