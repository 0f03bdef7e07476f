"""The docks of the panes are made after the first paint, unless a pane is open in the stored layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.pane_docks import Rail
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.settings import Settings
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

SIZE = (1360, 860)


@pytest.fixture(autouse=True)
def _no_folding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty panes would fold after a while, in each window at another moment."""
    monkeypatch.setattr(Rail, "_fold_vacant", lambda _rail: None)


def made(qtbot: QtBot, layout: Mapping[str, str] = {}, size: tuple[int, int] = SIZE) -> MainWindow:
    """A window as it is at the first paint."""
    agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
    engine = FakeAtelier(agents={"list": [agent], "default": agent}, settings={"get": Settings()})
    window = MainWindow(FakeBridge(engine))
    qtbot.addWidget(window)
    window.resize(*size)
    window.restore_layout(dict(layout))
    window.show()
    window.grab()
    return window


def frame(window: MainWindow) -> list[QRect]:
    """Where the parts are that stand in the first picture, with the open panes."""
    parts = [window.geometry(), window.side.dock.geometry(), window.pages.geometry(), window.rail.strip.geometry()]
    return [*parts, *(rect for rect, seen in panes(window).values() if seen)]


def panes(window: MainWindow) -> dict[str, tuple[QRect, bool]]:
    """The places of the docks, and whether they can be seen."""
    return {name: (dock.geometry(), not dock.visibleRegion().isEmpty()) for name, dock in window.rail.docks.items()}


def seen(window: MainWindow) -> dict[str, QRect]:
    return {name: rect for name, (rect, shown) in panes(window).items() if shown}


async def stored(qtbot: QtBot, change: Callable[[MainWindow], object]) -> dict[str, str]:
    """The layout of a window after a change with all panes beside the conversation open."""
    window = made(qtbot)
    window.prepare()
    window.rail.set_visible(True)
    await settle(30)
    change(window)
    await settle(30)
    return window.layout_state()


@pytest.mark.parametrize("size", [SIZE, (1300, 700), (1000, 800), (1900, 1000)])
async def test_the_docks_come_after_the_first_paint_and_move_nothing(qtbot: QtBot, size: tuple[int, int]) -> None:
    window = made(qtbot, size=size)
    assert not window.rail.docks
    assert window.rail.strip.isVisible()
    assert [button.isVisible() for button in window.rail.strip.findChildren(QToolButton, "open-memory")] == [True]
    before = frame(window)
    window.prepare()
    assert not seen(window)
    await settle(30)
    assert frame(window) == before
    assert all(dock.isHidden() for dock in window.rail.docks.values())


@pytest.mark.parametrize("size", [SIZE, (1300, 700), (1000, 800), (1900, 1000)])
async def test_panes_have_the_same_sizes_whenever_their_docks_were_made(qtbot: QtBot, size: tuple[int, int]) -> None:
    late, early = made(qtbot, size=size), made(qtbot, {"state": "none"}, size)
    assert not late.rail.docks
    assert early.rail.docks, "a layout of an earlier version may have open panes"
    for window in (late, early):
        window.prepare()
        await settle(30)
        window.rail.set_visible(True)
        await settle(30)
    assert seen(late) == seen(early)
    assert seen(late)


def close_all(window: MainWindow) -> None:
    window.resizeDocks([window.rail.docks["tasks"]], [400], Qt.Orientation.Horizontal)
    window.resizeDocks([window.rail.docks["memory"]], [333], Qt.Orientation.Vertical)
    window.rail.set_visible(False)


async def test_a_stored_layout_without_open_panes_keeps_their_sizes(qtbot: QtBot) -> None:
    layout = await stored(qtbot, close_all)
    assert layout["open"] == ""
    late = made(qtbot, layout)
    early = made(qtbot, {key: value for key, value in layout.items() if key != "open"})
    assert not late.rail.docks
    assert early.rail.docks
    assert frame(late) == frame(early)
    for window in (late, early):
        before = frame(window)
        window.prepare()
        await settle(30)
        assert frame(window) == before
        window.rail.set_visible(True)
        await settle(30)
    assert seen(late) == seen(early)
    assert seen(late)["tasks"].width() == 400
    assert late.rail.opens == early.rail.opens


def float_one(window: MainWindow) -> None:
    window.rail.set_visible(False)
    window.rail.docks["memory"].setFloating(True)
    window.rail.docks["memory"].show()


def columns_of(window: MainWindow) -> dict[str, tuple[int, int]]:
    """Left side and width of the open panes; their heights depend on their contents."""
    return {name: (rect.x(), rect.width()) for name, rect in seen(window).items()}


OPEN = {
    "beside the conversation": lambda window: window.resizeDocks(
        [window.rail.docks["tasks"]], [380], Qt.Orientation.Horizontal
    ),
    "below it": lambda window: (window.rail.set_visible(False), window.rail.show_pane("timeline")),
    "in a window": float_one,
}


@pytest.mark.parametrize("place", OPEN)
async def test_a_pane_that_was_open_is_in_the_first_picture_and_does_not_move(qtbot: QtBot, place: str) -> None:
    window = made(qtbot, await stored(qtbot, OPEN[place]))
    names, before, columns = set(seen(window)), frame(window)[:4], columns_of(window)
    assert names
    window.prepare()
    window.grab()
    assert (set(seen(window)), frame(window)[:4], columns_of(window)) == (names, before, columns)
    await settle(30)
    assert (set(seen(window)), frame(window)[:4], columns_of(window)) == (names, before, columns)


async def test_a_pane_can_be_opened_before_the_docks_exist(qtbot: QtBot) -> None:
    layout = await stored(qtbot, close_all)
    window = made(qtbot, layout)
    button = window.rail.strip.findChild(QToolButton, "open-memory")
    assert button is not None
    button.click()  # as a screen reader does
    window.prepare()
    await settle(30)
    assert set(seen(window)) == {"memory"}
    assert seen(window)["memory"].width() == 400
    assert window.rail.panes["memory"].isVisible()


async def test_docks_made_after_a_change_of_language_and_text_size_have_both(qtbot: QtBot) -> None:
    window, early = made(qtbot), made(qtbot, {"state": "none"})
    switch_language("fr")
    theme().set_scale(120)
    theme().set_mode("dark")
    for each in (window, early):
        each.prepare()
        await settle(30)
        each.rail.set_visible(True)
        await settle(30)
    assert window.rail.docks["tasks"].windowTitle() == early.rail.docks["tasks"].windowTitle() == "Tâches"
    assert seen(window) == seen(early)


async def test_in_a_narrow_window_the_drawer_opens_with_all_its_panes(qtbot: QtBot) -> None:
    window = made(qtbot, size=(1000, 800))
    window.prepare()
    await settle(30)
    window.rail.show_pane("activity")
    await settle(30)
    side = {name for name in window.rail.docks if window.rail.drawer.at_side(name)}
    assert {name for name in side if not window.rail.docks[name].isHidden()} == side
    assert len(side) > 1
