"""The list of memories: two lines of text, one of facts, and the score in a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QListView, QWidget

from atelier_desk.desktop.panes.context_menu_position import menu_place
from atelier_desk.desktop.panes.time_format import ago, clock_minutes, number
from atelier_desk.desktop.panes.two_line_items import style_list
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets.date_format import day
from atelier_desk.desktop.widgets.list_rows import ListRow, RowDelegate
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.memory import Memory, MemoryHit, MemoryType
from atelier_desk.engine.services.agent_gallery import current_name
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

_Index = QModelIndex | QPersistentModelIndex
MemoryRole = Qt.ItemDataRole.UserRole + 1
"""Model role of the ``MemoryRow``."""
LINES = 2

TYPE_WORDS = {
    MemoryType.USER_PREF: N_("Preference"),
    MemoryType.CONTEXT: N_("Context"),
    MemoryType.KNOWLEDGE: N_("Knowledge"),
    MemoryType.DECISION: N_("Decision"),
}


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory, with its score and components if found by a search.

    Attributes:
        moment: on a timeline, its last change; ``day`` is shown above the first of each day.
    """

    memory: Memory
    hit: MemoryHit | None = None
    pinned: bool = False
    moment: str = ""
    day: str = ""


def facts(row: MemoryRow) -> str:
    """Type, scope, age and tags in one line; on a timeline author, time, and how often it was found."""
    memory = row.memory
    scope = _("all workflows") if memory.workflow_id is None else _("this workflow")
    if memory.proposed:
        scope = _("for all workflows?")
    if row.moment:
        return " · ".join((row.moment, *_trail(memory), _(TYPE_WORDS[memory.type]), scope))
    parts = [
        *([_("pinned")] if row.pinned else []),
        _(TYPE_WORDS[memory.type]),
        scope,
        ago(memory.created_at),
        *(f"#{tag}" for tag in memory.tags),  # last: what lacks room is cut
    ]
    return " · ".join(parts)


def _trail(memory: Memory) -> list[str]:
    """Author, whether it was changed since, and how many runs found it."""
    agent = current_name(memory.agent_source) or _("an agent")
    who = {"user": _("by you"), "import": _("imported from a file")}.get(memory.source) or _("by {agent}", agent=agent)
    found = len(memory.retrieved_by)
    return [
        who,
        *([_("changed")] if memory.updated_at > memory.created_at else []),
        *([ngettext("used by {n} run", "used by {n} runs", found)] if found else []),
    ]


def on_timeline(rows: Sequence[MemoryRow], before: MemoryRow | None) -> list[MemoryRow]:
    """The rows with times, and the date above the first of each day; ``before`` is the row above them."""
    last = before.memory.updated_at.astimezone().date() if before is not None else None
    dated = []
    for row in rows:
        when = row.memory.updated_at.astimezone()
        dated.append(replace(row, moment=clock_minutes(when), day=day(when.date()) if when.date() != last else ""))
        last = when.date()
    return dated


def score_parts(hit: MemoryHit) -> str:
    """The components of a score, from 0 to 1, to explain why a memory was found."""
    parts = [
        (_("score"), hit.score),
        (_("relevance"), hit.relevance),
        (_("words"), hit.lexical),
        (_("meaning"), hit.cosine),
        (_("certainty"), hit.certainty),
        (_("importance"), hit.importance),
        (_("recency"), hit.recency),
    ]
    return " · ".join(f"{name} {number(value, 2)}" for name, value in parts if value is not None)


class MemoryModel(QAbstractListModel):
    """Rows in the given order."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[MemoryRow] = []
        self._aged_at = utc_now()
        """When the ages were shown last."""

    def set_rows(self, rows: list[MemoryRow]) -> None:
        """Replace the rows; if only contents changed, selection and scroll position stay."""
        self._aged_at = utc_now()
        if rows and [row.memory.id for row in rows] == [row.memory.id for row in self.rows]:
            self.rows = rows
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def append(self, rows: list[MemoryRow]) -> None:
        """Append the next page."""
        if rows:
            self.beginInsertRows(QModelIndex(), len(self.rows), len(self.rows) + len(rows) - 1)
            self.rows = [*self.rows, *rows]
            self.endInsertRows()

    def show_ages(self) -> None:
        """Repaint the rows whose age has another text now."""
        before, self._aged_at = self._aged_at, utc_now()
        for at, created in enumerate(row.memory.created_at for row in self.rows):
            if ago(created, before) != ago(created):
                self.dataChanged.emit(self.index(at), self.index(at))

    def row_of(self, memory_id: str) -> int:
        return next((number for number, row in enumerate(self.rows) if row.memory.id == memory_id), -1)

    def remove(self, memory_id: str) -> None:
        """Remove a row without reloading the list."""
        number = self.row_of(memory_id)
        if number >= 0:
            self.beginRemoveRows(QModelIndex(), number, number)
            self.rows = [row for row in self.rows if row.memory.id != memory_id]
            self.endRemoveRows()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(row.memory.content)
        if role == MemoryRole:
            return row
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(score_parts(row.hit)) if row.hit is not None else None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return visible(", ".join(filter(None, (row.day, row.memory.content[:200], facts(row)))))
        return None


def list_row(row: MemoryRow) -> ListRow:
    """Two lines of content and one of facts; score below, date above."""
    note = score_parts(row.hit) if row.hit is not None else ""
    return ListRow(row.memory.content[:400], facts=facts(row), note=note, heading=row.day, wrap=LINES)


class MemoryListView(QListView):
    """``memory-list``: Enter or double click opens, Delete deletes; ``end_reached`` requests the next page.

    ``menu_requested`` requests the menu of the current row, at this global position.
    """

    menu_requested = Signal(QPoint)
    opened = Signal(str)
    deleted = Signal(str)
    end_reached = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.memories = MemoryModel(self)
        self.setObjectName("memory-list")
        self.setModel(self.memories)
        style_list(self, RowDelegate(self, lambda index: list_row(index.data(MemoryRole)), size=13, pad=8))
        mark(self, "memories")
        MinuteClock(self, self.memories.show_ages)
        self.doubleClicked.connect(lambda index: self.opened.emit(index.data(MemoryRole).memory.id))
        self.verticalScrollBar().valueChanged.connect(self._scrolled)

    def replace_rows(self, rows: list[MemoryRow]) -> None:
        """Replace the rows; selection and scroll position stay as far as possible."""
        chosen, at = self.current_row(), self.verticalScrollBar().value()
        self.memories.set_rows(rows)
        if chosen is not None and (number := self.memories.row_of(chosen.memory.id)) >= 0:
            self.setCurrentIndex(self.memories.index(number))
        self.doItemsLayout()
        self.verticalScrollBar().setValue(at)

    def current_row(self) -> MemoryRow | None:
        index = self.currentIndex()
        return index.data(MemoryRole) if index.isValid() else None

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        place = menu_place(self, event)
        if place is not None:
            self.menu_requested.emit(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.current_row()
        if row is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(row.memory.id)
        elif row is not None and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.deleted.emit(row.memory.id)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()

    def _scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        if bar.maximum() > 0 and value >= bar.maximum() - bar.pageStep() // 2:
            self.end_reached.emit()
