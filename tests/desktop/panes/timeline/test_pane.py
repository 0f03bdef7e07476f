"""The timeline over a fake engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QToolButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.timeline.list import TimelineList
from atelier_desk.desktop.panes.timeline.paint import names_width, tick_time
from atelier_desk.desktop.panes.timeline.pane import REFRESH_MS, TimelinePane
from atelier_desk.desktop.panes.timeline.view import TimelineView, describe_span
from atelier_desk.desktop.replay.span_and_event_titles import mark_title, span_title
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import TimelineMark
from atelier_desk.support import i18n
from tests.desktop.panes.conftest import Show
from tests.desktop.team.sample_team_events import START
from tests.helpers import sample_team_history
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


@pytest.fixture
def atelier() -> FakeAtelier:
    return sample_team_history.engine()


@pytest.fixture
async def pane(bridge: FakeBridge, shown: Show) -> TimelinePane:
    made: TimelinePane = shown(TimelinePane(bridge))
    made.window().resize(900, 320)
    made.set_workflow("w1")
    await settle()
    return made


def view_of(pane: TimelinePane) -> TimelineView:
    found = pane.findChild(TimelineView, "timeline-view")
    assert isinstance(found, TimelineView)
    return found


def event(kind: ChunkType = ChunkType.TOOL_START) -> StreamEvent:
    return StreamEvent(workflow_id="w1", run_id="root", chunk_type=kind)


def place_of(view: TimelineView, number: int) -> QPoint:
    return view.bars[number].rect.center().toPoint() + view.origin()


async def test_each_agent_has_a_lane_and_each_span_a_bar(pane: TimelinePane) -> None:
    view = view_of(pane)
    assert [(lane.run.name, lane.run.depth) for lane in view.lanes] == [("Ada", 0), ("Helper", 1)]
    assert len(view.bars) == 6
    assert all(bar.rect.right() + view.origin().x() <= view.viewport().width() for bar in view.bars)
    assert view.lanes[0].top < view.lanes[1].top
    assert not view.grab().isNull()


async def test_a_click_selects_a_span_and_describes_it(pane: TimelinePane, qtbot: QtBot) -> None:
    view = view_of(pane)
    with qtbot.waitSignal(view.span_chosen) as received:
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(view, 5))
    assert received.args[0].label == "read_file"
    assert "Helper" in pane.status.text()
    assert "read_file" in pane.status.text()
    assert "failed" in view.accessibleDescription()


async def test_the_keyboard_reaches_every_span_and_zooms(pane: TimelinePane) -> None:
    view = view_of(pane)
    view.setFocus()
    chosen = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_End, Qt.Key.Key_Up):
        QTest.keyClick(view, key)
        assert view.chosen is not None
        chosen.append((view.chosen.span.run_id, view.chosen.span.seq))
    assert chosen == [("root", 3), ("root", 5), ("child", 7), ("child", 9), ("root", 5)]
    before = view.bars[0].rect.width()
    QTest.keyClick(view, Qt.Key.Key_Plus)
    assert view.bars[0].rect.width() > before
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.zoom == 1


async def test_the_menu_leads_to_agent_request_replay_and_fork(pane: TimelinePane) -> None:
    received: list[tuple[Any, ...]] = []
    pane.agent_requested.connect(lambda *args: received.append(("agent", *args)))
    pane.request_requested.connect(lambda *args: received.append(("request", *args)))
    pane.replay_requested.connect(lambda *args: received.append(("replay", *args)))
    pane.fork_requested.connect(lambda *args: received.append(("fork", *args)))
    menu = pane.menu_for(view_of(pane).bars[4].span)
    for entry in menu.actions():
        entry.trigger()
    assert received == [("agent", "child"), ("request", "child", 7), ("replay", "w1", "root", 7), ("fork", "w1", 7)]


async def test_the_root_agent_is_the_conversation_itself(pane: TimelinePane) -> None:
    menu = pane.menu_for(view_of(pane).bars[0].span)
    assert not menu.actions()[0].isEnabled()


async def test_the_list_has_the_same_spans_and_selection(pane: TimelinePane) -> None:
    view = view_of(pane)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(view, 5))
    child(pane, QAbstractButton, "timeline-as-list").click()
    rows = pane.findChild(TimelineList, "timeline-list")
    assert isinstance(rows, TimelineList)
    assert rows.isVisible()
    assert rows.count() == 6
    assert rows.currentItem().text() == "Helper · read_file"
    rows.setCurrentRow(0)
    assert view.chosen is view.bars[0]


async def test_the_list_grows_with_the_run(pane: TimelinePane, atelier: FakeAtelier) -> None:
    timeline = sample_team_history.timeline(over=False)
    first = replace(timeline, runs=(replace(timeline.runs[0], spans=timeline.runs[0].spans[:2]), timeline.runs[1]))
    atelier.set("teams", "timeline", first)
    child(pane, QAbstractButton, "timeline-as-list").click()
    pane.reload()
    await settle()
    rows = pane.findChild(TimelineList, "timeline-list")
    assert isinstance(rows, TimelineList)
    items = [rows.item(row) for row in range(rows.count())]
    rows.setCurrentRow(3)
    atelier.set("teams", "timeline", timeline)
    pane.reload()
    await settle()
    assert rows.count() == 6
    assert [rows.item(row) for row in range(4)] == items
    assert rows.currentRow() == 3
    assert "running" in rows.item(5).toolTip()


async def test_nothing_is_loaded_while_it_is_hidden(pane: TimelinePane, atelier: FakeAtelier) -> None:
    asked = len(atelier.calls("teams.timeline"))
    pane.hide()
    pane.on_stream(event())
    pane._refresh.timeout.emit()
    await settle()
    assert len(atelier.calls("teams.timeline")) == asked
    pane.show()
    await settle()
    assert len(atelier.calls("teams.timeline")) == asked + 1


async def test_many_events_cause_one_load_and_streamed_text_none(pane: TimelinePane, atelier: FakeAtelier) -> None:
    asked = len(atelier.calls("teams.timeline"))
    for _number in range(50):
        pane.on_stream(event(ChunkType.TOKEN))
    assert not pane._refresh.isActive()
    for _number in range(50):
        pane.on_stream(event())
    assert pane._refresh.isActive()
    assert pane._refresh.interval() == REFRESH_MS >= 250
    pane._refresh.timeout.emit()
    await settle()
    assert len(atelier.calls("teams.timeline")) == asked + 1


async def test_selection_and_zoom_stay_while_the_run_continues(pane: TimelinePane, atelier: FakeAtelier) -> None:
    view = view_of(pane)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(view, 4))
    view.zoom_by(2)
    atelier.set("teams", "timeline", sample_team_history.timeline(over=False))
    pane.reload()
    await settle()
    assert view.zoom == 2
    assert view.chosen is not None
    assert view.chosen.span.run_id == "child"


async def test_a_workflow_without_runs_shows_a_hint(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> None:
    atelier.set("teams", "turns", [])
    pane = shown(TimelinePane(bridge))
    pane.set_workflow("w1")
    await settle()
    assert pane.stack.currentWidget() is pane.empty
    assert bridge.errors == []


async def test_unfinished_spans_grow_while_visible(pane: TimelinePane, atelier: FakeAtelier) -> None:
    atelier.set("teams", "timeline", sample_team_history.timeline(over=False))
    pane.reload()
    await settle()
    view = view_of(pane)
    assert view._clock.isActive()
    as_list = pane.findChild(QToolButton, "timeline-as-list")
    assert isinstance(as_list, QToolButton)
    as_list.click()
    assert not view._clock.isActive()
    as_list.click()
    assert view._clock.isActive()
    pane.hide()
    assert not view._clock.isActive()
    pane.show()
    assert view._clock.isActive()
    pane.set_workflow("")
    assert not view._clock.isActive()


async def test_list_and_description_follow_the_language(pane: TimelinePane) -> None:
    child(pane, QToolButton, "timeline-as-list").click()
    rows = pane.findChild(TimelineList, "timeline-list")
    assert isinstance(rows, TimelineList)
    rows.setCurrentRow(0)
    view = view_of(pane)
    english = [rows.item(0).text(), rows.item(0).toolTip(), view.accessibleDescription()]
    i18n.set_language("fr")
    refresh_texts()
    french = [rows.item(0).text(), rows.item(0).toolTip(), view.accessibleDescription()]
    assert all(before != after for before, after in zip(english, french, strict=True))
    assert rows.currentRow() == 0


@pytest.mark.parametrize("step", [10, 20, 50, 100, 200, 500, 1_000, 2_000, 15_000, 30_000, 60_000])
def test_no_two_ticks_have_the_same_label(step: int) -> None:
    for start in (0, 10_000, 59_000, 3_599_000):
        labels = [tick_time(start + number * step, step) for number in range(40)]
        assert len(set(labels)) == len(labels)


def test_tick_labels_are_as_precise_as_the_step() -> None:
    assert tick_time(0, 50) == "0"
    assert tick_time(150, 50) == "150\u202fms"
    assert tick_time(1_050, 50) == "1.05\u202fs"
    assert tick_time(500, 500) == "0.5\u202fs"
    assert tick_time(5_000, 5_000) == "5\u202fs"
    assert tick_time(90_500, 500) == "1:30.5"
    assert tick_time(61_000, 1_000) == "1:01"
    assert tick_time(7_200_000, 1_800_000) == "2:00:00"
    i18n.set_language("fr")
    assert tick_time(1_050, 50) == "1,05\u202fs"


async def test_the_column_of_names_grows_with_the_text(pane: TimelinePane) -> None:
    view = view_of(pane)
    assert pane.timeline is not None
    runs = tuple(replace(run, name="Architect of types") for run in pane.timeline.runs)
    pane.window().resize(660, 360)
    view.show_timeline(replace(pane.timeline, runs=runs))
    share = view.gutter / view.viewport().width()
    theme().set_scale(150)
    assert view.gutter / view.viewport().width() > share
    assert view.gutter <= names_width(runs)
    short = tuple(replace(run, name="Al") for run in pane.timeline.runs)
    view.show_timeline(replace(pane.timeline, runs=short))
    assert view.gutter / view.viewport().width() <= share + 0.01  # no more than needed


@pytest.mark.parametrize(
    ("scale", "width", "height"), [(100, 760, 200), (100, 420, 320), (150, 660, 360), (200, 800, 500)]
)
async def test_the_colours_are_explained_if_there_is_space(
    pane: TimelinePane, scale: int, width: int, height: int
) -> None:
    theme().set_scale(scale)
    pane.window().resize(width, height)
    await settle()
    assert not pane.key.isHidden()
    assert pane.key.geometry().right() <= pane.width()
    assert pane.key.geometry().bottom() <= pane.height()
    assert not pane.key.geometry().intersects(pane.status.geometry())
    assert not pane.key.geometry().intersects(pane.stack.geometry())
    assert not pane.key.grab().isNull()


async def test_a_low_pane_keeps_its_height_for_the_timeline(pane: TimelinePane) -> None:
    pane.setMinimumSize(180, 90)
    pane.window().resize(420, 180)
    await settle()
    assert pane.key.isHidden()


async def test_a_call_has_a_readable_text_and_its_tools_name_in_the_details(pane: TimelinePane) -> None:
    view = view_of(pane)
    bar = next(bar for bar in view.bars if bar.span.kind == "tool")
    span = replace(bar.span, label="TodoTool", title="Tasks")
    assert span_title(span) == "Tasks"
    assert describe_span(bar.run, span, None, START)[1] == "Tasks (TodoTool)"
    assert mark_title(TimelineMark(1, START, "root", "tool_call_started", "TodoTool", "Tasks")) == "Tasks started"
