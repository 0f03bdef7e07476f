"""The table of the audit trail: model and view of the loaded entries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from atelier_desk.desktop.panes.time_format import date_time
from atelier_desk.desktop.questions.approval_text import tool_title
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.table_style import style_table
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.audit import AuditLine, AuditPage
from atelier_desk.presentation.audit_text import decision, why
from atelier_desk.support.i18n import N_, _, language
from atelier_desk.support.visible_and_shortened_text import visible

ROWS = 7
"""Height of the table in rows; more scroll."""
LINE = Qt.ItemDataRole.UserRole
COLUMNS = (N_("Call"), N_("Decision"), N_("When"))
WIDTHS = (0, 216, 172)
"""Column widths at 100 %; the call takes the rest, at least ``CALL``."""
CALL, HIGH = 200, 46
_Index = QModelIndex | QPersistentModelIndex


class AuditModel(QAbstractTableModel):
    """The loaded entries.

    Signals:
        more_requested: the view was scrolled to the end, and there are more entries.
    """

    more_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.lines: list[AuditLine] = []
        self.next: tuple[datetime, str] | None = None
        self._today: dict[tuple[str, str], str] = {}
        self._language = language()

    def mark(self, today: Mapping[tuple[str, str], str]) -> None:
        """Show for calls, by run and call id, what would be decided today."""
        self._today |= today
        self._refresh_texts()

    def today(self, line: AuditLine) -> str:
        """What would be decided today; empty if the same, or not compared."""
        return self._today.get((line.entry.run_id, line.entry.call_id), "")

    def start(self, page: AuditPage, *, again: bool) -> None:
        """Show the first page.

        With ``again``, if it connects to the loaded entries, only new ones are inserted at the top, so the scroll
        position stays.
        """
        if self._language != language():
            self._language = language()
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)
            self._today.clear()  # texts in the previous language
            self._refresh_texts()
        newest = self.lines[0] if self.lines else None
        new = page.lines.index(newest) if again and newest in page.lines else -1
        if new < 0 or page.lines[new:] != tuple(self.lines[: len(page.lines) - new]):
            self.beginResetModel()
            self.lines, self.next = list(page.lines), page.next
            self.endResetModel()
        elif new:
            self.beginInsertRows(QModelIndex(), 0, new - 1)
            self.lines[:0] = page.lines[:new]
            self.endInsertRows()

    def append(self, page: AuditPage) -> None:
        """Append the next page."""
        self.next = page.next
        if page.lines:
            self.beginInsertRows(QModelIndex(), len(self.lines), len(self.lines) + len(page.lines) - 1)
            self.lines += page.lines
            self.endInsertRows()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.lines)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def canFetchMore(self, parent: _Index) -> bool:
        return not parent.isValid() and self.next is not None

    def fetchMore(self, parent: _Index) -> None:
        self.more_requested.emit()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return _(COLUMNS[section])
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        line = self.lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            one = line.entry
            who = " · ".join(filter(None, (one.agent_name, line.workflow)))
            when = "\n".join(filter(None, (date_time(one.created_at), self.today(line))))
            texts = (f"{tool_title(one.tool)}  {one.detail}\n{who}", f"{decision(one)}\n{why(one)}", when)
            return visible(texts[index.column()])
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(full_text(line, self.today(line)))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return full_text(line, self.today(line)).replace("\n", "; ")
        return line if role == LINE else None

    def _refresh_texts(self) -> None:
        if self.lines:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.lines) - 1, len(COLUMNS) - 1))


def full_text(line: AuditLine, today: str = "") -> str:
    """All facts of an entry, one per line; ``today``: what would be decided today."""
    one = line.entry
    reason = why(one) + (f" ({one.about})" if one.about else "")
    facts = (
        (_("When"), date_time(one.created_at)),
        (_("Workflow"), _("{name} (deleted)", name=line.workflow) if line.in_bin else line.workflow),
        (_("Agent"), one.agent_name),
        (_("Tool"), one.tool),
        (_("Call"), one.detail),
        (_("Decision"), _("{name}: {text}", name=decision(one), text=one.note) if one.note else decision(one)),
        (_("Reason"), reason),
        (_("Under today's rules"), today),
    )
    return "\n".join(_("{name}: {text}", name=name, text=text) for name, text in facts if text)


class AuditTable(QTableView):
    """``audit-table``. ``activated`` is emitted on Enter and double click."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("audit-table")
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        style_table(self)
        theme().changed.connect(self.fit)

    def fit(self) -> None:
        """Fit the height to the rows, at most ``ROWS``; the call column takes the remaining width."""
        view, high = theme(), theme().px(HIGH)
        self.verticalHeader().setDefaultSectionSize(high)
        model = self.model()
        rows = min(max(model.rowCount() if model is not None else 0, 1), ROWS)
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + rows * high + 2 * self.frameWidth() + 6)
        if model is None:
            return
        widths = [view.px(width) for width in WIDTHS]
        call = WIDTHS.index(0)
        widths[call] = max(view.px(CALL), self.viewport().width() - sum(widths))
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()
