"""The list of workflows as a Qt model: headings by date between the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from atelier_desk.desktop.widgets.format import locale
from atelier_desk.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.domain.workflow import Workflow

Index = QModelIndex | QPersistentModelIndex
HEADING = Qt.ItemDataRole.UserRole
WORKFLOW = Qt.ItemDataRole.UserRole + 1
UNREAD = Qt.ItemDataRole.UserRole + 2
"""Whether a workflow ended out of sight and was not opened since."""


@dataclass(frozen=True, slots=True)
class Row:
    """A heading, or a workflow."""

    heading: str = ""
    workflow: Workflow | None = None


def group_of(updated: datetime, today: date) -> str:
    """The heading a workflow belongs under, by the local day it was last changed."""
    day = updated.astimezone().date()
    if day >= today:
        return _("Today")
    if day == today - timedelta(days=1):
        return _("Yesterday")
    if day > today - timedelta(days=7):
        return _("Last 7 days")
    if day > today - timedelta(days=30):
        return _("Last 30 days")
    name = locale().standaloneMonthName(day.month)
    return f"{name} {day.year}" if day.year != today.year else name


def state_words(workflow: Workflow, unread: bool = False) -> str:
    """A workflow's state for people who cannot see the dot."""
    words = {
        "running": _("working"),
        "waiting": _("waits for you"),
        "paused": _("paused"),
        "interrupted": _("interrupted"),
        "error": _("failed"),
        "completed": _("completed"),
    }
    text = words.get(workflow.status.value, "")
    if workflow.pending_questions:
        count = ngettext("{n} open question", "{n} open questions", workflow.pending_questions)
        text = f"{text}, {count}" if text else count
    if workflow.pending_approvals:
        count = ngettext("{n} approval to decide", "{n} approvals to decide", workflow.pending_approvals)
        text = f"{text}, {count}" if text else count
    if unread:
        text = f"{text}, {_('not seen yet')}" if text else _("not seen yet")
    return text


class WorkflowModel(QAbstractListModel):
    """Rows of headings and workflows.

    Signals:
        renamed: a workflow's id and the name typed in place.
    """

    renamed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._workflows: list[Workflow] = []
        self._today = date.today
        self._unread: set[str] = set()

    @property
    def workflows(self) -> list[Workflow]:
        return self._workflows

    def set_workflows(self, workflows: Sequence[Workflow]) -> None:
        """Replace everything; rows that only changed are updated in place, so that the selection and an editor stay."""
        rows = self._grouped(workflows)
        self._workflows = list(workflows)
        if [_identity(row) for row in rows] == [_identity(row) for row in self._rows]:
            changed = [i for i, (old, new) in enumerate(zip(self._rows, rows, strict=True)) if old != new]
            self._rows = rows
            for i in changed:
                self.dataChanged.emit(self.index(i), self.index(i))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def regroup(self) -> None:
        """The day or the language changed."""
        self.set_workflows(self._workflows)
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    @property
    def unread(self) -> frozenset[str]:
        """The workflows that ended out of sight and were not opened since."""
        return frozenset(self._unread)

    def set_unread(self, workflow_id: str, on: bool) -> None:
        """Give a workflow its mark, or take it away."""
        if on == (workflow_id in self._unread):
            return
        (self._unread.add if on else self._unread.discard)(workflow_id)
        index = self.index_of(workflow_id)
        if index.isValid():
            self.dataChanged.emit(index, index)

    def index_of(self, workflow_id: str) -> QModelIndex:
        for i, row in enumerate(self._rows):
            if row.workflow is not None and row.workflow.id == workflow_id:
                return self.index(i)
        return QModelIndex()

    def workflow_at(self, index: Index) -> Workflow | None:
        return self._rows[index.row()].workflow if index.isValid() and index.row() < len(self._rows) else None

    def _grouped(self, workflows: Sequence[Workflow]) -> list[Row]:
        rows: list[Row] = []
        heading = ""
        today = self._today()
        for workflow in workflows:
            group = _("Pinned") if workflow.pinned else group_of(workflow.updated_at, today)
            if group != heading:
                heading = group
                rows.append(Row(heading=group))
            rows.append(Row(workflow=workflow))
        return rows

    # -- Qt -------------------------------------------------------------------------------------------------------------------
    def rowCount(self, parent: Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if role == HEADING:
            return row.heading
        if role == WORKFLOW:
            return row.workflow
        if role == UNREAD:
            return row.workflow is not None and row.workflow.id in self._unread
        if row.workflow is None:
            return row.heading if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole} else None
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole, Qt.ItemDataRole.ToolTipRole}:
            return row.workflow.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            state = state_words(row.workflow, row.workflow.id in self._unread)
            return f"{row.workflow.name}, {state}" if state else row.workflow.name
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        workflow = self.workflow_at(index)
        name = str(value).strip()
        if workflow is None or role != Qt.ItemDataRole.EditRole or not name or name == workflow.name:
            return False
        self.renamed.emit(workflow.id, name)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.workflow_at(index) is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable


def _identity(row: Row) -> tuple[str, str]:
    return row.heading, row.workflow.id if row.workflow is not None else ""
