"""The Qt model of the workflow list: pinned, folders, the rest by date, the archive; or search results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractListModel, QMimeData, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from atelier_desk.desktop.chat.markdown.plain_text import excerpt_line
from atelier_desk.desktop.widgets.date_format import locale, short_day
from atelier_desk.desktop.widgets.hover_freeze import moved
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.domain.workflow import Workflow
    from atelier_desk.storage.repositories import SearchHit

Index = QModelIndex | QPersistentModelIndex
HEADING = Qt.ItemDataRole.UserRole
WORKFLOW = Qt.ItemDataRole.UserRole + 1
UNREAD = Qt.ItemDataRole.UserRole + 2
"""Whether a workflow ended in the background and was not opened since."""
ROW = Qt.ItemDataRole.UserRole + 3
"""The complete row, for the delegate."""
ARCHIVE = "archive"
"""The fold key of the archive; a folder's is a colon and its name."""
DRAGGED = "application/x-atelier-workflows"


@dataclass(frozen=True, slots=True)
class Row:
    """A heading, a workflow, or a found message.

    Attributes:
        fold: key of a collapsible heading: ``ARCHIVE``, or a colon and a folder's name.
        count: workflows below such a heading.
        indented: it is in a folder.
    """

    heading: str = ""
    fold: str = ""
    closed: bool = False
    count: int = 0
    workflow: Workflow | None = None
    hit: SearchHit | None = None
    indented: bool = False


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """Search results for ``needle``: workflows by title, messages by text; ``cut``: not all messages are loaded."""

    titles: Sequence[Workflow] = ()
    messages: Sequence[SearchHit] = ()
    cut: bool = False
    needle: str = ""


@dataclass(frozen=True, slots=True)
class ListState:
    """The content of the model; ``found`` replaces everything else during a search."""

    recent: Sequence[Workflow] = ()
    filed: Sequence[Workflow] = ()
    archived: Sequence[Workflow] = ()
    archived_count: int = 0
    found: SearchMatch | None = None
    closed: frozenset[str] = field(default=frozenset({ARCHIVE}))

    @property
    def workflows(self) -> list[Workflow]:
        """All its workflows, found ones first."""
        found = self.found.titles if self.found is not None else ()
        return list({each.id: each for each in (*found, *self.recent, *self.filed, *self.archived)}.values())


def group_of(updated: datetime, today: date) -> str:
    """The heading of a workflow by the local day of its last change."""
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
    name = name[:1].upper() + name[1:]  # a heading, like the others
    return f"{name} {day.year}" if day.year != today.year else name


def state_text(workflow: Workflow, unread: bool = False) -> str:
    """A workflow's state as accessible text."""
    words = {
        "running": _("running"),
        "waiting": _("waiting for you"),
        "paused": _("paused"),
        "interrupted": _("interrupted"),
        "error": _("failed"),
        "completed": _("done"),
    }
    text = words.get(workflow.status.value, "")
    if workflow.pending_questions:
        count = ngettext("{n} open question", "{n} open questions", workflow.pending_questions)
        text = f"{text}, {count}" if text else count
    if workflow.pending_approvals:
        count = ngettext("{n} approval waiting", "{n} approvals waiting", workflow.pending_approvals)
        text = f"{text}, {count}" if text else count
    if unread:
        unseen = _("unread")
        text = f"{text}, {unseen}" if text else unseen
    return text


def rows_of(shown: ListState, today: date) -> list[Row]:
    """The rows of the list, from the top."""
    if shown.found is not None:
        return _found_rows(shown.found)
    pinned = [each for each in (*shown.recent, *shown.filed) if each.pinned]
    rows = _under(_("Pinned"), sorted(pinned, key=lambda each: each.updated_at, reverse=True))
    folders: dict[str, list[Workflow]] = {}
    for each in shown.filed:
        if not each.pinned:
            folders.setdefault(each.collection, []).append(each)
    for name in sorted(folders, key=lambda each: (each.casefold(), each)):
        rows += _folded(name, f":{name}", folders[name], len(folders[name]), shown)
    heading = ""
    for each in shown.recent:
        if each.pinned:
            continue
        group = group_of(each.updated_at, today)
        if group != heading:
            heading = group
            rows.append(Row(heading=group))
        rows.append(Row(workflow=each))
    if shown.archived_count:
        rows += _folded(_("Archived"), ARCHIVE, shown.archived, shown.archived_count, shown)
    return rows


def _found_rows(found: SearchMatch) -> list[Row]:
    rows = _under(_("Workflows"), found.titles)
    rows += ([Row(heading=_("Messages"))] if found.messages else []) + [Row(hit=each) for each in found.messages]
    return [*rows, Row(heading=_("There are more results. Refine your search."))] if found.cut else rows


def _under(heading: str, workflows: Iterable[Workflow]) -> list[Row]:
    rows = [Row(workflow=each) for each in workflows]
    return [Row(heading=heading), *rows] if rows else []


def _folded(heading: str, fold: str, workflows: Iterable[Workflow], count: int, shown: ListState) -> list[Row]:
    closed = fold in shown.closed
    below = [] if closed else [Row(workflow=each, indented=True) for each in workflows]
    return [Row(heading=heading, fold=fold, closed=closed, count=count), *below]


class WorkflowModel(QAbstractListModel):
    """Rows of headings, workflows and found messages.

    Signals:
        renamed: a workflow's id and the new name.
        dropped: ids of workflows dragged onto a folder, and its name (empty: out of their folders).
    """

    renamed = Signal(str, str)
    dropped = Signal(list, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._shown = ListState()
        self._today = date.today

    @property
    def shown(self) -> ListState:
        return self._shown

    @property
    def workflows(self) -> list[Workflow]:
        return self._shown.workflows

    def moves(self, shown: ListState) -> bool:
        """Whether any existing row would move or disappear."""
        return moved([*map(_identity, self._rows)], [*map(_identity, rows_of(shown, self._today()))])

    def show(self, shown: ListState) -> None:
        """Replace everything; changed rows are updated in place, so that selection and editor stay."""
        rows = rows_of(shown, self._today())
        sought = shown.found is not None and shown.found != self._shown.found
        self._shown = shown
        if [_identity(row) for row in rows] == [_identity(row) for row in self._rows]:
            changed = [i for i, (old, new) in enumerate(zip(self._rows, rows, strict=True)) if sought or old != new]
            self._rows = rows
            for i in changed:
                self.dataChanged.emit(self.index(i), self.index(i))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def regroup(self) -> None:
        """Update the headings after a change of day or language."""
        self.show(self._shown)
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    def index_of(self, workflow_id: str) -> QModelIndex:
        for i, row in enumerate(self._rows):
            if row.workflow is not None and row.workflow.id == workflow_id:
                return self.index(i)
        return QModelIndex()

    def index_of_fold(self, fold: str) -> QModelIndex:
        """The index of a folder's or the archive's heading."""
        return next((self.index(i) for i, row in enumerate(self._rows) if row.fold == fold), QModelIndex())

    def row_at(self, index: Index) -> Row | None:
        return self._rows[index.row()] if index.isValid() and index.row() < len(self._rows) else None

    def workflow_at(self, index: Index) -> Workflow | None:
        row = self.row_at(index)
        return row.workflow if row is not None else None

    def rowCount(self, parent: Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row_at(index)
        if row is None:
            return None
        if role == ROW:
            return row
        if role == HEADING:
            return row.heading
        if role == WORKFLOW:
            return row.workflow
        if role == UNREAD:
            return row.workflow is not None and row.workflow.unread
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return visible(_spoken(row))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(_text(row, role) or "")
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole}:
            text = _text(row, role)
            return visible(text) if text and role != Qt.ItemDataRole.EditRole else text
        return None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        workflow = self.workflow_at(index)
        name = str(value).strip()
        if workflow is None or role != Qt.ItemDataRole.EditRole or not name or name == workflow.name:
            return False
        self.renamed.emit(workflow.id, name)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row_at(index)
        usual = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if row is None or (row.workflow is None and row.hit is None and not row.fold):
            return Qt.ItemFlag.NoItemFlags
        if row.workflow is not None:
            return usual | Qt.ItemFlag.ItemIsEditable | Qt.ItemFlag.ItemIsDragEnabled | Qt.ItemFlag.ItemIsDropEnabled
        # A heading can be focused and toggled by Enter, but not selected.
        return usual if row.hit is not None else Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsDropEnabled

    def mimeTypes(self) -> list[str]:
        return [DRAGGED]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        ids = [workflow.id for workflow in map(self.workflow_at, indexes) if workflow is not None]
        data.setData(DRAGGED, "\n".join(ids).encode())
        return data

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def folder_at(self, index: Index) -> str | None:
        """The target folder of a drop on this row; empty for none, None if dropping is not possible."""
        row = self.row_at(index)
        if (
            row is None
            or self._shown.found is not None
            or row.fold == ARCHIVE
            or (row.workflow is not None and row.workflow.archived)
        ):
            return None
        if row.fold:
            return row.fold[1:]
        return row.workflow.collection if row.workflow is not None and row.indented else ""

    def canDropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        return data.hasFormat(DRAGGED) and self.folder_at(parent) is not None

    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        folder = self.folder_at(parent)
        if folder is None or not data.hasFormat(DRAGGED):
            return False
        self.dropped.emit(bytes(data.data(DRAGGED).data()).decode().split("\n"), folder)
        return False  # otherwise the view would remove the rows: the list is reloaded instead


def excerpt_text(hit: SearchHit) -> str:
    """The excerpt of a found message as plain text."""
    return excerpt_line(hit.excerpt)


def _text(row: Row, role: int) -> str | None:
    if row.workflow is not None:
        return row.workflow.name
    if row.hit is not None:
        return (
            f"{row.hit.workflow_name}\n{excerpt_text(row.hit)}"
            if role == Qt.ItemDataRole.ToolTipRole
            else row.hit.workflow_name
        )
    return row.heading if role == Qt.ItemDataRole.DisplayRole else None


def _spoken(row: Row) -> str:
    if row.workflow is not None:
        state = state_text(row.workflow, row.workflow.unread)
        return f"{row.workflow.name}, {state}" if state else row.workflow.name
    if row.hit is not None:
        return ", ".join((row.hit.workflow_name, short_day(row.hit.at), excerpt_text(row.hit)))
    if not row.fold:
        return row.heading
    count = ngettext("{n} workflow", "{n} workflows", row.count)
    state = _("collapsed") if row.closed else _("expanded")
    return f"{row.heading}, {count}, {state}"


def _identity(row: Row) -> tuple[str, str, str]:
    return (
        row.heading,
        row.workflow.id if row.workflow is not None else "",
        row.hit.row_id if row.hit is not None else "",
    )
