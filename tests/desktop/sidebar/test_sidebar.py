"""The list of workflows: groups, search, rename in place, pin, delete with undo, export."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk import i18n
from atelier_desk.desktop.sidebar.model import HEADING, WORKFLOW, WorkflowModel, group_of, state_words
from atelier_desk.desktop.sidebar.sidebar import Sidebar
from atelier_desk.desktop.widgets import ToastHost
from atelier_desk.domain.base import utc_now
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from tests.support.fake_bridge import FakeAtelier, FakeBridge, Held, settle


def workflow(key: str, days: int = 0, **fields: Any) -> Workflow:
    return Workflow(id=key, name=f"Name {key}", updated_at=utc_now() - timedelta(days=days), **fields)


LISTED = [
    workflow("p", 90, pinned=True),
    workflow("a"),
    workflow("b", status=WorkflowStatus.WAITING, pending_questions=2),
    workflow("c", 1),
    workflow("d", 4),
]


class Column:
    def __init__(self, qtbot: QtBot) -> None:
        self.engine = FakeAtelier(
            workflows={
                "list": LISTED,
                "delete": LISTED[1],
                "undo_delete": LISTED[1],
                "duplicate": workflow("z"),
                "export": "{}",
                "changed_reports": [],
                "left_out_files": [],
            }
        )
        self.bridge = FakeBridge(self.engine)
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.resize(300, 600)
        self.sidebar = Sidebar(self.bridge, ToastHost(self.window), self.window)
        self.sidebar.resize(260, 600)
        self.window.show()


@pytest.fixture
async def column(qtbot: QtBot) -> Column:
    made = Column(qtbot)
    await made.sidebar.load()
    return made


def rows(model: WorkflowModel) -> list[str]:
    return [model.index(i).data(HEADING) or model.index(i).data(WORKFLOW).id for i in range(model.rowCount())]


def test_groups_by_day() -> None:
    now = utc_now()
    today = now.astimezone().date()
    assert group_of(now, today) == "Today"
    assert group_of(now - timedelta(days=1), today) == "Yesterday"
    assert group_of(now - timedelta(days=5), today) == "Last 7 days"
    assert group_of(now - timedelta(days=20), today) == "Last 30 days"
    assert group_of(now.replace(year=2020, month=3, day=10), date(2026, 5, 1)) == "March 2020"
    i18n.set_language("fr")
    assert group_of(now.replace(year=2020, month=3, day=10), date(2026, 5, 1)) == "mars 2020"


async def test_headings_stand_between_and_cannot_be_chosen(column: Column) -> None:
    model = column.sidebar.model
    assert rows(model) == ["Pinned", "p", "Today", "a", "b", "Yesterday", "c", "Last 7 days", "d"]
    assert model.flags(model.index(0)) == Qt.ItemFlag.NoItemFlags


async def test_state_is_told_in_words(column: Column) -> None:
    assert state_words(LISTED[2]) == "waits for you, 2 open questions"
    cut_off = Workflow(name="w", status=WorkflowStatus.INTERRUPTED)
    assert state_words(cut_off) == "interrupted"
    i18n.set_language("fr")
    assert state_words(cut_off) == "interrompu"
    i18n.set_language("en")
    index = column.sidebar.model.index_of("b")
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Name b, waits for you, 2 open questions"


async def test_click_and_enter_open(qtbot: QtBot, column: Column) -> None:
    chosen: list[str] = []
    column.sidebar.workflow_chosen.connect(chosen.append)
    view = column.sidebar.list
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(column.sidebar.model.index_of("a")).center())
    view.setCurrentIndex(column.sidebar.model.index_of("c"))
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert chosen == ["a", "c"]


async def test_rename_in_place(qtbot: QtBot, column: Column) -> None:
    column.sidebar.select("a")
    column.sidebar.rename_current()
    field = column.sidebar.list.findChild(QLineEdit, "rename-field")
    assert field is not None
    field.setText("Better")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    await settle()
    assert column.engine.calls("workflows.rename") == [(("a", "Better"), {})]


@pytest.mark.parametrize("what", ["delete", "duplicate"])
async def test_a_double_click_deletes_or_copies_once(column: Column, what: str) -> None:
    held = Held(LISTED[1])
    column.engine.set("workflows", what, held)
    for _ in range(2):
        getattr(column.sidebar, what)("a")
    await settle()
    assert column.engine.calls(f"workflows.{what}") == [(("a",), {})]
    await held.release()


async def test_delete_offers_undo(qtbot: QtBot, column: Column) -> None:
    gone: list[str] = []
    column.sidebar.workflow_gone.connect(gone.append)
    view = column.sidebar.list
    view.setCurrentIndex(column.sidebar.model.index_of("a"))
    qtbot.keyClick(view, Qt.Key.Key_Delete)
    await settle()
    assert gone == ["a"]
    undo = column.window.findChild(QPushButton, "toast-action")
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    await settle()
    assert column.engine.calls("workflows.undo_delete") == [(("a",), {})]


async def test_pin_and_duplicate(column: Column) -> None:
    chosen: list[str] = []
    column.sidebar.workflow_chosen.connect(chosen.append)
    column.sidebar.toggle_pin("a")
    column.sidebar.toggle_pin("p")
    column.sidebar.duplicate("a")
    await settle()
    assert column.engine.calls("workflows.set_pinned") == [(("a", True), {}), (("p", False), {})]
    assert chosen == ["z"]


@pytest.mark.parametrize(("name", "kind"), [("x.json", "json"), ("x.md", "md")])
async def test_export_by_ending(column: Column, tmp_path: Path, name: str, kind: str) -> None:
    await column.sidebar.export_to("a", tmp_path / name)
    assert column.engine.calls("workflows.export") == [(("a", kind), {})]
    assert (tmp_path / name).read_text() == "{}"


async def test_copies_tell_which_reports_were_changed(column: Column, tmp_path: Path) -> None:
    column.engine.set("workflows", "changed_reports", ["Plan"])
    for copying in (column.sidebar.export_to("a", tmp_path / "x.json"), column.sidebar._duplicate("a")):
        await copying
        assert "The report Plan was damaged or changed" in column.sidebar._toasts.current.accessibleName()


async def test_search_asks_the_engine_and_says_when_nothing_is_there(qtbot: QtBot, column: Column) -> None:
    column.engine.set("workflows", "list", lambda search="", limit=0: [])
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
    column.sidebar.model.set_workflows(changed)
    assert resets == []
    assert column.sidebar.list.currentIndex().data() == "Now"


async def test_the_menu_key_gives_the_menu_of_the_current_workflow_below_its_row(column: Column) -> None:
    view = column.sidebar.list
    asked: list[tuple[str, QPoint]] = []
    view.menu_wanted.disconnect()
    view.menu_wanted.connect(lambda key, place: asked.append((key, place)))
    column.sidebar.select("d")

    def ask(reason: QContextMenuEvent.Reason, at: QPoint) -> None:
        QApplication.sendEvent(view.viewport(), QContextMenuEvent(reason, at, view.viewport().mapToGlobal(at)))

    pinned = view.visualRect(column.sidebar.model.index_of("p")).center()
    ask(QContextMenuEvent.Reason.Keyboard, pinned)
    below = view.visualRect(column.sidebar.model.index_of("d")).bottomLeft()
    assert asked == [("d", view.viewport().mapToGlobal(below))]
    ask(QContextMenuEvent.Reason.Mouse, pinned)
    assert asked[1:] == [("p", view.viewport().mapToGlobal(pinned))]
    heading = view.visualRect(column.sidebar.model.index(0)).center()
    ask(QContextMenuEvent.Reason.Mouse, heading)
    assert len(asked) == 2
    current = view.current()
    assert current is not None
    assert current.id == "p"
