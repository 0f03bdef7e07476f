"""The audit trail: what was decided about each call, newest first, filtered, page by page as it is scrolled, and as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QHeaderView, QLineEdit, QPushButton, QTableView, QVBoxLayout, QWidget

from atelier_desk.audit_words import DECISIONS, decision, why
from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.wording import date_time
from atelier_desk.desktop.questions.approval_wording import tool_title
from atelier_desk.desktop.settings.files import ask_save
from atelier_desk.desktop.soon import Soon
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import FlowLayout, Translated, control, fill, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.domain.audit import AuditFilter, AuditLine, AuditPage
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.jobs import Jobs

PAGE = 100
"""Entries that are read at once."""
ROWS = 7
"""Rows the table is high; more are scrolled."""
TYPING_MS = 250
LINE = Qt.ItemDataRole.UserRole
_Index = QModelIndex | QPersistentModelIndex
COLUMNS = (N_("Call"), N_("Decision"), N_("When"))
WIDTHS = (0, 216, 136)
"""Of the columns at 100 %; the call takes what is left, and ``CALL`` at least."""
CALL, HIGH = 200, 46
DAYS = (("", N_("Any day")), ("today", N_("Today")), ("yesterday", N_("Yesterday")), ("week", N_("Last 7 days")))


class AuditModel(QAbstractTableModel):
    """The entries that were read.

    Signals:
        wanted: the view came to the end, and there are more.
    """

    wanted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.lines: list[AuditLine] = []
        self.next: tuple[datetime, str] | None = None

    def start(self, page: AuditPage, *, again: bool) -> None:
        """Show the first page. With ``again``, of what is shown already, only new entries are put on top where it goes on in the old ones:
        who reads further down keeps the place."""
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
        """Show the next page."""
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
        self.wanted.emit()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return _(COLUMNS[section])
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        line = self.lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            one = line.entry
            who = " · ".join(filter(None, (one.agent_name, line.workflow)))
            told = (f"{tool_title(one.tool)}  {one.detail}\n{who}", f"{decision(one)}\n{why(one)}", date_time(one.created_at))
            return told[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return whole(line)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return whole(line).replace("\n", "; ")
        return line if role == LINE else None

    def retranslate(self) -> None:
        """Say everything anew in another language."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)
        if self.lines:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.lines) - 1, len(COLUMNS) - 1))


def whole(line: AuditLine) -> str:
    """All of an entry, a fact a line."""
    one = line.entry
    reason = why(one) + (f" ({one.about})" if one.about else "")
    said = (
        (_("When"), date_time(one.created_at)),
        (_("Workflow"), _("{name} (in the bin)", name=line.workflow) if line.in_bin else line.workflow),
        (_("Agent"), one.agent_name),
        (_("Tool"), one.tool),
        (_("Call"), one.detail),
        (_("Decision"), decision(one) + (f": {one.note}" if one.note else "")),
        (_("Reason"), reason),
    )
    return "\n".join(_("{name}: {text}", name=name, text=text) for name, text in said if text)


class AuditTable(QTableView):
    """``audit-table``. ``activated`` comes from Enter and a double click."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("audit-table")
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setHighlightSections(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        mark(self, "plain")
        theme().changed.connect(self.fit)

    def fit(self) -> None:
        """As high as its rows, at most ``ROWS``; the call has the width that the others leave."""
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


class AuditTrail(Translated, QWidget):
    """``audit-text``, ``audit-workflow``, ``audit-agent``, ``audit-tool``, ``audit-decision``, ``audit-day``, ``audit-table``,
    ``audit-open``, ``audit-export``.

    Signals:
        opened: the entry (``AuditLine``) whose call is to be shown in its workflow.
    """

    opened = Signal(object)

    def __init__(self, bridge: Bridge, jobs: Jobs, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge, self._jobs = bridge, jobs
        self._shown: AuditFilter | None = None
        self.text = control(QLineEdit(self), "audit-text", hint=N_("Search calls, agents and rules"), name=N_("Search the audit trail"))
        self.workflow = self._chooser("audit-workflow", N_("Workflow"))
        self.agent = self._chooser("audit-agent", N_("Agent"))
        self.tool = self._chooser("audit-tool", N_("Tool"))
        self.decision = self._chooser("audit-decision", N_("Decision"))
        self.day = self._chooser("audit-day", N_("Day"))
        choosers = FlowLayout(spacing=8)
        for box in (self.workflow, self.agent, self.tool, self.decision, self.day):
            choosers.addWidget(box)
        self.model = AuditModel(self)
        self.table = AuditTable(self)
        self.table.setModel(self.model)
        say(self.table, name=N_("Audit trail: Enter opens the workflow at the call"))
        self.empty = control(label("", "muted", self, wrap=True), "audit-empty")
        self.open = control(QPushButton(self), "audit-open", N_("Show in the workflow"), look="ghost", on=self._open)
        self.export = control(QPushButton(self), "audit-export", N_("Export as CSV…"), look="ghost", on=self.ask_export)
        deeds = FlowLayout(spacing=8)
        for button in (self.open, self.export):
            deeds.addWidget(button)
        fill(QVBoxLayout(self), self.text, choosers, self.table, self.empty, deeds, margins=(0, 0, 0, 0), spacing=8)
        self._typing = Soon(self, TYPING_MS, self.search)
        self.text.textChanged.connect(lambda _text: self._typing.start())
        self.model.wanted.connect(lambda: self._jobs.once("audit-more", self._more))
        self.table.activated.connect(lambda _index: self._open())
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._check())
        self.show_choices({}, {}, ())
        self._show_state()

    def _chooser(self, name: str, said: str) -> QComboBox:
        box = control(ComboBox(self), name, name=said)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(15)
        box.activated.connect(lambda _index: self.search())
        return box

    # what is wanted -----------------------------------------------------------------------------------------------------------------

    def show_choices(self, workflows: Mapping[str, str], agents: Mapping[str, str], tools: Iterable[str]) -> None:
        """What can be chosen: workflows and agents by their ids, and tools. What is chosen stays."""
        _offer(self.workflow, _("Every workflow"), workflows.items())
        _offer(self.agent, _("Every agent"), ((name, name) for name in agents.values()))
        _offer(self.tool, _("Every tool"), sorted(((name, tool_title(name)) for name in tools), key=lambda each: each[1].casefold()))
        _offer(self.decision, _("Every decision"), ((each, _(words)) for each, words in DECISIONS.items()))
        _offer(self.day, _(DAYS[0][1]), ((day, _(words)) for day, words in DAYS[1:]))

    @property
    def wanted(self) -> AuditFilter:
        """What the fields say."""
        midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        since = {"today": 0, "yesterday": 1, "week": 6}.get(self.day.currentData() or "")
        return AuditFilter(
            workflow_id=self.workflow.currentData() or "",
            agent=self.agent.currentData() or "",
            tool=self.tool.currentData() or "",
            decision=self.decision.currentData() or None,
            text=self.text.text().strip(),
            since=None if since is None else midnight - timedelta(days=since),
            until=midnight if self.day.currentData() == "yesterday" else None,
        )

    def search(self) -> None:
        """Read the first page of what is wanted now."""
        self._typing.stop()
        self._jobs.start(self.load(), "audit")

    async def load(self) -> None:
        """Read the first page; called whenever the page is shown."""
        wanted = self.wanted
        page = await self._bridge.engine.audit.page(wanted, None, PAGE)
        self.model.start(page, again=wanted == self._shown)
        self._shown = wanted
        self._show_state()

    async def _more(self) -> None:
        wanted, after = self.wanted, self.model.next
        if after is None:
            return
        page = await self._bridge.engine.audit.page(wanted, after, PAGE)
        if self.model.next == after and self.wanted == wanted:
            self.model.append(page)

    def _show_state(self) -> None:
        there = bool(self.model.lines)
        self.table.setVisible(there)
        self.empty.setVisible(not there)
        filtered = self.wanted != AuditFilter()
        self.empty.setText(
            _("No decision fits these filters.") if filtered else _("Nothing yet. Each decision about a call is listed here.")
        )
        self.export.setEnabled(there)
        self.table.fit()
        self._check()

    # doing --------------------------------------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> AuditLine | None:
        """The entry of the row that has the cursor."""
        line = self.table.currentIndex().data(LINE)
        return line if isinstance(line, AuditLine) else None

    def _check(self) -> None:
        self.open.setEnabled(self.chosen is not None)

    def _open(self) -> None:
        line = self.chosen
        if line is None:
            return
        if line.in_bin:
            toast(self, _("The workflow {name} is in the bin. Bring it back first.", name=line.workflow))
            return
        self.opened.emit(line)

    def ask_export(self) -> None:
        """Ask for a file, and write into it everything that fits the filters."""
        ask_save(self, _("Export the audit trail"), "atelier-audit.csv", _("CSV (*.csv)"), self.export_to)

    def export_to(self, path: Path) -> None:
        """Write everything that fits the filters, also what is not in the table yet."""

        async def job() -> None:
            count = await self._bridge.engine.audit.export(self.wanted, path)
            toast(self, ngettext("{n} entry saved as {name}", "{n} entries saved as {name}", count, name=path.name))

        self._jobs.once("audit-export", job)

    def retranslate(self) -> None:
        self.model.retranslate()
        workflows = {self.workflow.itemData(row): self.workflow.itemText(row) for row in range(1, self.workflow.count())}
        agents = {self.agent.itemData(row): self.agent.itemText(row) for row in range(1, self.agent.count())}
        self.show_choices(workflows, agents, [self.tool.itemData(row) for row in range(1, self.tool.count())])
        self._show_state()


def _offer(box: QComboBox, everything: str, choices: Iterable[tuple[object, str]]) -> None:
    chosen = box.currentData()
    box.clear()
    box.addItem(everything, "")
    for value, text in choices:
        box.addItem(text, value)
    box.setCurrentIndex(max(0, box.findData(chosen)))
