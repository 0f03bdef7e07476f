"""The list of workflows: groups, search, rename in place, menus, folders, the footer."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.sidebar.list_model import ListState, group_of, state_text
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.date_format import short_day
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from atelier_desk.engine.services.workflows import Listing
from atelier_desk.storage.repositories import SearchHit
from atelier_desk.support import i18n
from tests.desktop.sidebar.sidebar_harness import FILED, LISTED, Column, entry, open_menu, rows, workflow
from tests.helpers.fake_bridge import DelayedResult, settle
from tests.helpers.mouse_pointer import aim, leave


def test_workflows_are_grouped_by_day() -> None:
    now = utc_now()
    today = now.astimezone().date()
    assert group_of(now, today) == "Today"
    assert group_of(now - timedelta(days=1), today) == "Yesterday"
    assert group_of(now - timedelta(days=5), today) == "Last 7 days"
    assert group_of(now - timedelta(days=20), today) == "Last 30 days"
    assert group_of(now.replace(year=2020, month=3, day=10), date(2026, 5, 1)) == "March 2020"
    i18n.set_language("fr")
    assert group_of(now.replace(year=2020, month=3, day=10), date(2026, 5, 1)) == "Mars 2020"


async def test_headings_separate_groups_and_cannot_be_selected(column: Column) -> None:
    model = column.sidebar.model
    assert rows(model) == ["Pinned", "p", "Today", "a", "b", "Yesterday", "c", "Last 7 days", "d"]
    assert model.flags(model.index(0)) == Qt.ItemFlag.NoItemFlags


async def test_the_state_is_shown_in_words(column: Column) -> None:
    assert state_text(LISTED[2]) == "waiting for you, 2 open questions"
    cut_off = Workflow(name="w", status=WorkflowStatus.INTERRUPTED)
    assert state_text(cut_off) == "interrupted"
    i18n.set_language("fr")
    assert state_text(cut_off) == "interrompu"
    i18n.set_language("en")
    index = column.sidebar.model.index_of("b")
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Name b, waiting for you, 2 open questions"


async def test_click_and_enter_open(column: Column) -> None:
    chosen: list[str] = []
    column.sidebar.workflow_chosen.connect(chosen.append)
    view = column.sidebar.list
    QTest.mouseClick(
        view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(column.sidebar.model.index_of("a")).center()
    )
    view.setCurrentIndex(column.sidebar.model.index_of("c"))
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert chosen == ["a", "c"]


async def test_rename_in_place(column: Column) -> None:
    column.sidebar.select("a")
    column.sidebar.rename_current()
    field = column.sidebar.list.findChild(QLineEdit, "rename-field")
    assert field is not None
    field.setText("Better")
    QTest.keyClick(field, Qt.Key.Key_Return)
    await settle()
    assert column.engine.calls("workflows.rename") == [(("a", "Better"), {})]


async def test_search_queries_the_engine_and_shows_empty_results(qtbot: QtBot, column: Column) -> None:
    column.engine.set("workflows", "list", [])
    column.engine.set("workflows", "search", [])
    column.sidebar.search.setText("nowhere")
    await column.sidebar.load()
    assert column.engine.calls("workflows.list")[-1][1]["search"] == "nowhere"
    assert not column.sidebar.empty.isHidden()
    assert column.sidebar.list.isHidden()


async def test_a_changed_row_keeps_selection_and_editor(column: Column) -> None:
    column.sidebar.select("a")
    resets: list[int] = []
    column.sidebar.model.modelReset.connect(lambda: resets.append(1))
    changed = [each.model_copy(update={"name": "Now"}) if each.id == "a" else each for each in LISTED]
    column.sidebar.model.show(ListState(recent=changed))
    assert resets == []
    assert column.sidebar.list.currentIndex().data() == "Now"


async def test_a_menu_acts_on_its_row_and_leaves_the_open_workflow_marked(column: Column) -> None:
    view = column.sidebar.list
    asked: list[tuple[list[str], QPoint]] = []
    view.menu_requested.disconnect()
    view.menu_requested.connect(lambda ids, place: asked.append((ids, place)))
    column.sidebar.select("d")

    def open_menu_by(reason: QContextMenuEvent.Reason, at: QPoint) -> None:
        QApplication.sendEvent(view.viewport(), QContextMenuEvent(reason, at, view.viewport().mapToGlobal(at)))

    pinned = view.visualRect(column.sidebar.model.index_of("p")).center()
    open_menu_by(QContextMenuEvent.Reason.Keyboard, pinned)
    below = view.visualRect(column.sidebar.model.index_of("d")).bottomLeft()
    assert asked == [(["d"], view.viewport().mapToGlobal(below))]
    QTest.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=pinned)
    open_menu_by(QContextMenuEvent.Reason.Mouse, pinned)
    assert asked[1:] == [(["p"], view.viewport().mapToGlobal(pinned))]
    heading = view.visualRect(column.sidebar.model.index(0)).center()
    open_menu_by(QContextMenuEvent.Reason.Mouse, heading)
    assert len(asked) == 2
    current = view.current()
    assert current is not None
    assert (current.id, view.marked, view.shown_id) == ("d", ["d"], "d")


async def test_a_right_click_does_not_move_the_focus(column: Column, qtbot: QtBot) -> None:
    view, field = column.sidebar.list, column.sidebar.search
    view.window().activateWindow()
    qtbot.waitUntil(view.window().isActiveWindow)
    field.setFocus()
    pinned = view.visualRect(column.sidebar.model.index_of("p")).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=pinned)
    assert QApplication.focusWidget() is field
    view.clearSelection()
    view.setCurrentIndex(QModelIndex())
    view.shown_id = "d"
    view.setFocus(Qt.FocusReason.TabFocusReason)
    current = view.current()
    assert current is not None
    assert current.id == "d", "the open one, and not the first row"
    field.setFocus()
    QTest.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=pinned)
    assert QApplication.focusWidget() is view
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(-5, -5))


async def test_the_menu_acts_on_the_clicked_row(column: Column) -> None:
    column.sidebar.select("d")
    menu = open_menu(column, ["p"])
    view, row = column.sidebar.list, column.sidebar.model.index_of
    assert [view.list_row(row(each)).framed for each in "pd"] == [True, False]
    entry(menu, "Unpin").trigger()
    menu.close()
    await settle()
    assert column.engine.calls("workflows.set_pinned") == [(("p", False), {})]
    assert not view.list_row(row("p")).framed


async def test_folders_are_above_the_days_and_the_archive_is_at_the_end(column: Column) -> None:
    column.engine.set("workflows", "list", FILED)
    await column.sidebar.load()
    model, view = column.sidebar.model, column.sidebar.list
    assert rows(model) == ["Pinned", "v", "Art", "y", "Nature", "x", "Today", "a", "b", "Archived"]
    assert model.index(2).data(Qt.ItemDataRole.AccessibleTextRole) == "Art, 1 workflow, expanded"
    view.setCurrentIndex(model.index(2))
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert rows(model)[2:4] == ["Art", "Nature"]
    assert view.currentIndex() == model.index(2), "the keyboard stays where it was"
    view.setCurrentIndex(model.index(rows(model).index("Archived")))
    QTest.keyClick(view, Qt.Key.Key_Right)
    await settle()
    assert view.currentIndex() == model.index(rows(model).index("Archived"))
    QTest.keyClick(view, Qt.Key.Key_Left)
    await settle()
    QTest.mouseClick(
        view.viewport(),
        Qt.MouseButton.LeftButton,
        pos=view.visualRect(model.index(rows(model).index("Archived"))).center(),
    )
    await settle()
    assert column.engine.calls("workflows.listing")[-1][1] == {"archive": True}
    assert rows(model)[-2:] == ["Archived", "z"]
    assert column.sidebar.closed == {":Art"}


def hit(key: str, kind: str = "message") -> SearchHit:
    return SearchHit(kind, "c", "Herons", key, 3, "…a **heron** stands `still`\n| x | y** …", utc_now())


async def test_search_finds_titles_first_then_messages_and_opens_at_the_match(column: Column) -> None:
    places: list[tuple[str, ...]] = []
    column.sidebar.hit_chosen.connect(lambda *place: places.append(place))
    column.engine.set("workflows", "list", [LISTED[1]])
    column.engine.set("workflows", "search", [hit("m1"), hit("t1", "tool_execution"), hit("m2")])
    column.sidebar.search.setText("heron")
    await column.sidebar.load()
    model = column.sidebar.model
    assert rows(model) == ["Workflows", "a", "Messages", "m1", "m2"]
    assert {each.id for each in model.workflows} == {"p", "a", "b", "c", "d"}  # the palette still has all of them
    assert model.index(3).data(Qt.ItemDataRole.AccessibleTextRole) == (
        f"Herons, {short_day(utc_now())}, …a heron stands still x y …"
    )
    painted = [column.sidebar.list.list_row(model.index(number)) for number in (1, 3)]
    assert [row.needle for row in painted] == ["heron", "heron"]  # bold in titles and excerpts
    assert (painted[1].end, painted[1].lines) == (short_day(utc_now()), ("…a heron stands still x y …",))
    opened: list[str] = []
    column.sidebar.workflow_chosen.connect(opened.append)
    QTest.keyClick(column.sidebar.search, Qt.Key.Key_Return)
    QTest.keyClick(column.sidebar.search, Qt.Key.Key_Down)
    view = column.sidebar.list
    for _row in range(1):
        QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert opened == ["a"]
    assert places == [("c", "message", "m1")]
    column.sidebar.search.setFocus()
    QTest.keyClick(column.sidebar.search, Qt.Key.Key_Escape)
    assert column.sidebar.search.text() == ""


async def test_scrolling_to_the_end_loads_more_results_until_the_last(
    column: Column, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atelier_desk.desktop.sidebar.sidebar.LIST_MAX", 200)
    results = [hit(f"m{number}") for number in range(1000)]

    async def search(_needle: str, limit: int) -> list[SearchHit]:
        return results[:limit]

    column.engine.set("workflows", "list", [])
    column.engine.set("workflows", "search", search)
    column.sidebar.search.setText("heron")
    await column.sidebar.load()
    found = []
    for _time in range(4):
        found.append(rows(column.sidebar.model))
        column.sidebar.list.end_reached.emit()
        await settle()
    assert [len(each) for each in found] == [1 + 60, 1 + 160, 1 + 200 + 1, 1 + 200 + 1]
    assert found[-1][-1] == "There are more results. Refine your search."


async def test_the_list_continues_after_a_thousand(column: Column) -> None:
    asked: list[int] = []

    async def listing(limit: int, *, archive: bool = False) -> Listing:
        asked.append(limit)
        return Listing(recent=tuple(LISTED * limit)[:limit], filed=(), archived=(), archived_count=0)

    column.engine.set("workflows", "listing", listing)
    column.sidebar._limit = 1000
    await column.sidebar.load()
    column.sidebar.list.end_reached.emit()
    await settle()
    assert asked == [1000, 1100]


async def test_further_typing_cancels_the_running_search(column: Column) -> None:
    delayed = DelayedResult([LISTED[1]])
    column.engine.set("workflows", "list", delayed)
    column.engine.set("workflows", "search", [])
    column.sidebar.search.setText("a")
    column.sidebar.reload()
    await settle(3)
    column.sidebar.search.setText("ab")
    await delayed.release()
    assert rows(column.sidebar.model)[0] == "Pinned"  # no result of the search for "a" was shown


async def test_the_unread_mark_is_stored_by_the_engine(column: Column) -> None:
    column.bridge.ready = True
    column.sidebar.mark_unread("a", True)
    column.sidebar.mark_unread("a", False)  # unchanged
    await settle()
    assert column.engine.calls("workflows.set_unread") == [(("a", True), {})]
    column.engine.set("workflows", "list", [LISTED[1].model_copy(update={"unread": True})])
    await column.sidebar.load()
    assert column.sidebar.model.index_of("a").data(Qt.ItemDataRole.AccessibleTextRole) == "Name a, unread"
    column.sidebar.select("a")
    await settle()
    assert column.engine.calls("workflows.set_unread")[1:] == [(("a", False), {})]


async def test_only_visible_rows_of_a_thousand_are_painted(column: Column, monkeypatch: pytest.MonkeyPatch) -> None:
    column.sidebar.model.show(ListState(recent=[workflow(f"w{i}", i // 50) for i in range(1000)]))
    painted: list[int] = []
    delegate = column.sidebar.list.itemDelegate()
    paint = delegate.paint

    def painting(painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        painted.append(index.row())
        paint(painter, option, index)

    monkeypatch.setattr(delegate, "paint", painting)
    column.sidebar.list.scrollToBottom()
    column.sidebar.list.viewport().repaint()
    assert len(painted) < 60


async def test_an_empty_list_shows_nothing_while_a_guide_is_shown(column: Column) -> None:
    column.engine.set("workflows", "list", [])
    await column.sidebar.load()
    assert not column.sidebar.empty.isHidden()
    column.sidebar.hold(True)
    assert column.sidebar.empty.isHidden()
    column.sidebar.hold(False)
    assert not column.sidebar.empty.isHidden()


@pytest.mark.parametrize(("width", "scale", "keys"), [(300, 100, "Ctrl+K"), (190, 150, "")])
async def test_no_text_in_a_narrow_sidebar_is_clipped(column: Column, width: int, scale: int, keys: str) -> None:
    i18n.set_language("fr")
    theme().set_scale(scale)
    column.sidebar.resize(width, 600)
    foot, new = column.sidebar.foot, column.sidebar.new
    bind_text(foot.settings)
    foot._fit()
    assert foot.palette_button.text() == keys
    assert foot.palette_button.accessibleName()
    assert new.accessibleName()
    assert new.text().endswith("…") is (scale > 100)
    assert new.fontMetrics().horizontalAdvance(new.text()) < new.width()


def test_the_buttons_text_is_not_clipped_in_a_narrow_sidebar(column: Column) -> None:
    i18n.set_language("fr")
    button = column.sidebar.findChild(QPushButton, "new-workflow")
    assert button is not None
    for width in (190, 195, 260):
        column.sidebar.resize(width, 600)
        bind_text(button)
        assert button.text().strip() == "Nouveau workflow", width
        assert button.sizeHint().width() <= button.width(), width


async def test_a_long_state_is_not_cut_in_a_narrow_column(column: Column) -> None:
    foot = column.sidebar.foot
    foot.show_connection("ready")
    foot.show_work("waiting")
    words = foot._words
    metrics = words.fontMetrics()
    assert words.heightForWidth(metrics.horizontalAdvance(words.text()) - 5) >= 2 * metrics.height()


async def test_the_footer_shows_that_the_data_folder_was_moved(column: Column) -> None:
    foot = column.sidebar.foot
    foot.show_connection("ready")
    assert (foot._words.text(), foot._words.toolTip()) == ("Ready", "")
    foot.show_connection("moved")
    assert (foot._words.text(), "nothing is being saved" in foot._words.toolTip()) == ("Data folder moved", True)


async def test_the_footer_shows_whether_agents_work_or_wait_for_a_person(column: Column) -> None:
    foot = column.sidebar.foot
    foot.show_connection("ready")
    foot.show_key_missing(True)
    shown = []
    for work in ("waiting", "working", "paused", "ready"):
        foot.show_work(work)
        shown.append(foot._words.text())
    assert shown == ["Waiting for you", "Working", "Paused", "No valid key"]


async def test_a_workflow_under_the_pointer_does_not_move(column: Column) -> None:
    """A workflow with new activity moves to the top; it must not replace another one that is about to be clicked."""
    sidebar = column.sidebar
    before = rows(sidebar.model)
    row = sidebar.model.index_of("a").row()
    aim(sidebar.list, row)
    later = [LISTED[0], workflow("n", status=WorkflowStatus.RUNNING), LISTED[2], LISTED[1], *LISTED[3:]]
    column.engine.set("workflows", "list", later)
    await sidebar.load()
    assert rows(sidebar.model) == before
    busy = LISTED[1].model_copy(update={"status": WorkflowStatus.RUNNING})
    column.engine.set("workflows", "list", [LISTED[0], busy, *LISTED[2:]])
    await sidebar.load()
    shown = sidebar.model.workflow_at(sidebar.model.index(row))
    assert shown is not None
    assert shown.status is WorkflowStatus.RUNNING, "a change of style alone is shown at once"
    column.engine.set("workflows", "list", later)
    await sidebar.load()
    leave(sidebar.list)
    assert rows(sidebar.model).index("n") < rows(sidebar.model).index("a")


async def test_a_folder_opens_at_once_under_the_pointer(column: Column) -> None:
    column.engine.set("workflows", "list", [*LISTED, workflow("f", collection="Wood")])
    column.sidebar.set_closed(frozenset({":Wood"}))
    await column.sidebar.load()
    fold = column.sidebar.model.index_of_fold(":Wood")
    assert fold.isValid()
    aim(column.sidebar.list, fold.row())
    QTest.mouseClick(
        column.sidebar.list.viewport(), Qt.MouseButton.LeftButton, pos=column.sidebar.list.visualRect(fold).center()
    )
    assert "f" in rows(column.sidebar.model)
