"""The list of tasks: model, rows and view. Changes are requested by signals and made by the pane."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QByteArray,
    QEvent,
    QMimeData,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    Qt,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from atelier_desk.desktop.panes.context_menu_position import menu_place
from atelier_desk.desktop.panes.tasks.task_tree import TaskRow, moved
from atelier_desk.desktop.panes.two_line_items import style_list
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.list_rows import ListRow, RowDelegate
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain import limits
from atelier_desk.domain.task import TaskStatus
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

TaskRole = Qt.ItemDataRole.UserRole + 1
"""Model role of the ``TaskRow``."""
_MIME = "application/x-atelier-task"
_Index = QModelIndex | QPersistentModelIndex

STATUS_WORDS = {
    TaskStatus.PENDING: N_("To do"),
    TaskStatus.IN_PROGRESS: N_("In progress"),
    TaskStatus.COMPLETED: N_("Done"),
    TaskStatus.BLOCKED: N_("Blocked"),
}
STATUS_ICONS: dict[TaskStatus, tuple[str, Role]] = {
    TaskStatus.PENDING: ("circle", "muted"),
    TaskStatus.IN_PROGRESS: ("loader-circle", "accent"),
    TaskStatus.COMPLETED: ("check", "ok"),
    TaskStatus.BLOCKED: ("lock", "warn"),
}


def waits_text(row: TaskRow) -> str:
    """``Waits for: A, B``, empty without open dependencies."""
    return _("Waiting for: {tasks}", tasks=", ".join(task.name for task in row.waits_for)) if row.waits_for else ""


class TaskModel(QAbstractListModel):
    """Rows of ``task_order.arrange``.

    ``move_requested(id, id before it or "")`` and ``rename_requested(id, name)`` request changes.
    """

    move_requested = Signal(str, str)
    rename_requested = Signal(str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[TaskRow] = []

    def set_rows(self, rows: list[TaskRow]) -> None:
        """Replace the rows; if only contents changed, selection and scroll position stay."""
        if [row.task.id for row in rows] == [row.task.id for row in self.rows]:
            self.rows = rows
            if rows:
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def row_of(self, task_id: str) -> int:
        """The row of a task, -1 if not listed."""
        return next((number for number, row in enumerate(self.rows) if row.task.id == task_id), -1)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(row.task.name)
        if role == Qt.ItemDataRole.EditRole:
            return row.task.name
        if role == TaskRole:
            return row
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip("\n".join(filter(None, (row.task.name, row.task.description, waits_text(row)))))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return visible(", ".join(filter(None, (row.task.name, _(STATUS_WORDS[row.shown_status]), waits_text(row)))))
        return None

    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        name = str(value).strip()
        row = self.rows[index.row()]
        if role != Qt.ItemDataRole.EditRole or not name or name == row.task.name:
            return False
        self.rename_requested.emit(row.task.id, name)
        return True

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.ItemIsDropEnabled
        return super().flags(index) | Qt.ItemFlag.ItemIsEditable | Qt.ItemFlag.ItemIsDragEnabled

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        data.setData(_MIME, QByteArray(self.rows[indexes[0].row()].task.id.encode()))
        return data

    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: _Index) -> bool:
        """A drop between rows (``row``), on a row (``parent``) or below all.

        The new order arrives with the next reload.
        """
        task_id = bytes(data.data(_MIME).data()).decode()
        to = row if row >= 0 else (parent.row() if parent.isValid() else len(self.rows))
        self.move(task_id, to)
        return False

    def move(self, task_id: str, to: int) -> None:
        """Request to move ``task_id`` before row ``to``."""
        ids = [row.task.id for row in self.rows]
        new_order = moved(ids, task_id, max(0, min(to, len(ids))))
        if task_id in ids and new_order != ids:
            place = new_order.index(task_id)
            self.move_requested.emit(task_id, new_order[place - 1] if place else "")


def list_row(row: TaskRow) -> ListRow:
    """Icon and name, and below what a blocked task waits for."""
    icon, role = STATUS_ICONS[row.shown_status]
    colour: Role = "muted" if row.shown_status is TaskStatus.COMPLETED else "text"
    return ListRow(
        row.task.name, facts=waits_text(row), icon=icon, role=role, icon_action="status", colour=colour, depth=row.depth
    )


class TaskListView(QListView):
    """``task-list``. Keys: F2 renames, Enter opens, Space sets the status, Alt+Up and Alt+Down move, Delete deletes.

    Signals carry the task's id; ``menu_requested`` requests the menu of the current task, at this global position.
    """

    menu_requested = Signal(QPoint)
    opened = Signal(str)
    toggled = Signal(str)
    deleted = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.tasks = TaskModel(self)
        self.setObjectName("task-list")
        self.setModel(self.tasks)
        rows = RowDelegate(
            self, lambda index: list_row(index.data(TaskRole)), pad=5, rename=(N_("Task name"), limits.TASK_NAME)
        )
        rows.acted.connect(lambda index: self.toggled.emit(index.data(TaskRole).task.id))
        style_list(self, rows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed | QAbstractItemView.EditTrigger.DoubleClicked)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDropIndicatorShown(True)
        self.setDragDropOverwriteMode(False)
        mark(self, "tasks")

    def current_row(self) -> TaskRow | None:
        """The selected task."""
        index = self.currentIndex()
        return index.data(TaskRole) if index.isValid() else None

    def select(self, task_id: str) -> None:
        """Select a task and scroll to it."""
        number = self.tasks.row_of(task_id)
        if number >= 0:
            self.setCurrentIndex(self.tasks.index(number))

    def move_current(self, by: int) -> None:
        """Move the task one row up (-1) or down (1)."""
        row = self.current_row()
        if row is not None:
            number = self.tasks.row_of(row.task.id)
            self.tasks.move(row.task.id, number - 1 if by < 0 else number + 2)

    def event(self, event: QEvent) -> bool:
        """F2 and Delete act on the selected task while the list has the focus, overriding the window's shortcuts."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            own = event.key() in (Qt.Key.Key_F2, Qt.Key.Key_Delete)
            if own and self.current_row() is not None:
                event.accept()
                return True
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        place = menu_place(self, event)
        if place is not None:
            self.menu_requested.emit(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.current_row()
        key, alt = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if row is None:
            super().keyPressEvent(event)
        elif alt and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.move_current(-1 if key == Qt.Key.Key_Up else 1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.state() != QAbstractItemView.State.EditingState:
            self.opened.emit(row.task.id)
        elif key == Qt.Key.Key_Space:
            self.toggled.emit(row.task.id)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.deleted.emit(row.task.id)
        else:
            super().keyPressEvent(event)
