"""The list of workflows over a fake engine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.sidebar.list_model import ROW, Row, WorkflowModel
from atelier_desk.desktop.sidebar.sidebar import Sidebar
from atelier_desk.desktop.widgets import ToastHost
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge


def workflow(key: str, days: int = 0, **fields: Any) -> Workflow:
    return Workflow(id=key, name=f"Name {key}", updated_at=utc_now() - timedelta(days=days), **fields)


LISTED = [
    workflow("p", 90, pinned=True),
    workflow("a"),
    workflow("b", status=WorkflowStatus.WAITING, pending_questions=2),
    workflow("c", 1),
    workflow("d", 4),
]
FILED = [
    workflow("x", collection="Nature"),
    workflow("y", collection="Art"),
    workflow("z", archived=True),
    workflow("v", pinned=True, collection="Art"),
    *LISTED[1:3],
]


class Column:
    """A shown window with the sidebar in it."""

    def __init__(self, qtbot: QtBot) -> None:
        self.engine = FakeAtelier(
            workflows={
                "list": LISTED,
                "delete": LISTED[1],
                "undo_delete": LISTED[1],
                "duplicate": workflow("z"),
                "export": "{}",
                "exporting.changed_reports": [],
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


def rows(model: WorkflowModel) -> list[str]:
    """Headings, and the ids of workflows and found messages."""

    def text(row: Row) -> str:
        if row.workflow is not None:
            return row.workflow.id
        return row.hit.row_id if row.hit is not None else row.heading

    return [text(model.index(i).data(ROW)) for i in range(model.rowCount())]


def open_menu(column: Column, ids: list[str]) -> QMenu:
    column.sidebar._show_menu(ids, QPoint(5, 5))
    menu = column.sidebar.findChild(QMenu, "workflow-menu")
    assert isinstance(menu, QMenu)
    return menu


def entry(menu: QMenu, text: str) -> QAction:
    return next(each for each in menu.actions() if each.text() == text)
