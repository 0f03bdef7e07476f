"""A narrow window: the panes are in a drawer over the chat, and return to their places."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QDockWidget, QToolButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import getCppPointer, isValid

from atelier_desk.desktop.main_window.layout_saving import LayoutKeeper
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.design_tokens import CHAT_COLUMN
from atelier_desk.desktop.window import MainWindow
from tests.desktop.panes.started_window import started
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle

SIDE = ("tasks", "activity", "memory", "reports", "questions")


@pytest.fixture
async def window(qtbot: QtBot) -> MainWindow:
    return await started(qtbot)


def in_sight(window: MainWindow) -> set[str]:
    return {name for name in SIDE if not window.rail.docks[name].isHidden()}


def places(window: MainWindow) -> dict[str, tuple[int, int, int, int]]:
    """The position of every visible dock."""
    docks = {name: dock for name, dock in window.rail.docks.items() if not dock.visibleRegion().isEmpty()}
    return {name: dock.geometry().getRect() for name, dock in docks.items()}  # type: ignore[misc]


async def narrow(window: MainWindow, qtbot: QtBot, width: int = 1024, height: int = 860) -> None:
    window.resize(width, height)
    qtbot.waitUntil(lambda: not in_sight(window))
    await settle()


def open_by_button(window: MainWindow, qtbot: QtBot) -> None:
    QTest.mouseClick(child(window, QToolButton, "toggle-rail"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(in_sight(window)))


async def test_panes_are_hidden_in_a_narrow_window_and_restored_in_a_wide_one(window: MainWindow, qtbot: QtBot) -> None:
    window.resizeDocks([window.rail.docks["tasks"]], [360], Qt.Orientation.Horizontal)
    window.rail.docks["reports"].close()
    rail = window.rail
    qtbot.waitUntil(lambda: rail.panes["tasks"].folded and not rail._fold.isActive() and not rail._fit.isActive())
    await settle()
    before, named, column = places(window), in_sight(window), window.sidebar.width()
    await narrow(window, qtbot, width=800)
    qtbot.waitUntil(lambda: window.sidebar.width() == column)
    await narrow(window, qtbot)
    qtbot.waitUntil(lambda: window.chat.width() > 700)  # the chat uses their space
    window.resize(1300, 860)
    qtbot.waitUntil(lambda: in_sight(window) == named)
    await settle(30)
    qtbot.waitUntil(lambda: places(window) == before and window.sidebar.width() == column)


async def test_the_drawer_covers_the_conversation(window: MainWindow, qtbot: QtBot) -> None:
    await narrow(window, qtbot)
    chat, composer = window.chat.size(), window.chat.composer.mapTo(window, QPoint())
    open_by_button(window, qtbot)
    tasks = window.rail.docks["tasks"]
    qtbot.waitUntil(lambda: tasks.width() > 200)
    await settle()

    def over() -> None:
        assert tasks.geometry().right() >= window.rail.strip.x() - 2
        assert window.pages.geometry().right() < tasks.x(), "they are not under the conversation"
        assert window.chat.size() == chat
        assert window.chat.composer.mapTo(window, QPoint()) == composer

    qtbot.waitUntil(over)


async def test_panes_squeezed_beside_the_chat_have_their_width_in_the_drawer(window: MainWindow, qtbot: QtBot) -> None:
    tasks = window.rail.docks["tasks"]
    usual = tasks.width()
    window.resizeDocks([tasks], [tasks.minimumSizeHint().width()], Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: tasks.width() < usual)
    await narrow(window, qtbot)
    open_by_button(window, qtbot)
    qtbot.waitUntil(lambda: tasks.width() >= usual)


async def test_esc_and_a_click_outside_close_the_drawer(window: MainWindow, qtbot: QtBot) -> None:
    await narrow(window, qtbot)

    def by_esc() -> None:
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Escape)

    def click_outside(name: str) -> Callable[[], None]:
        part = window.findChild(QWidget, name) if name else window.chat
        assert part is not None

        def click() -> None:
            found = QApplication.widgetAt(part.mapToGlobal(QPoint(60, 120)))
            assert found is not None
            QTest.mouseClick(found, Qt.MouseButton.LeftButton, pos=QPoint(60, 120))

        return click

    for close in (by_esc, click_outside(""), click_outside("workflow-list"), window.actions_["toggle-panes"].trigger):
        window.actions_["toggle-panes"].trigger()
        qtbot.waitUntil(lambda: bool(in_sight(window)))
        await settle()
        close()
        qtbot.waitUntil(lambda: not in_sight(window))
        await settle()
        assert window.focusWidget() is window.chat.composer.field
        assert window.findChildren(QWidget, "drawer-shade") == []


async def test_the_cross_on_a_pane_in_the_drawer_closes_the_drawer(window: MainWindow, qtbot: QtBot) -> None:
    """It used to close one pane, and the next one appeared in its place."""
    await narrow(window, qtbot, height=700)
    open_by_button(window, qtbot)
    await settle()
    before = in_sight(window)
    assert len(before) > 1
    front = next(name for name in SIDE if not window.rail.docks[name].visibleRegion().isEmpty())
    cross = child(window, QToolButton, f"hide-{front}")
    assert cross.toolTip() == cross.accessibleName() == "Close the panes"
    QTest.mouseClick(cross, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not in_sight(window))
    assert not window.rail.drawer.open
    open_by_button(window, qtbot)
    assert in_sight(window) == before


async def test_the_cross_beside_the_conversation_closes_its_pane_alone(window: MainWindow, qtbot: QtBot) -> None:
    before = in_sight(window)
    cross = child(window, QToolButton, "hide-memory")
    assert cross.toolTip() == "Hide Memory"
    QTest.mouseClick(cross, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: in_sight(window) == before - {"memory"})


async def test_a_panes_shortcut_opens_the_drawer_at_it(window: MainWindow, qtbot: QtBot) -> None:
    await narrow(window, qtbot)
    window.actions_["show-questions"].trigger()
    qtbot.waitUntil(lambda: not window.rail.docks["questions"].visibleRegion().isEmpty())
    assert window.rail.drawer.open


async def test_panes_hidden_by_a_narrow_window_are_not_stored_as_hidden(window: MainWindow, qtbot: QtBot) -> None:
    layouts: list[dict[str, str]] = []
    saver = LayoutKeeper(window, lambda: layouts.append(window.layout_state()))
    saver._debouncer.setInterval(0)
    saver.start()
    window.rail.docks["memory"].close()
    named = in_sight(window)
    await narrow(window, qtbot)
    qtbot.waitUntil(lambda: bool(layouts))
    other = await started(qtbot)
    other.restore_layout(layouts[-1])
    await settle()
    assert other.width() == 1024
    assert in_sight(other) == set(), "still narrow"
    other.resize(1300, 860)
    qtbot.waitUntil(lambda: in_sight(other) == named)


async def test_panes_hidden_by_a_person_stay_hidden(window: MainWindow, qtbot: QtBot) -> None:
    window.actions_["toggle-panes"].trigger()
    assert not in_sight(window)
    window.resize(1024, 860)
    await settle()
    window.actions_["toggle-panes"].trigger()
    qtbot.waitUntil(lambda: bool(in_sight(window)))
    window.resize(1300, 860)
    qtbot.waitUntil(lambda: not in_sight(window))
    window.resize(1024, 860)
    window.actions_["toggle-panes"].trigger()
    window.rail.docks["tasks"].close()
    window.actions_["toggle-panes"].trigger()
    window.resize(1300, 860)
    window.actions_["toggle-panes"].trigger()
    qtbot.waitUntil(lambda: in_sight(window) == set(SIDE) - {"tasks"})


async def test_panes_are_moved_and_detached_in_the_drawer(window: MainWindow, qtbot: QtBot) -> None:
    await narrow(window, qtbot, height=860)
    open_by_button(window, qtbot)
    docks = window.rail.docks
    movable = QDockWidget.DockWidgetFeature.DockWidgetMovable
    assert all(dock.features() & movable for dock in docks.values())
    QTest.mouseClick(child(window, QWidget, "float-tasks"), Qt.MouseButton.LeftButton)
    assert docks["tasks"].isFloating()
    window.rail.drawer.shut()
    await settle()
    assert docks["tasks"].isVisible(), "a window of its own does not yield"
    QTest.mouseClick(child(window, QWidget, "float-tasks"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.rail.drawer.open)
    assert in_sight(window) == set(SIDE)
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks["tasks"])
    await settle()
    window.rail.drawer.shut()
    assert not in_sight(window)
    window.resize(1300, 860)
    qtbot.waitUntil(lambda: in_sight(window) == set(SIDE))
    assert window.dockWidgetArea(docks["tasks"]) == Qt.DockWidgetArea.LeftDockWidgetArea


async def test_a_pane_that_opens_below_closes_the_drawer(window: MainWindow, qtbot: QtBot) -> None:
    await narrow(window, qtbot, width=800)
    open_by_button(window, qtbot)
    window.actions_["show-timeline"].trigger()
    timeline = window.rail.docks["timeline"]
    qtbot.waitUntil(lambda: not in_sight(window) and timeline.isVisible() and timeline.width() > 400)


@pytest.mark.parametrize("scale", [100, 150])
async def test_a_wide_window_becomes_narrow_in_one_step(window: MainWindow, qtbot: QtBot, scale: int) -> None:
    theme().set_scale(scale)
    window.resize(1360, 860)
    await settle()
    assert in_sight(window)
    window.resize(1024, 860)
    assert window.width() == 1024
    qtbot.waitUntil(lambda: not in_sight(window))
    await settle()
    window.resize(1360, 860)
    qtbot.waitUntil(lambda: bool(in_sight(window)))


@pytest.mark.parametrize("width", [800, 1024, 1300, 1700])
async def test_the_composer_is_as_wide_as_the_messages(window: MainWindow, qtbot: QtBot, width: int) -> None:
    window.resize(width, 860)
    qtbot.waitUntil(lambda: window.chat.composer.width() == min(CHAT_COLUMN, window.chat.width() - 2 * 24))


async def test_a_new_workflow_is_not_under_the_drawer(window: MainWindow, qtbot: QtBot) -> None:
    await narrow(window, qtbot)
    open_by_button(window, qtbot)
    qtbot.waitUntil(lambda: bool(in_sight(window)))
    await settle()
    window.actions_["new-workflow"].trigger()
    qtbot.waitUntil(lambda: not in_sight(window))
    await settle()
    assert window.focusWidget() is window.chat.composer.field


async def test_qts_own_objects_outlive_the_drawer_and_detached_panes(window: MainWindow, qtbot: QtBot) -> None:
    """PySide6 can treat objects of Qt as deleted when something next to them is: see ``test_tab_stops``."""
    made = {getCppPointer(each)[0]: each for each in window.findChildren(QObject)}

    def lost() -> list[str]:
        still = {getCppPointer(each)[0] for each in window.findChildren(QObject)}
        return [str(type(each)) for address, each in made.items() if address in still and not isValid(each)]

    for _time in range(2):
        await narrow(window, qtbot)
        for close in (window.actions_["toggle-panes"].trigger, lambda: QTest.keyClick(window, Qt.Key.Key_Escape)):
            open_by_button(window, qtbot)
            await settle()
            QTest.keyClick(window, Qt.Key.Key_Tab)
            child(window, QAbstractButton, "float-memory").click()
            assert window.rail.docks["memory"].isFloating()
            child(window, QAbstractButton, "float-memory").click()
            await settle()
            close()
            qtbot.waitUntil(lambda: not in_sight(window))
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            assert lost() == []
        window.resize(1360, 860)
        qtbot.waitUntil(lambda: bool(in_sight(window)))
        child(window, QAbstractButton, "float-tasks").click()
        window.rail.docks["tasks"].close()
        window.actions_["show-tasks"].trigger()
        child(window, QAbstractButton, "float-tasks").click()
        await settle()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        assert lost() == []
