"""The audit trail: the decision about each call, newest first; filters, paging while scrolling, export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.questions.approval_text import tool_title
from atelier_desk.desktop.settings.audit_table import LINE, AuditModel, AuditTable
from atelier_desk.desktop.widgets import FlowLayout, bind_text, control, label, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.audit import AuditFilter, AuditLine
from atelier_desk.presentation.audit_text import DECISIONS, acted
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.bridge.jobs import Jobs

PAGE = 100
"""Entries per page."""
TYPING_MS = 250
DAYS = (("", N_("Any day")), ("today", N_("Today")), ("yesterday", N_("Yesterday")), ("week", N_("Last 7 days")))


class AuditTrail(QWidget):
    """Filters, table and buttons of the audit trail.

    Its parts are ``audit-text``, ``audit-workflow``, ``audit-agent``, ``audit-tool``, ``audit-decision``,
    ``audit-day``, ``audit-table``, ``audit-open``, ``audit-today`` and ``audit-export``.

    Signals:
        opened: show the call of this entry (``AuditLine``) in its workflow.
    """

    opened = Signal(object)

    def __init__(self, bridge: Bridge, jobs: Jobs, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge, self._jobs = bridge, jobs
        self._shown: AuditFilter | None = None
        self.text = control(
            QLineEdit(self), "audit-text", hint=N_("Search calls, agents and rules"), name=N_("Search the audit trail")
        )
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
        bind_text(self.table, name=N_("Audit trail: Enter opens the workflow at the call"))
        self.empty = control(label("", "muted", self, wrap=True), "audit-empty")
        self.open = control(QPushButton(self), "audit-open", N_("Show in the workflow"), look="ghost", on=self._open)
        self.today = control(
            QPushButton(self), "audit-today", N_("Compare with today's rules"), look="ghost", on=self.compare
        )
        bind_text(self.today, tip=N_("What today's rules and settings would decide for this workflow's calls"))
        self.export = control(QPushButton(self), "audit-export", N_("Export as CSV…"), look="ghost", on=self.ask_export)
        buttons = FlowLayout(spacing=8)
        for button in (self.open, self.today, self.export):
            buttons.addWidget(button)
        vbox(
            self,
            self.text,
            choosers,
            self.table,
            self.empty,
            buttons,
            spacing=8,
        )
        self._typing = Debouncer(self, TYPING_MS, self.search)
        self.text.textChanged.connect(lambda _text: self._typing.start())
        self.model.more_requested.connect(lambda: self._jobs.once("audit-more", self._more))
        self.table.activated.connect(lambda _index: self._open())
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._check())
        self.show_choices({}, {}, ())
        self._show_state()

    def _chooser(self, name: str, name_text: str) -> QComboBox:
        box = control(ComboBox(self), name, name=name_text)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(15)
        box.activated.connect(lambda _index: self.search())
        return box

    def show_choices(self, workflows: Mapping[str, str], agents: Mapping[str, str], tools: Iterable[str]) -> None:
        """Set the filter choices: workflows and agents by id, and tools. The selection stays."""
        _offer(self.workflow, _("All workflows"), workflows.items())
        _offer(self.agent, _("All agents"), ((name, name) for name in agents.values()))
        _offer(
            self.tool,
            _("All tools"),
            sorted(((name, tool_title(name)) for name in tools), key=lambda each: each[1].casefold()),
        )
        _offer(self.decision, _("All decisions"), ((each, _(words)) for each, words in DECISIONS.items()))
        _offer(self.day, _(DAYS[0][1]), ((day, _(words)) for day, words in DAYS[1:]))

    @property
    def filter_values(self) -> AuditFilter:
        """The values of the filters."""
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
        """Load the first page for the current filters."""
        self._typing.stop()
        self._jobs.start(self.load(), "audit")

    async def load(self) -> None:
        """Load the first page; called whenever the page is shown."""
        filters = self.filter_values
        page = await self._bridge.engine.audit.page(filters, None, PAGE)
        self.model.start(page, again=filters == self._shown)
        self._shown = filters
        self._show_state()

    async def _more(self) -> None:
        filters, after = self.filter_values, self.model.next
        if after is None:
            return
        page = await self._bridge.engine.audit.page(filters, after, PAGE)
        if self.model.next == after and self.filter_values == filters:
            self.model.append(page)

    def _show_state(self) -> None:
        there = bool(self.model.lines)
        self.table.setVisible(there)
        self.empty.setVisible(not there)
        filtered = self.filter_values != AuditFilter()
        self.empty.setText(
            _("No decision matches these filters.")
            if filtered
            else _("No decisions yet. Every decision about a call is listed here.")
        )
        self.export.setEnabled(there)
        self.table.fit()
        self._check()

    @property
    def chosen(self) -> AuditLine | None:
        """The entry of the current row."""
        line = self.table.currentIndex().data(LINE)
        return line if isinstance(line, AuditLine) else None

    def _check(self) -> None:
        self.open.setEnabled(self.chosen is not None)
        self.today.setEnabled(self.chosen is not None)

    def _open(self) -> None:
        line = self.chosen
        if line is None:
            return
        if line.in_bin:
            toast(self, _("The workflow {name} was deleted. Restore it first.", name=line.workflow))
            return
        self.opened.emit(line)

    def compare(self) -> None:
        """Mark calls of the entry's workflow that today's rules would decide differently, and show their number."""
        line = self.chosen
        if line is None:
            return
        workflow_id = line.entry.workflow_id

        async def job() -> None:
            found = [
                one for one in await self._bridge.engine.permissions.trials.replay(workflow_id) if not one.answered
            ]
            others = [one for one in found if one.differs]
            self.model.mark({(one.run_id, one.call_id): "" for one in found})
            self.model.mark(
                {
                    (one.run_id, one.call_id): _("today: {decision}", decision=acted(one.today))
                    for one in others
                    if one.today
                }
            )
            unknown = sum(one.again is None for one in found)
            sentences = [
                ngettext(
                    "{n} decision would be different today.", "{n} decisions would be different today.", len(others)
                )
            ]
            if unknown:
                sentences.append(
                    ngettext(
                        "{n} older decision cannot be compared.", "{n} older decisions cannot be compared.", unknown
                    )
                )
            toast(self, " ".join(sentences))

        self._jobs.once("audit-today", job)

    def ask_export(self) -> None:
        """Ask for a file and export all entries that match the filters."""
        ask_save(self, _("Export the audit trail"), "atelier-audit.csv", _("CSV (*.csv)"), self.export_to)

    def export_to(self, path: Path) -> None:
        """Export all entries that match the filters, including those not loaded."""

        async def job() -> None:
            count = await self._bridge.engine.audit.export(self.filter_values, path)
            toast(self, ngettext("{n} entry saved as {name}", "{n} entries saved as {name}", count, name=path.name))

        self._jobs.once("audit-export", job)


def _offer(box: QComboBox, everything: str, choices: Iterable[tuple[object, str]]) -> None:
    chosen = box.currentData()
    box.clear()
    box.addItem(everything, "")
    for value, text in choices:
        box.addItem(text, value)
    box.setCurrentIndex(max(0, box.findData(chosen)))
