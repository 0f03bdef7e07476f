"""Positions of panes: the lower drawer beside the sidebar, and headings that stay in place."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QDockWidget, QLabel, QPushButton, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.diff.view import DiffView
from atelier_desk.desktop.panes.pane_base import Pane
from atelier_desk.desktop.questions.markdown_view import MarkdownView
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.window import LAYOUT_VERSION, MainWindow
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Report
from tests.desktop.panes.started_window import started
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


@pytest.fixture
async def window(qtbot: QtBot) -> MainWindow:
    return await started(qtbot)


def position(window: MainWindow, name: str) -> QPoint:
    found = window.findChild(QWidget, name)
    assert found is not None, name
    return found.mapTo(window, QPoint(0, 0))


@pytest.mark.parametrize("pane", ["timeline", "context"])
async def test_the_drawer_does_not_move_the_footer_of_the_sidebar(window: MainWindow, pane: str) -> None:
    foot, composer = position(window, "open-settings"), position(window, "chat-input")
    window.rail.show_pane(pane)
    await settle()
    assert position(window, "open-settings") == foot
    assert position(window, "chat-input").y() < composer.y()
    assert window.rail.docks[pane].x() > window.sidebar.mapTo(window, window.sidebar.rect().topRight()).x()
    window.rail.docks[pane].close()
    await settle()
    assert position(window, "open-settings") == foot


async def test_hiding_the_sidebar_gives_its_space_to_the_conversation(window: MainWindow, qtbot: QtBot) -> None:
    left = position(window, "chat-view").x()
    window.toggle_sidebar()
    await settle()
    assert not window.side.dock.isVisible()
    qtbot.waitUntil(lambda: position(window, "chat-view").x() < left)
    layout = window.layout_state()
    other = await started(qtbot)
    other.restore_layout(layout)
    await settle()
    assert not other.side.dock.isVisible()
    window.toggle_sidebar()
    await settle()
    qtbot.waitUntil(lambda: position(window, "chat-view").x() == left)


def is_tall(dock: QWidget) -> bool:
    return dock.height() > 150


async def test_a_stored_layout_without_the_sidebar_leaves_it_in_place(window: MainWindow, qtbot: QtBot) -> None:
    left = position(window, "chat-view").x()
    dock = window.side.dock
    window.removeDockWidget(dock)
    strange = window.saveState(LAYOUT_VERSION)
    window.side.repair_layout()
    window.restoreState(strange, LAYOUT_VERSION)
    window.side.repair_layout()
    window.rail.repair_layout()
    window.side.size_column(1.0)
    window.rail.size_column()
    await settle()
    assert dock.isVisible()
    qtbot.waitUntil(lambda: position(window, "chat-view").x() == left)


async def test_lines_separate_the_three_columns(window: MainWindow) -> None:
    image = window.grab().toImage()
    left = window.pages.mapTo(window, QPoint(0, 400))
    right = left + QPoint(window.pages.width() - 1, 0)
    assert image.pixelColor(left) == image.pixelColor(right) == theme().colour("border")


async def test_the_sidebar_is_hidden_while_a_startup_error_is_shown(window: MainWindow) -> None:
    window.show_engine_error(StorageError("Because.", code="locked"), "/data", lambda: None)
    await settle()
    assert not child(window, QPushButton, "new-workflow").isVisible()
    window.leave_engine_error()
    await settle()
    assert child(window, QPushButton, "new-workflow").isVisible()


async def test_tab_goes_from_the_sidebar_to_the_conversation(window: MainWindow) -> None:
    chain: list[QWidget] = [window.sidebar.new]
    while (after := chain[-1].nextInFocusChain()) is not chain[0]:
        assert after is not None
        chain.append(after)
    assert chain.index(window.sidebar.list) < chain.index(window.chat.composer.field)


async def test_headings_are_in_place_again_after_large_text(window: MainWindow, qtbot: QtBot) -> None:
    panes = [pane for pane in window.rail.panes.values() if isinstance(pane, Pane)]
    before = [pane.heading.height() for pane in panes if pane.isVisible()]
    theme().set_scale(150)
    await settle(30)
    theme().set_scale(100)
    await settle(30)
    assert before
    qtbot.waitUntil(lambda: [pane.heading.height() for pane in panes if pane.isVisible()] == before)


async def test_in_a_low_window_the_panes_are_tabs_and_unstacked_again_in_a_high_one(
    window: MainWindow, qtbot: QtBot
) -> None:
    docks = window.rail.docks
    assert not window.tabifiedDockWidgets(docks["tasks"])
    window.resize(1024, 700)
    window.toggle_panes()
    qtbot.waitUntil(lambda: {docks["activity"], docks["memory"]} <= set(window.tabifiedDockWidgets(docks["tasks"])))
    qtbot.waitUntil(lambda: any(dock.height() > 400 for dock in docks.values() if not dock.visibleRegion().isEmpty()))
    window.resize(1300, 860)
    qtbot.waitUntil(lambda: not window.tabifiedDockWidgets(docks["tasks"]))


async def test_a_pane_that_is_torn_off_does_not_cover_the_others(window: MainWindow, qtbot: QtBot) -> None:
    dock = window.rail.docks["tasks"]
    others = window.rail.docks["memory"].mapToGlobal(QPoint(0, 0)).x()
    child(window, QAbstractButton, "float-tasks").click()
    assert dock.isFloating()
    assert dock.geometry().right() < others
    child(window, QAbstractButton, "float-tasks").click()
    assert not dock.isFloating()


async def test_a_change_of_theme_keeps_the_column_widths(window: MainWindow, qtbot: QtBot) -> None:
    window.resizeDocks([window.rail.docks["tasks"]], [380], Qt.Orientation.Horizontal)
    await settle()
    wide = window.rail.docks["tasks"].width()
    assert wide > 340
    theme().set_mode("dark")
    await settle()
    qtbot.waitUntil(lambda: window.rail.docks["tasks"].width() == wide)


async def test_an_empty_pane_collapses_to_its_heading_with_the_reason_and_expands(
    window: MainWindow, qtbot: QtBot
) -> None:
    pane, dock = window.rail.panes["tasks"], window.rail.docks["tasks"]
    why = pane.findChild(QLabel, "pane-why")
    assert why is not None
    activity = window.rail.docks["activity"]
    qtbot.waitUntil(
        lambda: why.text() == "No tasks yet" and dock.height() < 70 and activity.y() <= dock.geometry().bottom() + 20
    )
    below = activity.y()
    assert pane.heading.isVisible()
    assert not window.rail.panes["memory"].folded, "the lowest gets the remaining space"
    switch_language("fr")
    assert why.text() == "Aucune tâche"
    switch_language("en")
    window.bridge.engine.set("tasks", "list", [Task(id="t1", workflow_id="w1", name="Measure")])  # type: ignore[attr-defined]
    pane.reload()
    await settle()
    qtbot.waitUntil(lambda: dock.height() >= 200)
    qtbot.waitUntil(lambda: activity.y() > below)  # the others used its space
    assert why.text() == ""
    assert child(pane, QWidget, "task-list").isVisible()


@pytest.mark.parametrize("scale", [100, 120])
async def test_panes_filled_one_after_another_leave_the_lowest_its_search_field(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, scale: int
) -> None:
    filled: set[str] = set()
    monkeypatch.setattr(Pane, "vacant", property(lambda pane: pane.objectName() not in filled))
    theme().set_scale(scale)
    window = await started(qtbot)
    docks, panes = window.rail.docks, window.rail.panes
    for name, other in (("tasks", "task-pane"), ("activity", "activity-pane")):
        filled.add(other)
        panes[name].filled.emit()
        qtbot.waitUntil(partial(is_tall, docks[name]))
    search = child(window, QWidget, "memory-search")
    qtbot.waitUntil(lambda: search.height() >= search.sizeHint().height())


async def test_heights_set_by_hand_survive_the_opening_of_another_pane(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pane, "vacant", property(lambda _pane: False))
    docks = window.rail.docks
    docks["memory"].hide()
    for scale in (125, 100):
        theme().set_scale(scale)
        await settle()
    window.resizeDocks([docks["tasks"], docks["activity"]], [150, 600], Qt.Orientation.Vertical)
    await settle()
    upper, lower = docks["tasks"].height(), docks["activity"].height()
    assert upper < lower / 2
    docks["memory"].show()
    await settle()
    assert docks["tasks"].height() <= upper
    assert docks["activity"].height() >= lower / 2


async def test_heights_set_by_hand_survive_in_a_column_that_was_opened_pane_by_pane(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is to stay closed: its default layout was never shown as a whole."""
    monkeypatch.setattr(Pane, "vacant", property(lambda _pane: False))
    window = await started(qtbot, closed=True)
    docks = window.rail.docks
    for name in ("tasks", "activity"):
        window.rail.show_pane(name)
        await settle()
    window.resizeDocks([docks["tasks"], docks["activity"]], [150, 600], Qt.Orientation.Vertical)
    await settle()
    upper, lower = docks["tasks"].height(), docks["activity"].height()
    assert upper < lower / 2
    window.rail.show_pane("memory")
    await settle()
    assert docks["memory"].height() > 200
    assert docks["tasks"].height() <= upper
    assert docks["activity"].height() >= lower / 2


async def test_a_window_resized_before_the_column_opens_gives_its_panes_their_usual_heights(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pane, "vacant", property(lambda _pane: False))
    docks = window.rail.docks
    usual = [docks[name].height() for name in ("tasks", "activity", "memory")]
    window.rail.set_visible(False)
    for scale in (125, 100):
        theme().set_scale(scale)
        await settle()
    window.rail.set_visible(True)
    qtbot.waitUntil(lambda: [docks[name].height() for name in ("tasks", "activity", "memory")] == usual)


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("size", [(1360, 720), (1024, 720), (1360, 780)])
async def test_no_heading_of_a_pane_is_elided(
    window: MainWindow, qtbot: QtBot, language: str, size: tuple[int, int]
) -> None:
    switch_language(language)
    window.resize(*size)
    window.rail.set_visible(True)
    qtbot.waitUntil(lambda: not window.rail._fold.isActive() and not window.rail._fit.isActive())
    await settle(20)
    for name in ("tasks", "activity", "memory"):
        window.rail.show_pane(name)
        await settle()
        pane, dock = window.rail.panes[name], window.rail.docks[name]

        def not_elided(pane: Pane = pane, dock: QDockWidget = dock) -> None:
            cut = [
                each.text()
                for each in (pane.heading, pane.why)
                if each.text() and each.sizeHint().width() > each.width()
            ]
            assert cut == []
            assert dock.geometry().bottom() <= window.height()
            assert pane.height() >= pane.minimumSizeHint().height()

        qtbot.waitUntil(not_elided)


async def test_pending_items_are_counted_on_the_tab_of_their_pane(window: MainWindow, qtbot: QtBot) -> None:
    def tabs() -> set[str]:
        return {bar.tabText(position) for bar in window.findChildren(QTabBar) for position in range(bar.count())}

    qtbot.waitUntil(lambda: "Reports" in tabs())
    window.rail.panes["reports"].waiting.emit(2)
    assert "Reports · 2" in tabs()
    switch_language("fr")
    try:
        assert "Rapports · 2" in tabs()
    finally:
        switch_language("en")
    window.rail.panes["reports"].waiting.emit(0)
    assert "Reports" in tabs()


async def test_a_pane_opened_after_the_column_was_closed_comes_with_the_others(window: MainWindow) -> None:
    def shown() -> set[str]:
        return {name for name, dock in window.rail.docks.items() if not dock.isHidden()}

    window.rail.docks["reports"].close()
    await settle()
    before = shown()
    assert "tasks" in before
    assert "reports" not in before
    window.toggle_panes()
    assert shown() == set()
    child(window.rail.strip, QToolButton, "open-tasks").click()
    await settle()
    assert shown() == before
    assert not window.rail.docks["tasks"].visibleRegion().isEmpty()


@pytest.mark.parametrize("size", [(1300, 860), (1300, 700), (1024, 700)])
async def test_it_opens_on_a_pane_with_content(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    rail, filled = window.rail, {"question-inbox"}
    monkeypatch.setattr(Pane, "vacant", property(lambda pane: pane.objectName() not in filled))
    window.resize(*size)
    await settle(30)

    def opened(waits: int = 0) -> set[str]:
        rail.set_visible(False)
        rail.panes["reports"].waiting.emit(waits)
        rail.set_visible(True)
        QCoreApplication.processEvents()
        return {name for name, dock in rail.docks.items() if not dock.visibleRegion().isEmpty()}

    assert "questions" in opened()
    filled.add("reports-pane")
    assert "questions" in opened(), "it was in view last"
    assert "reports" in opened(waits=1)
    rail.show_pane("questions")
    filled.remove("question-inbox")
    assert "reports" in opened()


async def test_a_layout_of_a_low_window_is_unstacked_in_a_higher_one(window: MainWindow, qtbot: QtBot) -> None:
    docks = window.rail.docks
    window.resize(1300, 700)
    qtbot.waitUntil(lambda: docks["memory"] in window.tabifiedDockWidgets(docks["tasks"]))
    layout = window.layout_state()
    window.resize(1300, 900)
    qtbot.waitUntil(lambda: not window.tabifiedDockWidgets(docks["tasks"]))
    del layout["geometry"]  # Qt omits it for a screen of another size
    window.restore_layout(layout)
    qtbot.waitUntil(lambda: not window.tabifiedDockWidgets(docks["tasks"]))
    assert not docks["memory"].isHidden()


async def test_a_new_workflow_closes_the_previous_ones_drawer(window: MainWindow) -> None:
    """The diff of another workflow's files took half of the start page."""
    window.rail.show_pane("files")
    window.rail.set_workflow("w2")
    assert not window.rail.docks["files"].isHidden(), "another one may have files too"
    window.rail.docks["timeline"].setFloating(True)
    window.rail.docks["timeline"].show()
    window.rail.set_workflow("")
    assert window.rail.docks["files"].isHidden()
    assert not window.rail.docks["timeline"].isHidden(), "a floating pane uses no space"


async def test_the_card_of_changed_files_opens_their_diff(window: MainWindow) -> None:
    facts: Any = {"workflow_id": "w1", "at": "2026-11-22T00:00:00Z", "root": "/p", "action": "changed"}
    engine: Any = window.bridge.engine
    engine.set("files", "list", [Change(id="1", path="a.md", **facts)])
    engine.set("files", "marked", [])
    engine.set("files", "diff", FileChange(action="changed", path="a.md", diff="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"))
    window.chat.host.files_requested.emit(("1",))
    await settle()
    diff = window.rail.docks["files"].findChild(DiffView)
    assert diff is not None
    assert diff.isVisible()
    assert "y" in diff.text


async def test_the_card_of_a_report_opens_it(window: MainWindow) -> None:
    engine: Any = window.bridge.engine
    engine.set("reports", "list", [Report(id="p1", workflow_id="w1", name="audit")])
    engine.set("reports", "read", "# Audit\n\nOne finding.")
    window.chat.host.report_requested.emit("audit")
    await settle()
    view = window.rail.docks["reports"].findChild(MarkdownView)
    assert view is not None
    assert view.isVisible()
    assert "One finding." in view.toPlainText()


@pytest.mark.parametrize("low", [False, True])
async def test_a_restored_stack_of_panes_has_one_tab_bar_from_the_first_paint(
    window: MainWindow, qtbot: QtBot, low: bool
) -> None:
    """Qt deletes the bars of earlier layouts in the event loop, which begins after the first paint."""
    window.resize(1360, 600)
    window.rail.fit()
    window.rail.show_pane("reports")
    await settle(30)
    kept = window.layout_state()
    other = MainWindow(FakeBridge(FakeAtelier()))
    qtbot.addWidget(other)
    if low:  # then the first layout is one stack, too
        other.resize(1360, 600)
        other.rail.make_docks()
    other.restore_layout(kept)
    other.show()
    bars = other.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    (bar,) = [bar for bar in bars if bar.isVisible() and bar.count()]
    assert [bar.tabText(number) for number in range(bar.count())] == ["Tasks", "Activity", "Memory", "Reports", "Inbox"]


async def test_panes_receive_the_events_of_the_workflow_in_view_alone(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[str] = []
    monkeypatch.setattr(window.rail.panes["activity"], "on_stream", lambda event: received.append(event.workflow_id))
    for workflow in ("other", "w1"):
        window.bridge.stream_event.emit(StreamEvent(workflow_id=workflow, chunk_type=ChunkType.WORKFLOW_START))
    assert received == ["w1"]
